//! Messages that a run holds back, because of another one to their job.

use crate::batch::events::BatchOutcome;
use crate::batch::item::Planned;
use crate::delivery::Delivery;
use crate::error::sentence::Subject;
use crate::error::{Error, ErrorKind};
use crate::text::describe;

/// Why a message is held behind another one to its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeldBehind {
    /// Whether the other one arrived isn't known.
    Unknown,
    /// The wait for the other one has ended, but its job may still work on it.
    NoResult,
}

/// The outcome of a message that this run does not send, because of the one at `behind`. `delivery`: what is known of it so far.
pub(crate) fn held_outcome(
    items: &[Planned],
    at: u32,
    delivery: Delivery,
    behind: u32,
    why: HeldBehind,
) -> BatchOutcome {
    // By its number, as the commands that decide name it.
    let other = format!("item {}", u64::from(behind) + 1);
    let (reason, hint) = match why {
        HeldBehind::Unknown => (
            format!("{other}, to the same job, may have arrived, so the order is no longer known"),
            format!("Check the job, resolve {other}, and run the batch again."),
        ),
        HeldBehind::NoResult => (
            format!("the wait for {other}, to the same job, ended without its result"),
            "Run the batch again to wait for it.".to_owned(),
        ),
    };
    let job_id = describe(items[at as usize].job_id());
    let error = Error::new(ErrorKind::Conflict, reason).about(Subject::BatchMessage(job_id)).with_hint(hint);
    BatchOutcome::of(items, at, delivery, None, Some(error.with_delivery(Some(delivery))), false)
}
