//! What happened when, from a journal's lines: the runs, each send, the pauses, the decisions. Pure.

use std::collections::HashMap;

use crate::batch::decisions::decision::Decision;
use crate::batch::journal::digest::Digest;
use crate::batch::journal::line::{Content, ItemRef, Line};
use crate::batch::journal::reason::Origin;
use crate::batch::pace::circuit_breaker::PauseReason;
use crate::delivery::Delivery;

/// A span of time, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// One send of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Send {
    pub(crate) item: ItemRef,
    /// In flight; without an outcome until the journal's end, or that of its run.
    pub(crate) in_flight: Span,
    /// Whether its run ended before its outcome, so that nothing says how long it was in flight.
    pub(crate) is_cut: bool,
    pub(crate) outcome: Option<Delivery>,
    /// When its job was done, if the batch waited for it.
    pub(crate) finished: Option<u64>,
}

/// What happened when.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// When each run began.
    pub(crate) runs: Vec<u64>,
    pub(crate) sends: Vec<Send>,
    pub(crate) pauses: Vec<(PauseReason, Span)>,
    pub(crate) decisions: Vec<(u64, ItemRef, Decision)>,
    /// The last send of each item.
    last: HashMap<Digest, usize>,
    /// When the last line was written, and the last one of the run before this one.
    written: u64,
    previous_run_ended: u64,
}

