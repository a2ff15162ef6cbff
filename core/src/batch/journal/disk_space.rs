//! Room on the disk, kept before it is needed: an outcome that is known must not be lost because something else filled the disk.

use std::fs::File;

use rustix::io::Errno;

/// No outcome without its record is longer, in bytes.
pub(crate) const OUTCOME: u64 = 512;
/// Room is asked for by the piece.
const PIECE: u64 = 512 << 10;

/// Has the disk keep room for a file that ends at `from` and will end at `needed`. Returns up to where there is room.
pub(crate) fn reserve(file: &File, from: u64, needed: u64) -> Result<u64, Errno> {
    let limit = file_limit();
    if needed > limit {
        return Err(Errno::FBIG);
    }
    let piece = from.saturating_add(PIECE).max(needed).min(limit);
    // A disk that is nearly full may have the room, if not the piece.
    allocate(file, from, piece - from).map(|()| piece).or_else(|_| allocate(file, from, needed - from).map(|()| needed))
}

/// How long a file of this process may be. That is no matter of the disk, so no room kept there shows it.
fn file_limit() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current.unwrap_or(u64::MAX)
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, from: u64, bytes: u64) -> Result<(), Errno> {
    // The file stays as long as it is.
    let keep = rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, keep, from, bytes))
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}
