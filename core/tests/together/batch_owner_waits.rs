//! A thread that waits for a batch's next event sleeps until there is one, or something ends the wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use agentjob_core::{
    Batch, BatchEvent, BatchItem, BatchOptions, BatchUpdate, CancelToken, Client, Error, ErrorKind, Event, WaitOptions,
};
use agentjob_emulator::Emulator;

use crate::batches::Folder;
use crate::support::{JOB, builder, client, emulator, tried};

/// A batch whose only job works for ten minutes, and all of whose events so far were taken.
fn waiting(own: Option<&CancelToken>) -> (Emulator, Client, Folder, Batch) {
    let (service, folder) = (emulator(r#"{"work_ms":600000}"#), Folder::new());
    let client = client(&service);
    let wait = WaitOptions::new().min_interval(Duration::from_secs(20)).max_interval(Duration::from_secs(20));
    let mut options = BatchOptions::new(folder.journal()).wait(Some(wait)).grace(Duration::from_millis(300));
    if let Some(own) = own {
        options = options.cancel(own);
    }
    let mut batch = client.send_all([BatchItem::new(JOB, "go")], &options).unwrap();
    while batch.progress().waiting == 0 || !is_idle(&batch.next_event(Duration::from_millis(200))) {}
    (service, client, folder, batch)
}

fn is_idle(event: &Result<BatchEvent, Error>) -> bool {
    matches!(event, Ok(BatchEvent::Idle))
}

/// How often the kernel has put this thread to sleep.
#[cfg(target_os = "linux")]
fn sleeps() -> u32 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    count.trim().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn a_thread_that_waits_for_a_second_hardly_wakes() {
    let (own, given) = (CancelToken::new(), CancelToken::new());
    for (own, given) in [(None, None), (Some(&own), None), (None, Some(&given)), (Some(&own), Some(&given))] {
        let (_service, _client, _folder, mut batch) = waiting(own);
        let (before, time) = (sleeps(), Duration::from_secs(1));
        let event = match given {
            Some(given) => batch.next_event_or_cancelled(time, given),
            None => batch.next_event(time),
        };
        // Once or twice; every 50 ms it would be 20.
        let slept = sleeps() - before;
        assert!(is_idle(&event) && slept < 10, "{slept} times: {event:?}");
        let handle = batch.handle();
        let before = sleeps();
        assert!(!handle.wait(time));
        let slept = sleeps() - before;
        // A token notifies no Condvar.
        assert!(own.is_some() || slept < 10, "{slept} times in the wait of a handle");
        batch.handle().abort();
    }
}

#[test]
fn what_ends_a_wait_wakes_it_at_once() {
    for (end, error) in
        [("close", Some(ErrorKind::Closed)), ("cancel", Some(ErrorKind::Cancelled)), ("stop", None), ("abort", None)]
    {
        for has_token in [true, false] {
            if end == "cancel" && !has_token {
                continue;
            }
            tried(10, || {
                let own = CancelToken::new();
                let (_service, client, _folder, mut batch) = waiting(has_token.then_some(&own));
                let handle = batch.handle();
                let (took, kind) = ended(&mut batch, || match end {
                    "close" => client.close(),
                    "cancel" => own.cancel(),
                    "stop" => handle.stop(),
                    _ => handle.abort(),
                });
                assert_eq!(kind, error, "{end}");
                // A job that is waited for has no grace.
                assert!(took < Duration::from_millis(200), "{end}: {took:?}");
            });
        }
    }
}

/// How long a wait for the batch's end lasts after `end`, and how it ends.
fn ended(batch: &mut Batch, end: impl FnOnce() + Send) -> (Duration, Option<ErrorKind>) {
    thread::scope(|scope| {
        let ending = scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            let began = Instant::now();
            end();
            began
        });
        let kind = loop {
            match batch.next_event(Duration::MAX) {
                Ok(BatchEvent::Finished) => break None,
                Ok(_) => {}
                Err(error) => break Some(error.kind()),
            }
        };
        (ending.join().unwrap().elapsed(), kind)
    })
}

#[test]
fn a_token_of_a_wait_ends_that_wait_alone() {
    tried(10, || {
        let (_service, _client, _folder, mut batch) = waiting(None);
        let token = CancelToken::new();
        let took = thread::scope(|scope| {
            let ending = scope.spawn(|| {
                thread::sleep(Duration::from_millis(200));
                token.cancel();
                Instant::now()
            });
            assert!(is_idle(&batch.next_event_or_cancelled(Duration::MAX, &token)));
            ending.join().unwrap().elapsed()
        });
        assert!(took < Duration::from_millis(200), "{took:?}");
        assert_eq!(batch.progress().waiting, 1);
        batch.handle().abort();
    });
}

