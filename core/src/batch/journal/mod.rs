//! The journal of a batch: a file of checked lines to which a run only appends, and which the next run replays.
//!
//! | noun | what it is | where |
//! | --- | --- | --- |
//! | line | one JSON object: a *content*, a *stamp*, a *checksum*, and the beginning of the checksum of the line before it | [`line`] |
//! | content | what a line records: `numbers`, `run`, `sending`, an outcome (`accepted`, `rejected`, `not_sent`, `unknown`), `waiting`, `finished`, `decided`, `paused`, `recovered` | [`line`] |
//! | numbers | where the known items are in the list of the run behind it, if that has them at other places | [`line`] |
//! | run header | the content with which each run begins: service, project, process, settings | [`line`] |
//! | item ref, message ref | how a line identifies an item and its message: by digests, never by the prompt | [`line`], [`digest`] |
//! | stamp | when a line was written, by the calendar and by the machine's uptime | [`clock`] |
//! | line span | where a line is in the file, to read it again | [`line`] |
//! | stored record | what a line may have of the service's record | [`stored_record`] |
//! | reason | why a message was not accepted, in parts | [`reason`] |
//! | damaged tail | what a crash leaves at the end of the file: a line that was cut off, and zeros | [`damaged_tail`] |
//! | item history | what all lines say about one item | [`item_history`], made by [`history`] |
//!
//! A line is written by [`item_lines`] and [`run_lines`] (which fields) and [`encode`] (as JSON), and read by [`decode`]. [`open`] opens and
//! locks the file, [`replay`] reads all of it, [`file`] appends and syncs, and [`disk_space`] reserves room for outcomes. [`error`]
//! makes the errors that name the journal.

pub(crate) mod clock;
pub(crate) mod damaged_tail;
pub(crate) mod decode;
pub(crate) mod digest;
mod disk_space;
pub(crate) mod encode;
pub(crate) mod error;
pub(crate) mod file;
pub(crate) mod history;
pub(crate) mod item_history;
pub(crate) mod item_lines;
pub(crate) mod line;
pub(crate) mod open;
pub(crate) mod reason;
pub(crate) mod replay;
pub(crate) mod run_lines;
pub(crate) mod stored_record;
