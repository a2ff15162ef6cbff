//! What the journal has of one item, and of all of them. Pure.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::batch::decisions::decision::Decision;
use crate::batch::journal::clock::Stamp;
use crate::batch::journal::digest::Digest;
use crate::batch::journal::line::LineSpan;
use crate::delivery::Delivery;

/// How far an item got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemState {
    /// Its message was about to be sent, and the journal has no outcome.
    Sending,
    /// It has an outcome. One that was not sent will be.
    Ended(Delivery),
    /// A person decided that the batch is done with it.
    Dropped,
}

/// The last decision about an item.
#[derive(Debug)]
pub(crate) struct LastDecision {
    pub(crate) decision: Decision,
    /// When it was made, in milliseconds since 1970.
    pub(crate) at_unix_ms: u64,
    /// What it was about, while it can still be changed; none once a send that followed it has ended, or its job was waited for.
    open: Option<Delivery>,
    /// Whether the next run sends the message although it may have arrived.
    pub(crate) resends: bool,
    /// The digests of the prompts that the item had before.
    pub(crate) earlier_prompts: Vec<Digest>,
}

/// What the journal has of one item.
#[derive(Debug)]
pub(crate) struct ItemHistory {
    /// Its number in the last run's list; 0 if that lacks it.
    pub(crate) number: u64,
    pub(crate) job_id: Box<str>,
    pub(crate) prompt: Digest,
    pub(crate) state: ItemState,
    /// Whether it was sent again after an unknown outcome: the first send may have arrived, whatever the second's outcome is.
    pub(crate) earlier_send_unknown: bool,
    /// Whether the last thing the service said is that its job is busy.
    pub(crate) job_was_busy: bool,
    /// The line with its outcome.
    pub(crate) outcome_line: Option<LineSpan>,
    /// The last line with its poller, and how long ago that was written.
    pub(crate) poller_line: Option<LineSpan>,
    pub(crate) poller_age: Duration,
    /// The line that says that its job is done, and whether that failed with this message.
    pub(crate) finished_line: Option<LineSpan>,
    pub(crate) job_failed: bool,
    /// The caller's key, if it could be stored.
    pub(crate) own_key: Option<Box<str>>,
    pub(crate) decided: Option<Box<LastDecision>>,
}

impl ItemHistory {
    /// An item whose message is about to be sent.
    pub(crate) fn sending(number: u64, job_id: Box<str>, prompt: Digest, own_key: Option<Box<str>>) -> ItemHistory {
        ItemHistory {
            number,
            job_id,
            prompt,
            state: ItemState::Sending,
            earlier_send_unknown: false,
            job_was_busy: false,
            outcome_line: None,
            poller_line: None,
            poller_age: Duration::ZERO,
            finished_line: None,
            job_failed: false,
            own_key,
            decided: None,
        }
    }

    /// A run has acted on the last decision, which can't be changed any more.
    pub(crate) fn acted(&mut self) {
        if let Some(decided) = &mut self.decided {
            (decided.open, decided.resends) = (None, false);
        }
    }

    /// What the last decision was about, unless a run has acted on it or was about to.
    fn open(&self) -> Option<Delivery> {
        self.decided.as_ref().and_then(|decided| decided.open).filter(|_| self.state != ItemState::Sending)
    }

    /// Whether nothing was decided about it that the next run acts on.
    pub(crate) fn is_undecided(&self) -> bool {
        self.open().is_none()
    }

    /// Whether a decision says to send the message again although it may have arrived.
    pub(crate) fn resends(&self) -> bool {
        self.decided.as_ref().is_some_and(|decided| decided.resends)
    }

    /// What a decision is about: the delivery without the last decision, if no run has acted on that.
    pub(crate) fn to_decide(&self) -> Delivery {
        self.open().or_else(|| self.delivery()).unwrap_or(Delivery::NotSent)
    }

    /// Applies a decision, which [`Decision::check`] allows. `line` is the decision's own.
    pub(crate) fn decide(&mut self, decision: Decision, new_prompt: Option<Digest>, line: LineSpan, at: Stamp) {
        let open = Some(self.to_decide());
        let mut earlier_prompts = self.decided.take().map_or_else(Vec::new, |decided| decided.earlier_prompts);
        self.state = match decision {
            Decision::Arrived => ItemState::Ended(Delivery::Accepted),
            Decision::Drop => ItemState::Dropped,
            Decision::NotArrived | Decision::Resend | Decision::Retry => ItemState::Ended(Delivery::NotSent),
        };
        if decision == Decision::Arrived {
            // The outcome of the send that was unknown is no outcome any more.
            (self.outcome_line, self.poller_line) = (Some(line), None);
        }
        if decision == Decision::Drop {
            // A message that was interrupted has none, and may have arrived at any time before this.
            self.outcome_line.get_or_insert(line);
        }
        self.earlier_send_unknown = match decision {
            Decision::Resend => true,
            Decision::NotArrived | Decision::Retry => false,
            Decision::Arrived | Decision::Drop => self.earlier_send_unknown,
        };
        if let Some(prompt) = new_prompt.filter(|prompt| *prompt != self.prompt) {
            earlier_prompts.push(std::mem::replace(&mut self.prompt, prompt));
        }
        let resends = decision == Decision::Resend;
        self.decided =
            Some(Box::new(LastDecision { decision, at_unix_ms: at.unix_ms, open, resends, earlier_prompts }));
    }

