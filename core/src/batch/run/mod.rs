//! One run of a batch: it begins or resumes from a journal, sends, waits, and ends.

pub(crate) mod busy_jobs;
mod call_events;
pub(crate) mod earlier;
pub(crate) mod engine;
mod event_queue;
pub(crate) mod failures;
mod held;
mod job_waiters;
mod lost_results;
mod match_items;
mod outcomes;
mod owner_wait;
mod polls;
pub(crate) mod resume;
mod retry_prompts;
mod sender;
mod state;
pub(crate) mod stop_errors;
mod stopping;
mod threads;
