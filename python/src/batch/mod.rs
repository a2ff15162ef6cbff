//! `agentjob.Batch`, and what it needs: `items` (or a `list` in a file) come in, `begin` hands them to the core, `iterator` is the class around a `running` batch, `records` are the
//! dicts that go out, `decisions` what is decided between runs, and `closing` ends a batch early.

pub(crate) mod begin;
pub(crate) mod closing;
pub(crate) mod decisions;
pub(crate) mod items;
pub(crate) mod iterator;
pub(crate) mod list;
pub(crate) mod records;
pub(crate) mod report;
pub(crate) mod running;
