//! One run of a batch: it begins or resumes from a journal, sends, waits, and ends.

pub(crate) mod earlier;
pub(crate) mod ending;
pub(crate) mod engine;
pub(crate) mod failures;
pub(crate) mod job_waiters;
pub(crate) mod match_items;
pub(crate) mod outcomes;
pub(crate) mod resume;
pub(crate) mod sender;
pub(crate) mod state;
pub(crate) mod stop_errors;
pub(crate) mod threads;
