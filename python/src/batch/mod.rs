//! `agentjob.Batch`, and what it needs: `items` (or a `list` in a file) come in, `begin` hands them to the core, `iterator` is the class, `records` are the
//! dicts that go out, and `background_close` waits for batches that no object holds any more.

pub(crate) mod background_close;
pub(crate) mod begin;
pub(crate) mod items;
pub(crate) mod iterator;
pub(crate) mod list;
pub(crate) mod records;
