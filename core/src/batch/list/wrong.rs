//! A mistake in a list, with its place.

use crate::error::Error;

/// What is wrong with a line, and at which character, both counted from 1.
pub(crate) struct Wrong {
    pub(crate) line: u64,
    pub(crate) column: Option<u64>,
    pub(crate) error: Error,
}

impl Wrong {
    /// What is wrong with a line as a whole.
    pub(crate) fn on(line: u64, error: Error) -> Wrong {
        Wrong { line, column: None, error }
    }

    pub(crate) fn at(line: u64, column: u64, error: Error) -> Wrong {
        Wrong { line, column: Some(column), error }
    }
}
