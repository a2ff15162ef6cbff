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
    let up_to = |end| allocate(file, from, end - from).map(|()| end);
    // A disk that is nearly full may have room for what is needed only.
    up_to(piece).or_else(|_| up_to(needed))
}

/// Whether there is no room, and not only no way to reserve it.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_reserved_in_pieces_and_for_what_is_longer() {
        let path = std::env::temp_dir().join(format!("agentjob-disk-space-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        for (from, needed, is) in
            [(0, 1, 524_288), (1000, 1200, 525_288), (1000, 600_000, 600_000), (400_000, 400_001, 924_288)]
        {
            match reserve(&file, from, needed) {
                // Not every file system can.
                Err(error) if !is_full(&error) => {}
                reserved => assert_eq!(reserved.unwrap(), is, "from {from}, needed {needed}"),
            }
            #[cfg(target_os = "linux")]
            {
                let taken = std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap()) * 512;
                assert!(taken < is + 32_768, "from {from}, needed {needed}: it takes {taken} bytes");
            }
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn only_these_errors_say_that_there_is_no_room() {
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge] {
            assert!(is_full(&kind.into()), "{kind}");
        }
        for kind in [ErrorKind::Unsupported, ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem] {
            assert!(!is_full(&kind.into()), "{kind}");
        }
    }
}
