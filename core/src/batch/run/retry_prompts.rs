//! The prompts with which messages are retried. The journal has only their digests, so each run needs their texts again: a prompt is
//! taken for an item only if it has the digest of the decision, so no run can send a different text.

use std::collections::HashMap;

use crate::batch::item::Planned;
use crate::batch::journal::digest::Digest;
use crate::batch::journal::file::Journal;
use crate::batch::journal::item_history::ItemHistory;
use crate::batch::options::BatchOptions;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::operation::Operation;
use crate::text::describe;

/// Gives each item the prompt that was decided for it.
///
/// # Errors
/// `InvalidArgument`: an item is to be sent with a prompt that neither the list nor the options' `retry_prompts` have, or one of these
/// belongs to no decision.
pub(crate) fn take_prompts(
    items: &mut [Planned],
    histories: &[Option<Box<ItemHistory>>],
    options: &BatchOptions,
    max_prompt_bytes: usize,
    journal: &Journal,
) -> Result<(), Error> {
    let prompts = &options.retry_prompts;
    let journal = describe(&journal.path().to_string_lossy());
    let by_digest: HashMap<Digest, &str> =
        prompts.iter().map(|prompt| (Digest::of(&[prompt.as_bytes()]), &**prompt)).collect();
    let will_resend = |ended: Delivery| ended == Delivery::Unknown && options.resend_unknown;
    let mut decided = Vec::new();
    for (at, (item, history)) in items.iter_mut().zip(histories).enumerate() {
        let Some(history) = history else { continue };
        let Some(earlier) = history.decided.as_ref().map(|decided| &decided.earlier_prompts) else { continue };
        // Also if it never had another one: the decision may have given it the prompt that it had.
        decided.push(history.prompt);
        if earlier.is_empty() {
            continue;
        }
        decided.extend(earlier);
        if history.prompt != item.prompt_digest {
            match by_digest.get(&history.prompt) {
                Some(prompt) => {
                    let message = Operation::SendMessage { job_id: item.job_id(), prompt: (*prompt).into() };
                    message.check(max_prompt_bytes).map_err(|error| error.in_item(at as u64 + 1, item.line()))?;
                    item.replace_prompt(prompt, history.prompt);
                }
                None if !history.is_dropped() && history.delivery().is_none_or(will_resend) => {
                    let reason =
                        format!("journal {journal:?} says to retry it with a new prompt, which this run does not have");
                    let hint = "Give that prompt again (retry_prompts, or --prompt-file), or put it into the list.";
                    return Err(Error::invalid(reason).with_hint(hint).in_item(at as u64 + 1, item.line()));
                }
                None => {}
            }
        }
    }
    for (n, prompt) in prompts.iter().enumerate() {
        if !decided.contains(&Digest::of(&[prompt.as_bytes()])) {
            let reason = format!("retry prompt {} belongs to no decision in journal {journal:?}", n + 1);
            return Err(Error::invalid(reason)
                .with_hint("Give the prompt that was decided on, or decide to retry a message with this one."));
        }
    }
    Ok(())
}
