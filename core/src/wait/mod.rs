//! Waiting for a job's end: when to poll (pure), one poll at a time, and the client's blocking waits.

pub(crate) mod client;
pub(crate) mod options;
pub(crate) mod poller;
pub(crate) mod schedule;
pub(crate) mod schedule_text;
