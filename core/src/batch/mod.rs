//! Many messages: paced, resumable, and none of them sent twice, whatever ends the process.
//!
//! A batch keeps a *journal*, a file to which it only appends. Before a message's first byte can leave, the line `sending` is on
//! the disk; before its thread takes another message, the outcome is. So a process that dies at any point leaves at most its
//! messages in flight unknown, and the next run names them instead of guessing. `tests/model` proves the protocol, and
//! `tests/faults` the code.

pub(crate) mod client;
pub(crate) mod events;
pub(crate) mod handle;
pub(crate) mod item;
pub(crate) mod iterator;
pub(crate) mod journal;
pub(crate) mod list;
pub(crate) mod options;
pub(crate) mod pace;
pub(crate) mod run;
pub(crate) mod status;
