//! Writes decisions into the journal of a batch that is not running.
//!
//! A call decides about all of its items or about none: everything is checked first, and all lines are one write, of which only a power
//! loss can leave a part. The lock keeps runs out meanwhile, so no run sends a message while a person decides about it.

use std::path::Path;

use crate::batch::decisions::decision::{Decision, Resolution};
use crate::batch::decisions::selection::{BatchRef, Selected, select};
use crate::batch::item::derived_id;
use crate::batch::journal::clock::Clock;
use crate::batch::journal::digest::Digest;
use crate::batch::journal::error::{damage, problem};
use crate::batch::journal::file::Journal;
use crate::batch::journal::history::History;
use crate::batch::journal::item_lines;
use crate::batch::journal::line::ItemRef;
use crate::batch::journal::run_lines;
use crate::batch::options::CheckpointHandler;
use crate::config::settings::DEFAULT_MAX_PROMPT_BYTES;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::operation::Operation;
use crate::text::describe;
use crate::timestamp::iso;

/// A decision that is in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchDecision {
    /// The item's place in the last run's list, from 1.
    pub number: u64,
    /// The item's own key, if the journal could store it, or the one that was derived from its content and place.
    pub key: String,
    /// Its job.
    pub job_id: String,
    /// What was decided.
    pub decision: Decision,
    /// When, ISO 8601.
    pub at: String,
}

/// Decides about messages whose delivery is unknown. The next run of the batch acts on it; until then it can be decided otherwise.
///
/// With [`BatchRef::All`] it is about every message whose delivery is unknown and about which nothing was decided. The decisions are
/// on the disk when this returns. It sends nothing.
///
/// # Errors
/// `InvalidArgument`: an item is not in the journal, is named twice, or its delivery is not unknown; then nothing is written.
/// `Journal`: it cannot be read or written, is damaged, or a run is using it.
pub fn batch_resolve(
    journal: impl AsRef<Path>,
    items: &[BatchRef],
    resolution: Resolution,
) -> Result<Vec<BatchDecision>, Error> {
    decide(journal.as_ref(), items, resolution.into(), None, None)
}

/// Decides that the next run sends rejected messages again, with the same prompt, or all of them with another one.
///
/// The journal has only the prompt's digest. A run needs the prompt itself: from
/// [`BatchOptions::retry_prompt`](crate::BatchOptions::retry_prompt), or from the item in the list. A run that has neither refuses to
/// begin.
///
/// # Errors
/// As [`batch_resolve`]; `InvalidArgument`, too, if an item was not rejected, or the prompt is empty or longer than 4 MiB.
pub fn batch_retry(
    journal: impl AsRef<Path>,
    items: &[BatchRef],
    prompt: Option<&str>,
) -> Result<Vec<BatchDecision>, Error> {
    decide(journal.as_ref(), items, Decision::Retry, prompt, None)
}

/// Decides that the batch is done with messages that were rejected, not sent, or whose delivery is unknown: no run sends or reports
/// them. With [`BatchRef::All`] it is about the rejected and the unknown ones.
///
/// # Errors
/// As [`batch_resolve`]; `InvalidArgument`, too, if a message was accepted.
pub fn batch_drop(journal: impl AsRef<Path>, items: &[BatchRef]) -> Result<Vec<BatchDecision>, Error> {
    decide(journal.as_ref(), items, Decision::Drop, None, None)
}

/// As the functions above, and calls this with the name of each point of the journal's protocol. `tests/faults` uses it to kill the
/// process there; it isn't part of the interface.
#[doc(hidden)]
pub fn batch_decide_with_checkpoints(
    journal: &Path,
    items: &[BatchRef],
    decision: Decision,
    prompt: Option<&str>,
    on_checkpoint: &CheckpointHandler,
) -> Result<Vec<BatchDecision>, Error> {
    decide(journal, items, decision, prompt, Some(on_checkpoint))
}

fn decide(
    path: &Path,
    names: &[BatchRef],
    decision: Decision,
    prompt: Option<&str>,
    on_checkpoint: Option<&CheckpointHandler>,
) -> Result<Vec<BatchDecision>, Error> {
    let checkpoint = |name| {
        if let Some(handler) = on_checkpoint {
            handler(name);
        }
    };
    if let Some(prompt) = prompt {
        let message = Operation::SendMessage { job_id: "job", prompt: prompt.into() };
        message.check(DEFAULT_MAX_PROMPT_BYTES)?;
    }
    let journal = Journal::open_existing(path)?;
    checkpoint("desk_opened");
    let clock = Clock::new();
    let mut history = History::new(clock.clone(), 0);
    let tail = journal
        .replay(|number, span, line| history.add(span, line).map_err(|what| damage(journal.path(), number, &what)))?;
    if history.run.is_none() {
        return Err(problem(journal.path(), "has no run in it yet").with_hint("Run the batch first."));
    }
    let places = places(names, decision, &history, journal.path())?;
    let (ids, now) = (history.items.ids(), clock.stamp());
    let decided = places.iter().map(|place| {
        let item = history.items.at(*place);
        let new_prompt = prompt.map(|prompt| Digest::of(&[prompt.as_bytes()]));
        // An item without a key has another identity in a list that has the new prompt.
        let new_id = prompt.filter(|_| item.own_key.is_none());
        let new_id = new_id.map(|prompt| derived_id(item.number, &item.job_id, prompt));
        item_lines::decided(ItemRef { id: ids[*place], number: item.number }, decision, new_prompt, new_id, now)
    });
    // On a disk that is full or fills up, nothing is written.
    let recovered = tail.map(|tail| run_lines::recovered(&tail, &clock));
    journal.append_all(recovered.into_iter().chain(decided))?;
    checkpoint("decision_written");
    let made = |place: usize| {
        let item = history.items.at(place);
        BatchDecision {
            number: item.number,
            key: item.key(&ids[place]),
            job_id: (*item.job_id).to_owned(),
            decision,
            at: iso(now.unix_ms),
        }
    };
    let made = places.into_iter().map(made).collect();
    journal.close()?;
    checkpoint("decision_synced");
    Ok(made)
}

/// The places of the items that are decided about, all of them checked.
fn places(names: &[BatchRef], decision: Decision, history: &History, path: &Path) -> Result<Vec<usize>, Error> {
    let selected = select(names, &history.items)?;
    let Selected::Places(places) = selected else {
        let is_open = |place: usize| {
            let item = history.items.at(place);
            // A message that was not sent needs no decision.
            let is_sent = item.to_decide() != Delivery::NotSent;
            item.is_undecided() && is_sent && decision.check(item.to_decide(), false).is_ok()
        };
        let places: Vec<usize> = history.items.listed().filter(|place| is_open(*place)).collect();
        if places.is_empty() {
            let journal = describe(&path.to_string_lossy());
            let reason = format!("journal {journal:?} has no message that {decision} can be decided about");
            return Err(Error::invalid(reason).with_hint("See the batch's status."));
        }
        return Ok(places);
    };
    for (name, place) in names.iter().zip(&places) {
        let item = history.items.at(*place);
        if let Err((why, hint)) = decision.check(item.to_decide(), !item.is_undecided()) {
            return Err(Error::invalid(format!("{name} cannot be decided: {why}")).with_hint(hint));
        }
    }
    Ok(places)
}
