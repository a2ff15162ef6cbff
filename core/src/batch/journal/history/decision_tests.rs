//! What a decision makes of an item.

use crate::batch::journal::history::tests::*;
use crate::batch::journal::history::*;

#[test]
fn a_decision_stands_until_its_message_may_have_left() {
    use Delivery::*;
    for (delivery, stands) in [(NotSent, true), (Rejected, false), (Unknown, false), (Accepted, false)] {
        let mut replay = Replay::new();
        replay.sending("a").unwrap();
        replay.ended("a", Unknown, None).unwrap();
        replay.decided(Decision::Resend, None).unwrap();
        replay.sending("a").unwrap();
        replay.ended("a", delivery, None).unwrap();
        assert_eq!((replay.first().resends(), replay.first().is_undecided()), (stands, !stands), "{delivery}");
    }
}

#[test]
fn a_message_that_was_not_sent_is_retried_only_if_it_was_dropped() {
    let mut replay = Replay::new();
    replay.sending("a").unwrap();
    replay.ended("a", Delivery::NotSent, None).unwrap();
    let refused = replay.decided(Decision::Retry, None).unwrap_err();
    assert_eq!(refused, "item 1 is decided, but its message was not sent yet");
    replay.decided(Decision::Drop, None).unwrap();
    replay.decided(Decision::Retry, None).unwrap();
}

#[test]
fn only_a_message_that_is_retried_gets_another_prompt() {
    for (decision, other, is_right) in [
        (Decision::Retry, true, true),
        (Decision::Retry, false, true),
        (Decision::Drop, false, true),
        (Decision::Drop, true, false),
    ] {
        let mut replay = Replay::new();
        replay.sending("a").unwrap();
        replay.ended("a", Delivery::Rejected, None).unwrap();
        let decided = replay.decided(decision, other.then(|| Digest::of(&[b"q"])));
        assert_eq!(decided.is_ok(), is_right, "{decision}: {decided:?}");
    }
}

#[test]
fn a_message_that_got_another_prompt_knows_those_that_it_had() {
    let mut replay = Replay::new();
    replay.sending("a").unwrap();
    replay.ended("a", Delivery::Rejected, None).unwrap();
    let [p, q, r] = [b"p", b"q", b"r"].map(|text| Digest::of(&[text]));
    for (new, has, had) in [
        (Some(p), p, vec![]),
        (Some(q), q, vec![p]),
        (None, q, vec![p]),
        (Some(q), q, vec![p]),
        (Some(r), r, vec![p, q]),
    ] {
        replay.decided(Decision::Retry, new).unwrap();
        let first = replay.first();
        assert_eq!((first.prompt, &first.decided.as_ref().unwrap().earlier_prompts), (has, &had), "{new:?}");
    }
}

#[derive(Debug)]
enum Step {
    Sent(Delivery),
    Interrupted,
    Decided(Decision),
}

#[test]
fn what_has_happened_to_a_message_says_whether_it_may_have_arrived_and_must_be_listed() {
    use Decision::{Arrived, Drop, NotArrived, Resend, Retry};
    use Delivery::*;
    use Step::*;
    // The delivery that is proved; whether it may have arrived, must be listed, and is accepted by a decision; the outcome's line.
    for (steps, proved, may_have_arrived, must_be_listed, by_decision, line) in [
        (&[Interrupted][..], Some(Unknown), true, true, false, None),
        (&[Sent(NotSent)], None, false, false, false, Some(3)),
        (&[Sent(Rejected)], Some(Rejected), false, true, false, Some(3)),
        (&[Sent(Accepted)], Some(Accepted), true, true, false, Some(3)),
        (&[Sent(Unknown)], Some(Unknown), true, true, false, Some(3)),
        (&[Sent(Unknown), Sent(NotSent)], Some(Unknown), true, true, false, Some(5)),
        (&[Sent(Unknown), Decided(Arrived)], Some(Accepted), true, true, true, Some(4)),
        (&[Sent(Unknown), Decided(Arrived), Decided(Drop)], None, true, true, false, Some(4)),
        (&[Sent(Unknown), Decided(NotArrived)], None, false, true, false, Some(3)),
        (&[Sent(Unknown), Decided(NotArrived), Sent(Accepted)], Some(Accepted), true, true, false, Some(6)),
        (&[Sent(Unknown), Decided(Resend)], None, true, true, false, Some(3)),
        (&[Sent(Unknown), Decided(Resend), Sent(NotSent)], None, true, true, false, Some(6)),
        (&[Sent(Unknown), Decided(Resend), Sent(Rejected)], Some(Unknown), true, true, false, Some(6)),
        (&[Sent(Unknown), Decided(Drop)], None, true, true, false, Some(3)),
        (&[Sent(Unknown), Sent(Rejected), Decided(Drop)], None, true, true, false, Some(5)),
        (&[Sent(Rejected), Decided(Drop)], None, false, false, false, Some(3)),
        (&[Sent(Rejected), Decided(Retry)], None, false, true, false, Some(3)),
        (&[Sent(NotSent), Decided(Drop)], None, false, false, false, Some(3)),
        (&[Interrupted, Decided(Drop)], None, true, true, false, Some(3)),
        (&[Interrupted, Decided(NotArrived)], None, false, true, false, None),
    ] {
        let mut replay = Replay::new();
        for step in steps {
            match step {
                Sent(delivery) => {
                    replay.sending("a").unwrap();
                    replay.ended("a", *delivery, None).unwrap();
                }
                Interrupted => replay.sending("a").unwrap(),
                Decided(decision) => replay.decided(*decision, None).unwrap(),
            }
        }
        let first = replay.first();
        let said =
            (first.delivery(), first.may_have_arrived(), first.must_be_listed(), first.is_accepted_by_decision());
        let why = format!("{steps:?}");
        assert_eq!(said, (proved, may_have_arrived, must_be_listed, by_decision), "{why}");
        assert_eq!(
            (first.outcome_line, first.is_dropped()),
            (line.map(span), matches!(steps.last(), Some(Decided(Drop)))),
            "{why}"
        );
    }
}
