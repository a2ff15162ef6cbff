//! Reserves room on the disk before it is needed, so that no outcome is lost when something else fills the disk.

use std::fs::File;

use rustix::io::Errno;

/// The bytes of the longest outcome without a record.
pub(crate) const OUTCOME: u64 = 512;
/// How much is reserved at once.
const PIECE: u64 = 512 << 10;

/// Reserves room for a file to grow from `from` to `needed` bytes, or more. Returns how long it can become.
///
/// # Errors
/// What `fallocate` says; `FBIG` if the process may not have such a long file.
pub(crate) fn reserve(file: &File, from: u64, needed: u64) -> Result<u64, Errno> {
    let limit = file_limit();
    if needed > limit {
        return Err(Errno::FBIG);
    }
    let piece = from.saturating_add(PIECE).max(needed).min(limit);
    // A disk that is nearly full may have room for what is needed only.
    allocate(file, from, piece - from).map(|()| piece).or_else(|_| allocate(file, from, needed - from).map(|()| needed))
}

/// How long a file of this process may be (RLIMIT_FSIZE), which reserving room doesn't check.
fn file_limit() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current.unwrap_or(u64::MAX)
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, from: u64, bytes: u64) -> Result<(), Errno> {
    // The file's length doesn't change.
    let keep = rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, keep, from, bytes))
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}
