//! Every way in which a journal's last line can be damaged, and which messages it may have been about.

use crate::batch::item::{BatchItem, plan};
use crate::batch::journal::clock::Stamp;
use crate::batch::journal::damaged_tail::*;
use crate::batch::journal::item_lines;
use crate::batch::journal::line::{ItemRef, MessageRef, NO_LINE};
use crate::batch::journal::reason::Origin;

const NOW: Stamp = Stamp { unix_ms: 1_767_323_045_678, up_ms: 12 };

/// Six items for six jobs, two of which have a line in the journal.
struct Case {
    items: Vec<Planned>,
    histories: Vec<Option<Box<ItemHistory>>>,
}

impl Case {
    fn new() -> Case {
        let items = plan((1..=6).map(|n| BatchItem::new(format!("job_{n}"), format!("prompt {n}"))), 100).unwrap();
        let histories = (0..6).map(|_| None).collect();
        let mut case = Case { items, histories };
        case.begin(0, ItemState::Ended(Delivery::Accepted));
        case.begin(1, ItemState::Sending);
        case
    }

    fn begin(&mut self, at: usize, state: ItemState) {
        let item = &self.items[at];
        let item_ref = ItemRef { id: item.id, number: at as u64 + 1 };
        let message = MessageRef { item: item_ref, prompt: item.prompt_digest, job_id: item.job_id().into() };
        self.histories[at] = Some(Box::new(ItemHistory { state, ..ItemHistory::sending(&message) }));
    }

    fn sending(&self, at: usize) -> Vec<u8> {
        item_lines::sending(at, &self.items[at], None, NOW).finish(&NO_LINE).0.into_bytes()
    }

    fn ended(&self, at: usize) -> Vec<u8> {
        item_lines::unknown_outcome(at, &self.items[at], Origin::RunEnded, NOW).finish(&NO_LINE).0.into_bytes()
    }

    /// At concurrency 3, of which one is in flight.
    fn found(&self, bytes: &[u8]) -> Vec<usize> {
        self.found_with(bytes, Senders::default())
    }

    fn found_with(&self, bytes: &[u8], senders: Senders) -> Vec<usize> {
        let senders = Senders { concurrency: 3, ..senders };
        DamagedTail { number: 9, bytes: bytes.to_vec() }.may_have_sent(&self.items, &self.histories, senders)
    }
}

#[test]
fn a_line_sending_is_identified_by_what_is_left_of_it() {
    let case = Case::new();
    let whole = case.sending(4);
    for cut in whole.len() / 4..whole.len() {
        assert_eq!(case.found(&whole[..cut]), [4], "cut at {cut}");
    }
    for at in 0..whole.len() - 1 {
        for byte in [0, whole[at] ^ 1, whole[at] ^ 0x40] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            assert_eq!(case.found(&damaged), [4], "byte {at}");
        }
        let mut longer = whole.clone();
        longer.splice(at..at, *b"#garbage#");
        let found = case.found(&longer);
        assert!(found == [4] || (at == 0 && found.contains(&4)), "garbage at {at}: {found:?}");
    }
    for zeros in [0..40, 10..70, 60..120, 200..whole.len()] {
        let mut damaged = whole.clone();
        damaged[zeros.clone()].fill(0);
        assert_eq!(case.found(&damaged), [4], "zeros at {zeros:?}");
    }
    for zeros in [10..100, 60..whole.len()] {
        let mut damaged = whole.clone();
        damaged[zeros.clone()].fill(0);
        assert!(case.found(&damaged).contains(&4), "so many zeros may be two lines: {zeros:?}");
    }
}

#[test]
fn damage_that_identifies_no_message_affects_those_that_were_next() {
    let case = Case::new();
    let whole = case.sending(4);
    for cut in 1..23 {
        assert_eq!(case.found(&whole[..cut]), [2, 3], "cut at {cut}: two more were in flight at most");
    }
    for nothing in [vec![0; 40], vec![0; 4000], b"\0".to_vec(), b"what is this?\n".to_vec()] {
        let expected = if nothing.len() < 128 { vec![2, 3] } else { vec![2, 3, 4] };
        assert_eq!(case.found(&nothing), expected);
    }
    let mut case = Case::new();
    case.begin(2, ItemState::Ended(Delivery::NotSent));
    assert_eq!(case.found(b"{"), [2, 3, 4], "one that was not sent may have gone behind the others");
}

