//! A batch that ends early waits for the responses in flight for its grace: the rows of the table in docs/reference/batches.md that are about Rust.
//! Each test ends a batch while all its messages are at the service and have no response yet, and then reads the journal.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::Duration;

use crate::batches::Folder;
use crate::support::{builder, client, emulator, ms, timed, until};
use agentjob_core::{
    Batch, BatchEvent, BatchHandle, BatchItem, BatchOptions, CancelToken, Client, Delivery, ErrorKind, Event,
    KeyFunction, batch_status,
};
use agentjob_emulator::Emulator;

/// How many messages are in flight when a batch is ended; as many again were not sent.
const IN_FLIGHT: u32 = 3;
/// Far longer than the responses take, far shorter than a hang.
const GRACE: Duration = Duration::from_secs(20);
/// The responses come this much later than their requests.
const SLOW: &str = r#"{"method":"POST","status":200,"delay_ms":3000}"#;
/// They never come.
const SILENT: &str = r#"{"method":"POST","fault":{"do":"stall","at":"request"}}"#;

/// A batch whose messages are all at the service, and its journal.
struct Situation {
    service: Emulator,
    client: Client,
    folder: Folder,
    token: CancelToken,
}

impl Situation {
    fn new(rule: &str) -> Situation {
        let jobs: Vec<_> = (1..=2 * IN_FLIGHT).map(|n| format!(r#"{{"id":"job_{n}"}}"#)).collect();
        let service = emulator(&format!(r#"{{"jobs":[{}],"rules":[{rule}]}}"#, jobs.join(",")));
        let client = client(&service);
        Situation { service, client, folder: Folder::new(), token: CancelToken::new() }
    }

    /// Begins the batch, and returns when the service has all messages that can be in flight at once.
    fn begin(&self, grace: Duration) -> Batch {
        let options = BatchOptions::new(self.folder.journal()).concurrency(IN_FLIGHT).grace(grace).cancel(&self.token);
        let items = (1..=2 * IN_FLIGHT).map(|n| BatchItem::new(format!("job_{n}"), format!("message {n}")));
        let batch = self.client.send_all(items, &options).unwrap();
        let arrived = || self.service.requests().requests.iter().filter(|request| request.complete).count();
        until("the messages are at the service", || arrived() >= IN_FLIGHT as usize);
        batch
    }

    /// The journal and the service agree: the messages in flight were accepted, and no other was sent.
    fn assert_all_accepted(&self) {
        let progress = batch_status(self.folder.journal()).unwrap().progress;
        let counts = (progress.accepted, progress.unknown, progress.left);
        assert_eq!(counts, (IN_FLIGHT.into(), 0, IN_FLIGHT.into()));
        assert_eq!(self.service.ledger().len(), IN_FLIGHT as usize);
        assert_eq!(self.service.requests().total, u64::from(IN_FLIGHT), "nothing else was sent");
    }

    /// The messages in flight are unknown, with a reason: this run recorded that, not the next one.
    fn assert_all_unknown(&self) {
        let status = batch_status(self.folder.journal()).unwrap();
        assert_eq!((status.progress.accepted, status.progress.unknown), (0, IN_FLIGHT.into()));
        assert!(status.unknown.iter().all(|item| item.reason.is_some()));
        assert_eq!(self.service.requests().total, u64::from(IN_FLIGHT), "nothing else was sent");
    }
}

/// The outcomes that are left, and what ended the batch.
fn rest(batch: Batch) -> (Vec<Delivery>, Option<ErrorKind>) {
    let (mut outcomes, mut ended) = (Vec::new(), None);
    for outcome in batch {
        match outcome {
            Ok(outcome) => outcomes.push(outcome.delivery()),
            Err(error) => ended = Some(error.kind()),
        }
    }
    (outcomes, ended)
}

/// A way to end a batch.
type Ending = fn(&Situation, Batch);

const ALL_ACCEPTED: [Delivery; IN_FLIGHT as usize] = [Delivery::Accepted; IN_FLIGHT as usize];

#[test]
fn dropping_a_batch_waits_for_the_responses_in_flight() {
    let it = Situation::new(SLOW);
    drop(it.begin(GRACE));
    it.assert_all_accepted();
}

#[test]
fn a_panic_in_the_loop_waits_for_them() {
    let it = Situation::new(SLOW);
    let mut batch = Some(it.begin(GRACE));
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _batch = batch.take();
            std::panic::resume_unwind(Box::new("the loop's own"));
        });
        assert!(thread.join().is_err());
    });
    it.assert_all_accepted();
}

#[test]
fn stop_waits_for_them_and_the_iterator_has_their_outcomes() {
    let it = Situation::new(SLOW);
    let batch = it.begin(GRACE);
    batch.stop();
    assert_eq!(rest(batch), (ALL_ACCEPTED.to_vec(), None));
    it.assert_all_accepted();
}