    /// Its own key, if that could be stored, or `id`.
    pub(crate) fn key(&self, id: &Digest) -> String {
        self.own_key.as_deref().map_or_else(|| id.to_string(), str::to_owned)
    }

    /// Whether only a person's word says that it was accepted. Which of the job's results is its own can't be known then.
    pub(crate) fn is_accepted_by_decision(&self) -> bool {
        self.decided.as_ref().is_some_and(|decided| decided.decision == Decision::Arrived)
            && self.state == ItemState::Ended(Delivery::Accepted)
    }

    /// Whether a person decided that the batch is done with it.
    pub(crate) fn is_dropped(&self) -> bool {
        self.state == ItemState::Dropped
    }

    /// Whether a list must still have it: it may have arrived, or it was rejected, or a person has decided that it is sent.
    pub(crate) fn must_be_listed(&self) -> bool {
        match self.is_dropped() {
            // The job's other messages must not get its result.
            true => self.may_have_arrived(),
            false => self.delivery().is_some() || self.decided.is_some(),
        }
    }

    /// Whether its message may have arrived, whatever was decided.
    pub(crate) fn may_have_arrived(&self) -> bool {
        let delivery = if self.is_dropped() { Some(self.to_decide()) } else { self.delivery() };
        self.earlier_send_unknown || matches!(delivery, Some(Delivery::Accepted | Delivery::Unknown))
    }

    /// Whether the last run's list has it.
    pub(crate) fn is_listed(&self) -> bool {
        self.number > 0
    }

    /// The delivery that the journal proves; none if the message may be sent, or was dropped.
    pub(crate) fn delivery(&self) -> Option<Delivery> {
        match self.state {
            ItemState::Dropped => None,
            ItemState::Ended(Delivery::NotSent) if !self.earlier_send_unknown || self.resends() => None,
            ItemState::Ended(delivery @ (Delivery::Accepted | Delivery::Unknown)) => Some(delivery),
            ItemState::Ended(Delivery::Rejected) if !self.earlier_send_unknown => Some(Delivery::Rejected),
            ItemState::Ended(Delivery::NotSent | Delivery::Rejected) | ItemState::Sending => Some(Delivery::Unknown),
        }
    }
}

/// What the journal has of each item of a list; none of an item that it does not have.
pub(crate) type Histories = Vec<Option<Box<ItemHistory>>>;

/// A journal's items beside those of a list; see [`Items::split`].
pub(crate) struct Split {
    pub(crate) listed: Histories,
    /// What the list does not have.
    pub(crate) others: Histories,
    /// The place of the second of two items that are one, before and after it got a new prompt.
    pub(crate) twice: Option<usize>,
    /// The numbers that the items have in the list, if another list had them elsewhere; see [`Items::renumber`].
    pub(crate) numbers: Option<Vec<u64>>,
}

/// The items of the journal, in the order of their first lines.
#[derive(Debug, Default)]
pub(crate) struct Items {
    places: HashMap<Digest, u32>,
    /// The identities that decisions have added.
    new_ids: HashSet<Digest>,
    #[expect(
        clippy::vec_box,
        reason = "a list gets them in its own order, and a second vector of 100,000 takes 20 MB"
    )]
    histories: Vec<Box<ItemHistory>>,
}

impl Items {
    pub(crate) fn get_mut(&mut self, id: &Digest) -> Option<&mut ItemHistory> {
        self.places.get(id).map(|place| &mut *self.histories[*place as usize])
    }

    /// The place of the item with this identity, in the order of [`iter`](Items::iter).
    pub(crate) fn place(&self, id: &Digest) -> Option<usize> {
        self.places.get(id).map(|place| *place as usize)
    }

    pub(crate) fn at(&self, place: usize) -> &ItemHistory {
        &self.histories[place]
    }

    /// The places of the items that the last run's list has.
    pub(crate) fn listed(&self) -> impl Iterator<Item = usize> {
        self.iter().enumerate().filter(|(_, history)| history.is_listed()).map(|(place, _)| place)
    }