#[test]
fn another_kind_of_line_sends_nothing() {
    let case = Case::new();
    let ended = case.ended(1);
    for cut in 20..ended.len() {
        assert_eq!(case.found(&ended[..cut]), [0; 0], "cut at {cut}");
    }
    for kind in ["run", "accepted", "rejected", "not_sent", "unknown", "waiting", "finished", "paused"] {
        assert_eq!(case.found(format!("{{\"line\":\"{kind}\",").as_bytes()), [0; 0], "{kind}");
    }
}

#[test]
fn several_lines_that_became_one_are_separated() {
    let case = Case::new();
    for first in [case.ended(1), case.sending(3)] {
        let mut both = first.clone();
        both.extend(case.sending(4));
        both[first.len() - 1] = b'?';
        let expected = if first == case.ended(1) { vec![4] } else { vec![3, 4] };
        assert_eq!(case.found(&both), expected);
        // Also where the second one's beginning is gone.
        both[first.len() - 4..first.len() + 30].fill(0);
        let found = case.found(&both);
        assert!(expected.iter().all(|at| found.contains(at)), "{found:?}");
    }
    let mut both = case.ended(1);
    let first = both.len();
    both.extend(case.sending(4));
    both[first - 4..first + 130].fill(0);
    assert!(case.found(&both).contains(&4), "nothing but the job is left of it");
}

#[test]
fn noise_over_several_lines_may_hide_one_as_zeros_may() {
    let case = Case::new();
    let noise = |n: u64| (0..n).map(move |at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8);
    for hidden in [80, 200, 600] {
        let mut bytes = case.ended(1);
        bytes.truncate(bytes.len() - 20);
        bytes.extend(noise(hidden));
        assert_eq!(case.found(&bytes), [2, 3, 4], "{hidden} bytes of noise");
    }
    let mut bytes = case.ended(1);
    bytes.truncate(bytes.len() - 20);
    bytes.extend(noise(20));
    assert_eq!(case.found(&bytes), [0; 0], "no line is that short");
}

#[test]
fn a_message_to_a_job_waits_for_the_one_before_it() {
    let items = plan((1..=4).map(|n| BatchItem::new(["a", "b"][n / 3], format!("{n}"))), 100).unwrap();
    let mut case = Case { histories: (0..4).map(|_| None).collect(), items };
    assert_eq!(case.found(b"{"), [0, 2]);
    case.begin(0, ItemState::Sending);
    assert!(case.found(b"{").contains(&2));
}

#[test]
fn a_job_that_is_waited_for_leaves_its_place_to_the_jobs_behind_it() {
    let jobs = ["a", "a", "b", "b", "c", "d", "e", "f"];
    let items = plan(jobs.iter().enumerate().map(|(n, job)| BatchItem::new(*job, format!("{n}"))), 100).unwrap();
    let mut case = Case { histories: (0..jobs.len()).map(|_| None).collect(), items };
    case.begin(0, ItemState::Ended(Delivery::Accepted));
    case.begin(2, ItemState::Ended(Delivery::Unknown));
    assert_eq!(case.found(b"{"), [1, 4, 5], "without waits only the unknown message holds its job");
    let resending = Senders { resend_unknown: true, ..Senders::default() };
    assert_eq!(case.found_with(b"{", resending), [1, 3, 4], "a run that sends it again holds nothing");
    let waiting = Senders { wait: true, ..Senders::default() };
    assert_eq!(case.found_with(b"{", waiting), [4, 5, 6]);
    let zeros = [0; 400];
    assert_eq!(case.found_with(&zeros, waiting), [1, 3, 4, 5, 6], "so many may hide that a job is done");
    case.begin(4, ItemState::Ended(Delivery::NotSent));
    assert_eq!(case.found_with(b"{", waiting), [4, 5, 6, 7], "a busy job's message may wait behind the others");
}