impl Timeline {
    /// Adds a line.
    pub(crate) fn add(&mut self, line: &Line<'_>) {
        // A clock that was set back makes nothing end before it began.
        let at = line.stamp.unix_ms.max(self.written);
        match &line.content {
            Content::Run(_) => {
                self.previous_run_ended = self.written;
                self.runs.push(at);
            }
            Content::Sending { item, .. } => {
                self.last.insert(item.id, self.sends.len());
                let in_flight = Span { from: at, to: at };
                self.sends.push(Send { item: *item, in_flight, is_cut: false, outcome: None, finished: None });
            }
            Content::Ended { item, delivery, error, retry_after, .. } => {
                // A later run has found that the message has no outcome: it was in flight until its own run ended.
                let is_late = error.as_ref().is_some_and(|error| error.origin != Origin::Request);
                let ended = if is_late { self.previous_run_ended } else { at };
                if let Some(send) = self.last_of(&item.id) {
                    send.in_flight.to = ended.max(send.in_flight.from);
                    send.is_cut = is_late;
                    send.outcome = Some(*delivery);
                }
                if let Some(pause) = retry_after {
                    self.pause(PauseReason::RateLimit, at, u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
                }
            }
            Content::Finished { item, .. } => {
                if let Some(send) = self.last_of(&item.id) {
                    send.finished = Some(at);
                }
            }
            Content::Decided { item, decision, .. } => self.decisions.push((at, *item, *decision)),
            Content::Paused { reason, pause_ms } => self.pause(*reason, at, *pause_ms),
            Content::Numbers { .. } | Content::Waiting { .. } | Content::Recovered { .. } => {}
        }
        self.written = at;
    }

    /// Gives each item its number in the last run's list, and leaves out those that the list lacks, which have 0.
    pub(crate) fn renumber(&mut self, number: impl Fn(&Digest) -> u64) {
        self.sends.retain_mut(|send| {
            send.item.number = number(&send.item.id);
            send.item.number > 0
        });
        self.decisions.retain_mut(|(_, item, _)| {
            item.number = number(&item.id);
            item.number > 0
        });
    }

    /// The whole time, from the first line to the last.
    pub(crate) fn span(&self) -> Span {
        Span { from: self.runs.first().copied().unwrap_or(self.written), to: self.written }
    }

    /// Until when a send was in flight.
    pub(crate) fn in_flight(&self, send: &Send) -> Span {
        let to = if send.outcome.is_none() { self.written } else { send.in_flight.to };
        Span { from: send.in_flight.from, to }
    }

    fn last_of(&mut self, id: &Digest) -> Option<&mut Send> {
        self.last.get(id).map(|at| &mut self.sends[*at])
    }

    /// Adds a pause, or makes the last one longer: messages that were in flight together report the same pause.
    fn pause(&mut self, reason: PauseReason, from: u64, length: u64) {
        let to = from.saturating_add(length);
        match self.pauses.last_mut() {
            Some((last, span)) if *last == reason && from <= span.to => span.to = span.to.max(to),
            _ => self.pauses.push((reason, Span { from, to })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::journal::clock::Stamp;
    use crate::batch::journal::line::{NO_LINE, RunHeader};
    use crate::batch::journal::reason::Reason;

    fn timeline(lines: Vec<(u64, Content<'static>)>) -> Timeline {
        let mut timeline = Timeline::default();
        for (at, content) in lines {
            let stamp = Stamp { unix_ms: at, up_ms: 0 };
            timeline.add(&Line { stamp, content, sum: NO_LINE, after: "".into() });
        }
        timeline
    }

    fn run() -> Content<'static> {
        let (base_url, project_id) = ("https://example.com".into(), "p".into());
        let (boot, rate) = (None, None);
        Content::Run(RunHeader { base_url, project_id, boot, pid: 1, items: 2, rate, wait: true, numbers: 0 })
    }

    fn item() -> ItemRef {
        ItemRef { id: Digest::of(&[b"1"]), number: 1 }
    }

    fn sending() -> Content<'static> {
        Content::Sending { item: item(), prompt: Digest::of(&[b"p"]), job_id: "job_1".into(), own_key: None }
    }

    fn ended(delivery: Delivery, error: Option<Reason>) -> Content<'static> {
        Content::Ended { item: item(), delivery, job: None, poller: None, error, retry_after: None }
    }

    fn paused(reason: PauseReason, pause_ms: u64) -> Content<'static> {
        Content::Paused { reason, pause_ms }
    }

    #[test]
    fn a_send_ends_with_its_outcome_and_its_job_later() {
        let finished = Content::Finished { item: item(), job: Some("{}") };
        let timeline =
            timeline(vec![(10, run()), (20, sending()), (25, ended(Delivery::Accepted, None)), (90, finished)]);
        let in_flight = Span { from: 20, to: 25 };
        let outcome = Some(Delivery::Accepted);
        let expected = Send { item: item(), in_flight, is_cut: false, outcome, finished: Some(90) };
        assert_eq!((timeline.sends, timeline.runs), (vec![expected], vec![10]));
    }

    #[test]
    fn a_message_that_a_later_run_found_without_an_outcome_was_in_flight_until_its_own_run_ended() {
        let late = ended(Delivery::Unknown, Some(Reason::not_noted()));
        let lines =
            vec![(10, run()), (20, sending()), (30, paused(PauseReason::RateLimit, 1)), (9_000, run()), (9_001, late)];
        let send = timeline(lines).sends[0];
        assert_eq!((send.in_flight, send.is_cut), (Span { from: 20, to: 30 }, true));
    }

    #[test]
    fn an_item_has_its_number_of_the_last_runs_list() {
        let gone = ItemRef { id: Digest::of(&[b"2"]), number: 2 };
        let decided = |item| Content::Decided { item, decision: Decision::Drop, new_prompt: None, new_id: None };
        let mut timeline = timeline(vec![(10, run()), (20, sending()), (30, decided(item())), (40, decided(gone))]);
        timeline.renumber(|id| if *id == gone.id { 0 } else { 7 });
        assert_eq!(timeline.sends.iter().map(|send| send.item.number).collect::<Vec<_>>(), [7]);
        assert_eq!(timeline.decisions.iter().map(|(_, item, _)| item.number).collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn a_send_without_an_outcome_lasts_until_the_journals_end() {
        let timeline = timeline(vec![(10, run()), (20, sending()), (50, paused(PauseReason::RateLimit, 1))]);
        assert_eq!(timeline.in_flight(&timeline.sends[0]), Span { from: 20, to: 50 });
        assert_eq!(timeline.span(), Span { from: 10, to: 50 });
    }

    #[test]
    fn pauses_of_one_cause_that_overlap_are_one() {
        use PauseReason::{RateLimit, ServiceFailure};
        let lines = [
            (10, RateLimit, 100),
            (50, RateLimit, 10),
            (60, RateLimit, 100),
            (500, RateLimit, 1),
            (501, ServiceFailure, 9),
        ];
        let lines = lines.map(|(at, reason, length)| (at, paused(reason, length)));
        let timeline = timeline([(5, run())].into_iter().chain(lines).collect());
        let span = |from, to| Span { from, to };
        let expected = [(RateLimit, span(10, 160)), (RateLimit, span(500, 501)), (ServiceFailure, span(501, 510))];
        assert_eq!(timeline.pauses, expected);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_nothing_end_before_it_began() {
        let timeline = timeline(vec![(100, run()), (90, sending()), (80, ended(Delivery::Rejected, None))]);
        assert_eq!(timeline.sends[0].in_flight, Span { from: 100, to: 100 });
        assert_eq!(timeline.span(), Span { from: 100, to: 100 });
    }
}
