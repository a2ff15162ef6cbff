//! Waiting until a job is done: when to poll (pure), one poll at a time, and the client's blocking waits.

pub(crate) mod background;
pub(crate) mod client;
pub(crate) mod failing;
pub(crate) mod options;
mod poll;
pub(crate) mod poller;
mod resume_text;
pub(crate) mod schedule;
pub(crate) mod schedule_options;
