//! What a sender takes next, with no thread and no service.

use super::*;
use crate::batch::item::{BatchItem, plan};
use crate::wait::schedule::tests::SCHEDULE;

/// The state of a batch before its first send.
fn begun(items: &[Planned]) -> State {
    let mut state = State::new(items.len(), RateWindow::new(None), 0);
    state.unsettled.fill(true);
    state.make_ready(items, &[]);
    state
}

fn take(state: &mut State) -> Option<u32> {
    match state.next_send(0) {
        SendTask::Send { at, .. } => Some(at),
        SendTask::WaitUntil(_) | SendTask::Done => None,
    }
}

fn poller(job_id: &str) -> Box<Poller> {
    Box::new(Poller::new(job_id, SCHEDULE, None).unwrap())
}

#[test]
fn a_hundred_thousand_jobs_with_one_message_each_cost_the_sequence_nothing() {
    let items = plan((0..100_000).map(|n| BatchItem::new(format!("job_{n}"), "p")), 100).unwrap();
    let mut state = begun(&items);
    for expected in 0..100_000 {
        let at = take(&mut state).unwrap();
        assert_eq!(at, expected);
        state.sequence.not_busy(items[at as usize].first_for_job);
        state.settle(at, &items, Next::AfterResult);
        state.wait_for_job(at, poller("j"), 0);
        let PollTask::Poll { at, .. } = state.next_poll(Moment::MAX / 2) else { panic!("a poll is due") };
        state.done_waiting(at, &items, true, 0);
    }
    assert!(matches!(state.next_send(0), SendTask::Done));
    assert!(state.sequence.is_unused(), "no entry was ever made, so nothing was allocated or hashed");
}

#[test]
fn the_next_message_of_a_job_is_ready_when_the_result_of_the_previous_one_is_there() {
    let items = plan(["a", "a", "b"].map(|job| BatchItem::new(job, "p")), 100).unwrap();
    let mut state = begun(&items);
    assert_eq!((take(&mut state), take(&mut state), take(&mut state)), (Some(0), Some(2), None));
    state.settle(0, &items, Next::AfterResult);
    state.wait_for_job(0, poller("a"), 0);
    state.settle(2, &items, Next::Send);
    assert!(matches!(state.next_send(0), SendTask::WaitUntil(_)), "senders stay for the message behind it");
    assert!(matches!(state.next_poll(0), PollTask::Poll { at: 0, is_parked: false, .. }));
    state.done_waiting(0, &items, true, 0);
    assert_eq!(take(&mut state), Some(1));
}

#[test]
fn a_parked_item_is_ready_again_when_its_job_is_not_busy() {
    let items = plan(["a", "b"].map(|job| BatchItem::new(job, "p")), 100).unwrap();
    let mut state = begun(&items);
    assert_eq!(take(&mut state), Some(0));
    state.in_flight -= 1;
    state.park(0, poller("a"), 0, 0);
    assert_eq!((take(&mut state), take(&mut state)), (Some(1), None), "the other job's message does not wait");
    state.settle(1, &items, Next::Send);
    assert!(matches!(state.next_send(0), SendTask::WaitUntil(_)));
    assert!(matches!(state.next_poll(0), PollTask::Poll { at: 0, is_parked: true, .. }));
    state.unpark(0, 0);
    assert_eq!(take(&mut state), Some(0));
    state.settle(0, &items, Next::Send);
    assert!(matches!(state.next_send(0), SendTask::Done));
}
