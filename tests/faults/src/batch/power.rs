//! Simulates a power loss on the journal of a killed process: any part of what was not synced may be missing or zero.

use std::fs::OpenOptions;
use std::path::Path;

use super::notes;

/// What the disk loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The file ends somewhere after what was synced.
    Cut,
    /// The file keeps its length, but bytes after what was synced are zero.
    Zeros,
}

/// Cuts or clears the tail that was not synced. Returns how many bytes that cost.
pub(crate) fn lose(journal: &Path, noted: &Path, loss: Loss, rng: &mut fastrand::Rng) -> u64 {
    let Ok(mut bytes) = std::fs::read(journal) else { return 0 };
    let (length, synced) = (bytes.len(), (notes::read(noted) as usize).min(bytes.len()));
    let kept = rng.usize(synced..=length);
    // The first line stays whole: a file without it is not recognised as a journal, and nothing was sent before it was synced.
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
