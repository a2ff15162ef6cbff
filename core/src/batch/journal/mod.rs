//! The journal: a file of checked lines, written before and after each message, and replayed by the next run.

pub(crate) mod clock;
pub(crate) mod damaged_tail;
pub(crate) mod digest;
pub(crate) mod disk_space;
pub(crate) mod encode;
pub(crate) mod entry;
pub(crate) mod file;
pub(crate) mod format;
pub(crate) mod history;
pub(crate) mod reason;
pub(crate) mod replay;
pub(crate) mod stored_record;
