//! One run of a batch: it begins or resumes from a journal, sends, waits, and ends.

pub(crate) mod earlier;
pub(crate) mod engine;
pub(crate) mod job_waiters;
pub(crate) mod resume;
pub(crate) mod state;
pub(crate) mod stop_errors;
