//! A power loss, played out on the journal of a killed process: of what was not on the disk, any part may be gone or zero.

use std::fs::OpenOptions;
use std::path::Path;

use super::notes;

/// How the disk forgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The file ends somewhere behind what was synced.
    Cut,
    /// It has its length, and bytes behind what was synced that never arrived.
    Zeros,
}

/// Cuts or clears the tail that was not synced. Answers how many bytes that cost.
pub(crate) fn lose(journal: &Path, noted: &Path, loss: Loss, rng: &mut fastrand::Rng) -> u64 {
    let Ok(mut bytes) = std::fs::read(journal) else { return 0 };
    let (length, synced) = (bytes.len(), (notes::read(noted) as usize).min(bytes.len()));
    let kept = rng.usize(synced..=length);
    // A file that is not a journal for sure is refused, so a first line that is not whole would end here; nothing was sent by then.
    let first = bytes.iter().position(|byte| *byte == b'\n').map_or(length, |end| end + 1);
    let kept = if kept < first { 0 } else { kept };
    match loss {
        _ if kept == 0 => std::fs::write(journal, "").expect("the journal can be written"),
        Loss::Cut => {
            let file = OpenOptions::new().write(true).open(journal);
            file.and_then(|file| file.set_len(kept as u64)).expect("the journal can be cut");
        }
        Loss::Zeros => {
            bytes[kept..].fill(0);
            std::fs::write(journal, bytes).expect("the journal can be written");
        }
    }
    (length - kept) as u64
}