    /// The identity of each item, in the order of [`iter`](Items::iter): the one that it had first.
    pub(crate) fn ids(&self) -> Vec<Digest> {
        let mut ids = vec![Digest::default(); self.histories.len()];
        for (id, place) in self.places.iter().filter(|(id, _)| !self.new_ids.contains(*id)) {
            ids[*place as usize] = *id;
        }
        ids
    }

    /// Lets a list have an item by another identity, too: that of its new prompt.
    pub(crate) fn also(&mut self, id: &Digest, new_id: Digest) {
        if let Some(place) = self.places.get(id).copied()
            && let Entry::Vacant(free) = self.places.entry(new_id)
        {
            free.insert(place);
            self.new_ids.insert(new_id);
        }
    }

    pub(crate) fn insert(&mut self, id: Digest, history: ItemHistory) {
        self.places.insert(id, u32::try_from(self.histories.len()).expect("a batch has at most 2^32 items"));
        self.histories.push(Box::new(history));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ItemHistory> {
        self.histories.iter().map(|history| &**history)
    }

    /// Gives each item, in the order of [`iter`](Items::iter), its number in a new run's list, or 0 if that lacks it.
    pub(crate) fn renumber(&mut self, numbers: &[u64]) {
        self.histories.iter_mut().zip(numbers).for_each(|(history, number)| history.number = *number);
    }

    /// The histories of the items with these identities, a list's, in their order, and of all others.
    pub(crate) fn split<'a>(self, ids: impl Iterator<Item = &'a Digest>) -> Split {
        let mut others: Histories = self.histories.into_iter().map(Some).collect();
        let mut numbers = vec![0; others.len()];
        let (mut twice, mut is_moved) = (None, false);
        let find = |(at, id)| {
            let place = *self.places.get(id)? as usize;
            let found = others[place].take();
            match &found {
                Some(history) => {
                    numbers[place] = at as u64 + 1;
                    is_moved |= history.number != numbers[place];
                }
                None => _ = twice.get_or_insert(at),
            }
            found
        };
        let listed = ids.enumerate().map(find).collect();
        is_moved |= others.iter().flatten().any(|history| history.is_listed());
        Split { listed, others, twice, numbers: is_moved.then_some(numbers) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(key: &str) -> Digest {
        Digest::of(&[key.as_bytes()])
    }

    #[test]
    fn a_list_finds_an_item_by_each_identity_that_it_has_had() {
        for (list, listed, others, twice, numbers) in [
            (&["a", "b", "c"][..], &[Some("a"), Some("b"), Some("c")][..], &[][..], None, None),
            (&["b", "a", "c"], &[Some("b"), Some("a"), Some("c")], &[], None, Some(vec![2, 1, 3])),
            (&["c", "new a", "x"], &[Some("c"), Some("a"), None], &["b"], None, Some(vec![2, 0, 1])),
            (&["a", "x", "new a"], &[Some("a"), None, None], &["b", "c"], Some(2), Some(vec![1, 0, 0])),
            (&["a", "b", "c", "x"], &[Some("a"), Some("b"), Some("c"), None], &[], None, None),
        ] {
            let mut items = Items::default();
            for (number, key) in (1..).zip(["a", "b", "c"]) {
                let own_key = (key != "a").then(|| key.into());
                items.insert(id(key), ItemHistory::sending(number, "job_1".into(), id("p"), own_key));
            }
            items.also(&id("a"), id("new a"));
            items.also(&id("b"), id("c"));
            assert_eq!(
                ["a", "new a", "b", "c", "x"].map(|key| items.place(&id(key))),
                [Some(0), Some(0), Some(1), Some(2), None]
            );
            let ids = items.ids();
            assert_eq!(ids, ["a", "b", "c"].map(id), "the first that each had");
            let keys: Vec<String> = ids.iter().zip(items.iter()).map(|(id, item)| item.key(id)).collect();
            assert_eq!(keys, [&*id("a").to_string(), "b", "c"], "its own key, if it could be stored");
            let ids: Vec<Digest> = list.iter().map(|key| id(key)).collect();
            let split = items.split(ids.iter());
            let numbered = |key: &&str| 1 + ["a", "b", "c"].iter().position(|own| own == key).unwrap() as u64;
            let of = |histories: &Histories| {
                histories.iter().map(|found| found.as_ref().map(|found| found.number)).collect::<Vec<_>>()
            };
            assert_eq!(
                of(&split.listed),
                listed.iter().map(|key| key.as_ref().map(numbered)).collect::<Vec<_>>(),
                "{list:?}"
            );
            let left: Vec<u64> = of(&split.others).into_iter().flatten().collect();
            assert_eq!(left, others.iter().map(numbered).collect::<Vec<_>>(), "{list:?}");
            assert_eq!((split.twice, split.numbers), (twice, numbers), "{list:?}");
        }
    }
}