#[test]
fn a_cancelled_token_waits_for_them_and_is_the_last_error() {
    let it = Situation::new(SLOW);
    let batch = it.begin(GRACE);
    it.token.cancel();
    assert_eq!(rest(batch), (ALL_ACCEPTED.to_vec(), Some(ErrorKind::Cancelled)));
    it.assert_all_accepted();
}

#[test]
fn closing_the_client_waits_for_them_and_is_the_last_error() {
    let it = Situation::new(SLOW);
    let batch = it.begin(GRACE);
    it.client.close();
    assert_eq!(batch_status(it.folder.journal()).unwrap().progress.accepted, 0, "it does not block");
    assert_eq!(rest(batch), (ALL_ACCEPTED.to_vec(), Some(ErrorKind::Closed)));
    it.assert_all_accepted();
}

#[test]
fn closing_the_client_and_dropping_the_batch_waits_for_them() {
    let it = Situation::new(SLOW);
    let batch = it.begin(GRACE);
    it.client.clone().close();
    drop(batch);
    it.assert_all_accepted();
}

#[test]
fn after_a_close_they_can_be_waited_for_without_the_batch() {
    let it = Situation::new(SLOW);
    let batch = it.begin(GRACE);
    it.client.close();
    let batches = it.client.batches();
    assert_eq!(batches, [batch.handle()]);
    assert!(batches.iter().all(|batch| batch.wait(GRACE)));
    it.assert_all_accepted();
    drop(batch);
    assert!(it.client.batches().is_empty() && batches[0].wait(Duration::ZERO));
}

#[test]
fn an_event_handler_on_a_batchs_thread_may_close_the_client() {
    let mut it = Situation::new(SLOW);
    let (own, attempts) = (Arc::new(OnceLock::<Client>::new()), AtomicU32::new(0));
    let handler = own.clone();
    let builder = builder(&it.service).on_event(Arc::new(move |_: &Event<'_>| {
        if attempts.fetch_add(1, Ordering::Relaxed) + 1 == IN_FLIGHT {
            handler.get().unwrap().close();
        }
    }));
    it.client = builder.build().unwrap();
    own.set(it.client.clone()).unwrap();
    assert_eq!(rest(it.begin(GRACE)), (ALL_ACCEPTED.to_vec(), Some(ErrorKind::Closed)));
    it.assert_all_accepted();
}

#[test]
fn a_failure_that_stops_the_batch_waits_for_the_others() {
    // It comes when the others have long arrived, and long before their responses.
    let refusal = r#"{"method":"POST","path":"/v2/agent/*/job/job_1/message","status":401,"delay_ms":2000}"#;
    let slow = SLOW.replace("3000", "4000");
    let it = Situation::new(&format!("{refusal},{slow}"));
    let (outcomes, ended) = rest(it.begin(GRACE));
    assert_eq!((outcomes.len(), ended), (IN_FLIGHT as usize - 1, Some(ErrorKind::Authentication)));
    let progress = batch_status(it.folder.journal()).unwrap().progress;
    assert_eq!((progress.accepted, progress.unknown, progress.left), (2, 0, 4));
    assert_eq!(it.service.requests().total, u64::from(IN_FLIGHT));
}

#[test]
fn a_call_outside_a_batch_ends_at_once_when_the_client_is_closed() {
    let it = Situation::new(SILENT);
    let batch = it.begin(GRACE);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| it.client.send_message("job_6", "alone"));
        until("the call is at the service", || it.service.requests().total > u64::from(IN_FLIGHT));
        let (took, ended) = timed(|| {
            it.client.close();
            call.join().unwrap().unwrap_err()
        });
        assert_eq!((ended.kind(), ended.delivery()), (ErrorKind::Closed, Some(Delivery::Unknown)));
        assert!(took < GRACE / 2, "{took:?}");
    });
    batch.handle().abort();
    let refused = it.client.get_job("job_1").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Closed);
}

#[test]
fn a_service_that_never_responds_is_given_up_after_the_grace() {
    for grace in [Duration::ZERO, ms(300)] {
        let endings: [(&str, Ending); 4] = [
            ("drop", |_, batch| drop(batch)),
            ("stop", |_, batch| {
                batch.stop();
                assert_eq!(rest(batch).0, [Delivery::Unknown; IN_FLIGHT as usize]);
            }),
            ("close", |it, batch| {
                it.client.close();
                assert_eq!(rest(batch).0, [Delivery::Unknown; IN_FLIGHT as usize]);
            }),
            ("close and wait", |it, batch| {
                it.client.close();
                assert!(batch.handle().wait(GRACE));
            }),
        ];
        for (name, end) in endings {
            let it = Situation::new(SILENT);
            let batch = it.begin(grace);
            let (took, ()) = timed(|| end(&it, batch));
            assert!(took >= grace && took < GRACE / 2, "{name}: {took:?}");
            it.assert_all_unknown();
        }
    }
}

