//! Sends many messages, at a limited rate and resumable; none is sent twice, even if the process is killed.
//!
//! A batch has a [`journal`], a file to which it only appends. A message's line `sending` is on the disk before its first byte can
//! leave, and its outcome is on the disk before its thread takes another message. So when the process dies, at most its messages in
//! flight are unknown, and the next run reports them. `tests/model` proves the protocol, and `tests/faults` the code.
//!
//! [`decisions`] are what a person decides between runs about messages that are unknown or were rejected.
//! [`list`] and [`item`] are the input, [`events`] and [`status`] the output; [`pace`] decides when to send, and [`run`] does it.

pub(crate) mod client;
pub(crate) mod decisions;
pub(crate) mod events;
pub(crate) mod handle;
pub(crate) mod item;
pub(crate) mod item_limits;
pub(crate) mod iterator;
pub(crate) mod journal;
pub(crate) mod list;
pub(crate) mod options;
pub(crate) mod pace;
mod repeated;
mod report;
pub(crate) mod report_file;
pub(crate) mod run;
pub(crate) mod status;