/// A batch of one message, which has no response.
#[cfg(target_os = "linux")]
fn stalled(options: BatchOptions) -> (Emulator, Batch) {
    let service = emulator(r#"{"rules":[{"fault":{"do":"stall","at":"request"}}]}"#);
    let batch = client(&service).send_all([BatchItem::new(JOB, "go")], &options).unwrap();
    while service.requests().total == 0 {
        thread::sleep(Duration::from_millis(10));
    }
    (service, batch)
}

#[test]
#[cfg(target_os = "linux")]
fn those_who_wait_for_a_batch_that_is_stopping_hardly_wake_while_its_grace_lasts() {
    let (folder, own) = (Folder::new(), CancelToken::new());
    let options = BatchOptions::new(folder.journal()).cancel(&own).grace(Duration::from_secs(2));
    let (_service, mut batch) = stalled(options);
    own.cancel();
    let handle = batch.handle();
    let slept: Vec<u32> = thread::scope(|scope| {
        let handles: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let before = sleeps();
                    assert!(handle.wait(Duration::MAX));
                    sleeps() - before
                })
            })
            .collect();
        let before = sleeps();
        while !matches!(batch.next_event(Duration::MAX), Ok(BatchEvent::Finished) | Err(_)) {}
        let own = sleeps() - before;
        handles.into_iter().map(|handle| handle.join().unwrap()).chain([own]).collect()
    });
    // A few times for each of the others; 40 times, if a token were checked; thousands, if they woke each other.
    assert!(slept.iter().all(|slept| *slept < 25), "{slept:?}");
}

#[test]
fn the_end_of_a_grace_is_noticed_by_who_waits_for_it_also_if_a_function_of_the_program_does_not_return() {
    let (service, folder) = (emulator("{}"), Folder::new());
    let (reached, returns) = (Arc::new(Barrier::new(2)), Arc::new(AtomicBool::new(false)));
    let (reaches, returned) = (Arc::clone(&reached), Arc::clone(&returns));
    let blocks = move |event: &Event<'_>| {
        if matches!(event, Event::Response { .. }) {
            reaches.wait();
            while !returned.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(20));
            }
        }
    };
    let client = builder(&service).on_event(Arc::new(blocks)).build().unwrap();
    let options = BatchOptions::new(folder.journal()).grace(Duration::from_secs(60));
    let mut batch = client.send_all([BatchItem::new(JOB, "go")], &options).unwrap();
    reached.wait();
    let handle = batch.handle();
    handle.stop();
    // Both its owner and another thread wait for the end of its grace now.
    let (took, _) = thread::scope(|scope| {
        let other = scope.spawn(|| handle.wait(Duration::MAX));
        let ended = ended(&mut batch, || handle.abort());
        assert!(other.join().unwrap());
        ended
    });
    returns.store(true, Ordering::SeqCst);
    // A sleep lasts 30 s at most.
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn the_end_of_a_pause_reaches_the_owner_before_the_program_s_own_function_returns() {
    let rules = r#"{"rules":[{"method":"POST","nth":1,"status":429,"headers":{"Retry-After":"1"}}]}"#;
    let (service, folder) = (emulator(rules), Folder::new());
    let (has_it, waited) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (owner_has_it, in_time) = (Arc::clone(&has_it), Arc::clone(&waited));
    let waits = move |event: &Event<'_>| {
        if matches!(event, Event::Resumed) {
            let end = Instant::now() + Duration::from_secs(20);
            while !owner_has_it.load(Ordering::SeqCst) && Instant::now() < end {
                thread::sleep(Duration::from_millis(10));
            }
            in_time.store(owner_has_it.load(Ordering::SeqCst), Ordering::SeqCst);
        }
    };
    let client = builder(&service).on_event(Arc::new(waits)).build().unwrap();
    let mut batch = client.send_all([BatchItem::new(JOB, "go")], &BatchOptions::new(folder.journal())).unwrap();
    loop {
        match batch.next_event(Duration::MAX).unwrap() {
            BatchEvent::Update(BatchUpdate::Resumed) => has_it.store(true, Ordering::SeqCst),
            BatchEvent::Finished => break,
            _ => {}
        }
    }
    assert!(waited.load(Ordering::SeqCst));
}

#[test]
fn a_batch_whose_client_is_closed_when_nothing_is_left_is_finished() {
    let (service, folder) = (emulator("{}"), Folder::new());
    let client = client(&service);
    let mut batch = client.send_all([BatchItem::new(JOB, "go")], &BatchOptions::new(folder.journal())).unwrap();
    while !matches!(batch.next_event(Duration::MAX), Ok(BatchEvent::Outcome(_))) {}
    assert!(batch.handle().wait(Duration::MAX));
    client.close();
    assert!(matches!(batch.next_event(Duration::MAX), Ok(BatchEvent::Finished)));
}