#[test]
fn an_abort_ends_the_grace_at_once() {
    let it = Situation::new(SILENT);
    let batch = it.begin(GRACE);
    let handle = batch.handle();
    batch.stop();
    assert!(!handle.wait(ms(50)), "they are in flight");
    let (took, ()) = timed(|| {
        handle.abort();
        drop(batch);
    });
    assert!(took < GRACE / 2, "{took:?}");
    it.assert_all_unknown();
    handle.stop();
}

#[test]
fn a_detached_batch_gets_its_responses_and_unlocks_its_journal() {
    let it = Situation::new(SLOW);
    let batch = it.begin(GRACE);
    let (handle, journal) = (batch.handle(), it.folder.journal());
    assert!(!handle.is_stopping_with(&journal));
    batch.detach();
    assert!(handle.is_stopping_with(&journal) && !handle.is_stopping_with(&journal.with_extension("other")));
    assert!(handle.wait(GRACE));
    assert!(!batch_status(&journal).unwrap().running, "its last thread has unlocked the journal");
    it.assert_all_accepted();
}

#[test]
fn a_handle_ends_the_grace_of_a_detached_batch() {
    for end in [|handle: &BatchHandle| handle.abort(), |handle: &BatchHandle| assert!(handle.wait(GRACE))] {
        let it = Situation::new(SILENT);
        let batch = it.begin(ms(300));
        let handle = batch.handle();
        batch.detach();
        end(&handle);
        until("it is over", || !batch_status(it.folder.journal()).unwrap().running);
        it.assert_all_unknown();
    }
}

#[test]
fn a_batch_that_has_ended_has_unlocked_its_journal_although_its_owner_keeps_it() {
    let it = Situation::new(SLOW);
    let mut batch = it.begin(GRACE);
    it.client.close();
    assert!(it.client.batches().iter().all(|batch| batch.wait(GRACE)));
    assert!(!batch_status(it.folder.journal()).unwrap().running);
    it.assert_all_accepted();
    let kept = batch.by_ref().map(|outcome| outcome.map(|outcome| outcome.delivery()).map_err(|error| error.kind()));
    let accepted = vec![Ok(Delivery::Accepted); IN_FLIGHT as usize];
    assert_eq!(
        kept.collect::<Vec<_>>(),
        [accepted, vec![Err(ErrorKind::Closed)]].concat(),
        "and its outcomes are kept"
    );
}

#[test]
fn a_function_for_the_key_that_does_not_return_holds_no_end_of_a_batch() {
    let ends: [fn(&Client, Batch); 4] = [
        |_, batch| drop(batch),
        |client, batch| {
            client.close();
            assert!(batch.handle().wait(GRACE));
        },
        |_, batch| {
            batch.stop();
            assert_eq!(batch.count(), 0);
        },
        |_, mut batch| {
            batch.stop();
            // As an event loop does, which has nothing but the descriptor and the time.
            while !matches!(batch.next_event(Duration::ZERO).unwrap(), BatchEvent::Finished) {
                thread::sleep(batch.due_in().expect("something is due until it is finished"));
            }
        },
    ];
    for end in ends {
        let service = emulator(r#"{"jobs":[{"id":"job_1"}]}"#);
        let (called, go) = (Arc::new(OnceLock::new()), Arc::new(Barrier::new(2)));
        let (key, is_called, may_go) = (service.api_key().to_owned(), Arc::clone(&called), Arc::clone(&go));
        let function: KeyFunction = Arc::new(move || {
            let _ = is_called.set(());
            may_go.wait();
            Ok(key.clone())
        });
        let set = Client::builder().base_url(service.base_url()).project_id(service.project_id()).trust_env(false);
        let client = set.api_key_function(function).build().unwrap();
        let folder = Folder::new();
        let options = BatchOptions::new(folder.journal()).grace(ms(100));
        let batch = client.send_all([BatchItem::new("job_1", "go")], &options).unwrap();
        until("the function is called", || called.get().is_some());
        end(&client, batch);
        assert!(batch_status(folder.journal()).unwrap().running, "the function has not returned");
        go.wait();
        until("the journal is unlocked", || !batch_status(folder.journal()).unwrap().running);
        assert_eq!(service.requests().total, 0, "what it returned late was not used");
        let progress = batch_status(folder.journal()).unwrap().progress;
        assert_eq!((progress.left, progress.unknown), (1, 0), "and the journal says so");
    }
}

#[test]
fn a_batch_that_begins_on_a_closed_client_sends_nothing() {
    let it = Situation::new(SLOW);
    it.client.close();
    let items = [BatchItem::new("job_1", "message 1")];
    let mut batch = it.client.send_all(items, &BatchOptions::new(it.folder.journal())).unwrap();
    let ended = loop {
        match batch.next_event(GRACE) {
            Ok(BatchEvent::Finished) => panic!("it ended without an error"),
            Ok(_) => {}
            Err(error) => break error.kind(),
        }
    };
    assert_eq!(ended, ErrorKind::Closed);
    assert_eq!(it.service.requests().total, 0);
}
