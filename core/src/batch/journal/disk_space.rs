//! Reserves room on the disk before it is needed, so that no outcome is lost when something else fills the disk.

use std::fs::File;
use std::io::{self, ErrorKind};

use crate::os::file::{allocate, length_limit};

/// The bytes of the longest outcome without a record.
pub(crate) const OUTCOME: u64 = 512;
/// How much is reserved at once.
const PIECE: u64 = 512 << 10;

/// Reserves room for a file to grow from `from` to `needed` bytes, or more. Returns how long it can become.
///
/// # Errors
/// What the system says, also of a file that is longer than the process may have it.
pub(crate) fn reserve(file: &File, from: u64, needed: u64) -> io::Result<u64> {
    let limit = length_limit(needed)?;
    let piece = from.saturating_add(PIECE).max(needed).min(limit);
    // A disk that is nearly full may have room for what is needed only.
    allocate(file, from, piece - from).map(|()| piece).or_else(|_| allocate(file, from, needed - from).map(|()| needed))
}

/// Whether there is no room, and not only no way to reserve it.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
