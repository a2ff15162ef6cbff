//! Compares a batch with its journal: the service, and each item with what the journal has of it.

use crate::batch::item::Planned;
use crate::batch::journal::error::problem;
use crate::batch::journal::file::Journal;
use crate::batch::journal::history::History;
use crate::batch::journal::item_history::{ItemHistory, Items, Split};
use crate::delivery::Delivery;
use crate::error::Error;
use crate::shared::Shared;
use crate::text::describe;

/// Refuses a journal of another service or project.
pub(crate) fn check_service(history: &History, shared: &Shared, journal: &Journal) -> Result<(), Error> {
    let Some(run) = &history.run else { return Ok(()) };
    if *run.base_url == *shared.config.endpoint.url && *run.project_id == *shared.config.project_id {
        return Ok(());
    }
    let what = format!(
        "belongs to project {} at {}, but this client uses project {} at {}",
        describe(&run.project_id),
        describe(&run.base_url),
        describe(&shared.config.project_id),
        describe(&shared.config.endpoint.url)
    );
    Err(problem(journal.path(), &what).with_hint("Give each project its own journal."))
}

/// Finds each item's history. Refuses a list in which an item that may have been delivered was changed or is missing.
pub(crate) fn match_items(items: &[Planned], known: Items, journal: &Journal) -> Result<Split, Error> {
    let journal = describe(&journal.path().to_string_lossy());
    let split = known.split(items.iter().map(|item| &item.id));
    if let Some(at) = split.twice {
        let reason = format!("journal {journal:?} has it as the new prompt of another item of the list");
        let hint = "Leave one of them out, or give each item its own key.";
        return Err(Error::invalid(reason).with_hint(hint).in_item(at as u64 + 1, items[at].line()));
    }
    for (at, (item, history)) in items.iter().zip(&split.listed).enumerate() {
        if let Some(history) = history
            && (!has_prompt(history, item) || *history.job_id != *item.job_id())
        {
            let what = if has_prompt(history, item) { "job" } else { "prompt" };
            let reason = format!(
                "its {what} was changed after the batch began: journal {journal:?} recorded it as a message to job {}",
                describe(&history.job_id)
            );
            let hint = "Restore the item, or give it another key.";
            return Err(Error::invalid(reason).with_hint(hint).in_item(at as u64 + 1, item.line()));
        }
    }
    // A list may leave out what was certainly not delivered.
    let missing = split.others.iter().flatten().filter(|history| history.must_be_listed());
    let Some(history) = missing.min_by_key(|history| history.number) else { return Ok(split) };
    let at = usize::try_from(history.number).unwrap_or(0).wrapping_sub(1);
    let (line, what) = match items.get(at) {
        Some(item) if !item.has_own_key() => (item.line(), "it is now a different message"),
        _ => (None, "it is missing from the list"),
    };
    let job_id = describe(&history.job_id);
    let restore = "Restore the list and add new items at its end. Another list needs a journal of its own.";
    let drop = "Drop that message first (batch_drop, or agentjob batch drop), or restore the list.";
    let (why, hint) = match history.delivery() {
        Some(Delivery::Accepted) => ("was accepted", restore),
        Some(Delivery::Rejected) => ("was rejected", drop),
        _ if history.may_have_arrived() => ("may have arrived", restore),
        // Dropped, it would still have to be listed.
        _ if history.to_decide() == Delivery::Unknown => ("was decided about", restore),
        _ => ("was decided about", drop),
    };
    let reason = format!("{what}, but its message to job {job_id} in journal {journal:?} {why}");
    Err(Error::invalid(reason).with_hint(hint).in_item(history.number, line))
}

/// Whether the list has a prompt that the item has or had: the one that is sent next may come from elsewhere.
fn has_prompt(history: &ItemHistory, item: &Planned) -> bool {
    let earlier = history.decided.iter().flat_map(|decided| &decided.earlier_prompts);
    history.prompt == item.prompt_digest || earlier.into_iter().any(|prompt| *prompt == item.prompt_digest)
}
