//! A thread that waits for a batch's next event sleeps until there is one, or something ends the wait.

use std::thread;
use std::time::{Duration, Instant};

use agentjob_core::{Batch, BatchEvent, BatchItem, BatchOptions, CancelToken, Client, Error, ErrorKind, WaitOptions};
use agentjob_emulator::Emulator;

use crate::batches::Folder;
use crate::support::{JOB, client, emulator, tried};

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

#[test]
fn a_batch_that_is_stopping_does_not_spin_while_its_grace_lasts() {
    // A message that has no response, so that the grace lasts.
    let (service, folder) = (emulator(r#"{"rules":[{"fault":{"do":"stall","at":"request"}}]}"#), Folder::new());
    let own = CancelToken::new();
    let options = BatchOptions::new(folder.journal()).cancel(&own).grace(Duration::from_secs(1));
    let mut batch = client(&service).send_all([BatchItem::new(JOB, "go")], &options).unwrap();
    while service.requests().total == 0 {
        thread::sleep(Duration::from_millis(10));
    }
    own.cancel();
    let mut events = 0;
    let before = processor_time();
    while !matches!(batch.next_event(Duration::MAX), Ok(BatchEvent::Finished) | Err(_)) {
        events += 1;
    }
    let used = processor_time() - before;
    assert!(used < Duration::from_millis(300), "{used:?} for {events} events");
}

/// That of this thread.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}
