//! Errors that name the journal.

use std::path::Path;

use crate::error::{Error, ErrorKind};
use crate::text::quoted;

/// An error about the journal as a whole.
pub(crate) fn problem(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Journal, format!("journal {} {what}", quoted(path)))
}

/// An error about one of its lines, counted from 1.
pub(crate) fn damage(path: &Path, number: u64, what: &str) -> Error {
    problem(path, &format!("is damaged: line {number}: {what}"))
        .with_hint("Restore the file from a copy. Or check its jobs, and begin a new journal with the messages that did not arrive.")
}

/// A line that was read before can't be read again.
pub(crate) fn changed(path: &Path) -> Error {
    problem(path, "was changed while the batch ran")
}
