//! One run of a batch: it begins or resumes from a journal, sends, waits, and ends.

pub(crate) mod earlier;
mod ending;
pub(crate) mod engine;
pub(crate) mod failures;
mod job_waiters;
mod match_items;
mod outcomes;
pub(crate) mod resume;
mod sender;
mod state;
pub(crate) mod stop_errors;
mod threads;
