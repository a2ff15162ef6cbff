//! The journal as its run writes it: only appended to, and synced when it has to be.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::batch::journal::damaged_tail::DamagedTail;
use crate::batch::journal::digest::Checksum;
use crate::batch::journal::disk_space;
use crate::batch::journal::encode::LineWriter;
use crate::batch::journal::error::problem;
use crate::batch::journal::line::{Line, LineSpan, NO_LINE};
use crate::batch::journal::open::OpenJournal;
use crate::batch::journal::replay::{line_at, read_lines};
use crate::error::Error;
use crate::os::file::{FileIdentity, LockedFile};

const RESTORE: &str = "Restore it before you run the batch again.";

/// A journal that only this process may write.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: LockedFile,
    identity: FileIdentity,
    end: Mutex<WriteState>,
    /// How many bytes of the file are on the disk. Locked before `end`.
    synced: Mutex<u64>,
}

#[derive(Debug)]
struct WriteState {
    /// Where the next line begins.
    at: u64,
    /// What belongs before the next line.
    separator: &'static str,
    /// The last line's checksum.
    sum: Checksum,
    /// How long the file can become in the room that is reserved on the disk.
    reserved: u64,
    /// How many outcomes are still to be written: all of them must have room.
    in_flight: u64,
    /// Why nothing more may be written.
    broken: Option<Error>,
}

impl Journal {
    /// Opens a journal or creates it, and locks it.
    ///
    /// # Errors
    /// `Journal`: it cannot be opened, or another run is using it.
    pub(crate) fn open(path: &Path) -> Result<Journal, Error> {
        Ok(Journal::of(OpenJournal::open(path)?))
    }

    /// Opens the journal of a batch that isn't running, and locks it.
    ///
    /// # Errors
    /// `Journal`: there is none, it cannot be opened, or a run is using it.
    pub(crate) fn open_existing(path: &Path) -> Result<Journal, Error> {
        Ok(Journal::of(OpenJournal::open_existing(path)?))
    }

    fn of(OpenJournal { path, file, identity }: OpenJournal) -> Journal {
        let end = WriteState { at: 0, separator: "", sum: NO_LINE, reserved: 0, in_flight: 0, broken: None };
        Journal { path, file, identity, end: Mutex::new(end), synced: Mutex::new(0) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads every line. Returns the damaged tail, if there is one: the next line must be [`recovered`].
    ///
    /// # Errors
    /// `Journal` for any other damage, with the line's number, or if the file can't be truncated or synced; what `each` returns.
    pub(crate) fn replay(
        &self,
        each: impl FnMut(u64, LineSpan, Line<'_>) -> Result<(), Error>,
    ) -> Result<Option<DamagedTail>, Error> {
        let read = read_lines(&self.path, self.file.reader(), each)?;
        let cannot = |error: std::io::Error| self.cannot_write(&error.to_string());
        // This frees what a killed run had reserved.
        self.file.set_len(read.at).map_err(cannot)?;
        // An earlier run may have left lines that aren't synced, and this run relies on them.
        self.file.sync_all().map_err(cannot)?;
        *lock(&self.synced) = read.at;
        let mut end = lock(&self.end);
        (end.at, end.separator, end.sum) = (read.at, read.separator, read.sum);
        Ok(read.tail)
    }

    /// Appends a line. It is on the disk once [`sync`](Journal::sync) was called with its end.
    ///
    /// # Errors
    /// `Journal`: the disk is full or fails, or another program changed the file. Then nothing of the line is in the file.
    pub(crate) fn append(&self, line: LineWriter) -> Result<LineSpan, Error> {
        self.append_all([line])
    }

    /// Appends all of these lines with one write, or nothing.
    ///
    /// # Errors
    /// As [`append`](Journal::append).
    pub(crate) fn append_all(&self, lines: impl IntoIterator<Item = LineWriter>) -> Result<LineSpan, Error> {
        let mut end = lock(&self.end);
        let more = end.in_flight * disk_space::OUTCOME;
        self.write(&mut end, lines, more)
    }

    /// Appends the line of a message that is about to be sent, and reserves room for its outcome, so that a full disk can't lose
    /// it.
    ///
    /// # Errors
    /// As [`append`](Journal::append).
    pub(crate) fn append_sending(&self, line: LineWriter) -> Result<LineSpan, Error> {
        if !self.identity.is_at(&self.path) {
            // The next run could not find what is written into this file.
            return Err(problem(&self.path, "was removed or replaced while the batch ran").with_hint(RESTORE));
        }
        let mut end = lock(&self.end);
        let more = (end.in_flight + 1) * disk_space::OUTCOME;
        let span = self.write(&mut end, [line], more)?;
        end.in_flight += 1;
        Ok(span)
    }

    /// Appends an outcome: the line, or the short one if only that has room.
    ///
    /// # Errors
    /// As [`append`](Journal::append).
    pub(crate) fn append_outcome(
        &self,
        line: LineWriter,
        short: impl FnOnce() -> LineWriter,
    ) -> Result<LineSpan, Error> {
        let mut end = lock(&self.end);
        end.in_flight = end.in_flight.saturating_sub(1);
        let more = end.in_flight * disk_space::OUTCOME;
        match self.write(&mut end, [line], more) {
            Err(_) => self.write(&mut end, [short()], 0),
            written => written,
        }
    }

    /// Appends lines if there is room for them and for this many more bytes, or writes nothing. Returns where they are.
    fn write(
        &self,
        end: &mut WriteState,
        lines: impl IntoIterator<Item = LineWriter>,
        more: u64,
    ) -> Result<LineSpan, Error> {
        if let Some(error) = &end.broken {
            return Err(error.clone());
        }
        let length = self.file.reader().metadata().map_err(|error| self.cannot_write(&error.to_string()))?.len();
        if length != end.at {
            let error = problem(&self.path, "was changed by another program while the batch ran");
            let error = error.with_hint(RESTORE);
            end.broken = Some(error.clone());
            return Err(error);
        }
        let mut text = end.separator.to_owned();
        let (skipped, mut sum) = (text.len() as u64, end.sum);
        for line in lines {
            let (line, its_sum) = line.finish(&sum);
            text.push_str(&line);
            sum = its_sum;
        }
        let needed = end.at + text.len() as u64 + more;
        if end.reserved < needed {
            end.reserved = match disk_space::reserve(self.file.reader(), end.at, needed) {
                Ok(reserved) => reserved,
                Err(error) if disk_space::is_full(&error) => return Err(self.cannot_write(&error.to_string())),
                // The file system can't reserve room.
                Err(_) => u64::MAX,
            };
        }
        if let Err(error) = self.file.append(text.as_bytes(), end.at) {
            let error = self.cannot_write(&error.to_string());
            // The next line must not follow a part of these.
            match self.file.set_len(end.at) {
                // That freed what was reserved.
                Ok(()) => end.reserved = end.at,
                Err(_) => end.broken = Some(error.clone()),
            }
            return Err(error);
        }
        let start = end.at + skipped;
        end.at += text.len() as u64;
        (end.sum, end.separator) = (sum, "");
        Ok(LineSpan { start, bytes: u32::try_from(end.at - start).unwrap_or(u32::MAX) })
    }

    /// Makes sure that the file is on the disk up to `end`. Lines that several threads wrote share one sync.
    ///
    /// # Errors
    /// `Journal`. Nothing more can be written then, for what the disk holds is unknown.
    pub(crate) fn sync(&self, end: u64) -> Result<(), Error> {
        let mut synced = lock(&self.synced);
        if *synced >= end {
            return Ok(());
        }
        let written = {
            let end = lock(&self.end);
            if let Some(error) = &end.broken {
                return Err(error.clone());
            }
            end.at
        };
        if let Err(error) = self.file.sync_data() {
            let error = self.cannot_write(&error.to_string());
            lock(&self.end).broken = Some(error.clone());
            return Err(error);
        }
        *synced = written;
        Ok(())
    }

    /// Syncs everything that was written.
    pub(crate) fn sync_all(&self) -> Result<(), Error> {
        let end = lock(&self.end).at;
        self.sync(end)
    }

    /// Syncs everything that was written, and unlocks the journal.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let synced = self.sync_all();
        let end = lock(&self.end);
        let is_ours = self.file.reader().metadata().is_ok_and(|metadata| metadata.len() == end.at);
        if end.broken.is_none() && is_ours && end.reserved > end.at {
            // Frees what was reserved and not used. If that fails, the next run does it.
            drop(self.file.set_len(end.at));
        }
        self.file.unlock();
        synced
    }

    /// Reads one line again, without its line end.
    pub(crate) fn line_at(&self, span: LineSpan) -> Result<String, Error> {
        line_at(self.file.reader(), span).map_err(|error| problem(&self.path, &format!("cannot be read ({error})")))
    }

    fn cannot_write(&self, why: &str) -> Error {
        problem(&self.path, &format!("cannot be written ({why})"))
            .with_hint("No message is sent without its line in the journal. Fix that, then run the batch again: it continues where it stopped.")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{self, File, OpenOptions};
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_journal_that_cannot_be_truncated_or_synced_cannot_be_written() {
        let path = std::env::temp_dir().join(format!("agentjob-unsynced-{}", std::process::id()));
        let mut journal = Journal::open(&path).unwrap();
        let expected = |step: &str, error: &Error| {
            let start = format!("journal {path:?} cannot be written (");
            assert!(error.message().starts_with(&start) && error.message().contains("(os error"), "{step}: {error}");
            assert!(error.message().contains("No message is sent without its line in the journal."), "{step}: {error}");
        };
        // Of a descriptor that is only for reading, ftruncate fails.
        journal.file = LockedFile(File::open(&path).unwrap());
        expected("truncated", &journal.replay(|_, _, _| Ok(())).unwrap_err());
        // Of a pipe, fsync fails.
        journal.file = LockedFile(File::from(OwnedFd::from(std::io::pipe().unwrap().1)));
        lock(&journal.end).at = 1;
        expected("synced", &journal.sync_all().unwrap_err());
        expected("and nothing is written any more", &journal.append_all([]).unwrap_err());
        expected("and it is not closed as if it were written", &journal.close().unwrap_err());
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_line_behind_one_without_its_newline_is_read_again_as_it_was_written() {
        let path = std::env::temp_dir().join(format!("agentjob-read-again-{}", std::process::id()));
        let journal = Journal::open(&path).unwrap();
        for separator in ["", "\n", "\0"] {
            lock(&journal.end).separator = separator;
            let span = journal.append(LineWriter::new("line").text("text", "x")).unwrap();
            assert_eq!(span.end(), fs::metadata(&path).unwrap().len());
            let line = journal.line_at(span).unwrap();
            assert!(line.starts_with(r#"{"line":"line","text":"x""#) && line.ends_with("\"}"), "{separator:?}: {line}");
        }
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_journal_is_written_where_no_room_can_be_reserved() {
        let path = std::env::temp_dir().join(format!("agentjob-unreserved-{}", std::process::id()));
        let mut journal = Journal::open(&path).unwrap();
        journal.file = LockedFile(OpenOptions::new().write(true).open("/dev/null").unwrap());
        journal.append_sending(LineWriter::new("line")).unwrap();
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_closed_journal_keeps_no_room_and_one_that_another_program_changed_keeps_its_bytes() {
        let path = std::env::temp_dir().join(format!("agentjob-closed-{}", std::process::id()));
        for others in ["", "x"] {
            let journal = Journal::open(&path).unwrap();
            journal.append_sending(LineWriter::new("line")).unwrap();
            (&journal.file.0).write_all(others.as_bytes()).unwrap();
            let length = fs::metadata(&path).unwrap().len();
            journal.close().unwrap();
            let closed = fs::metadata(&path).unwrap();
            assert_eq!(closed.len(), length, "{others:?}");
            assert!(closed.blocks() * 512 < 65_536 || !others.is_empty(), "{} blocks are kept", closed.blocks());
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn each_message_in_flight_has_room_for_its_outcome() {
        let path = std::env::temp_dir().join(format!("agentjob-reserved-{}", std::process::id()));
        let journal = Journal::open(&path).unwrap();
        let line = |bytes| LineWriter::new("line").text("text", &"x".repeat(bytes));
        let is_reserved = |in_flight: u64| {
            let end = lock(&journal.end);
            assert_eq!(end.in_flight, in_flight);
            // Exactly, where it is more than is reserved at once; a file system that can't reserve has no limit.
            let needed = end.at + in_flight * disk_space::OUTCOME;
            let is_exact = end.reserved == needed || end.reserved == u64::MAX || in_flight <= 1024;
            assert!(end.reserved >= needed && is_exact, "{} of {needed}, with {in_flight} in flight", end.reserved);
        };
        for n in 1..=1100 {
            journal.append_sending(line(10)).unwrap();
            is_reserved(n);
        }
        journal.append_all([line(5000)]).unwrap();
        is_reserved(1100);
        for n in (0..1100).rev() {
            journal.append_outcome(line(5000), || line(10)).unwrap();
            is_reserved(n);
        }
        journal.append_outcome(line(5000), || line(10)).unwrap();
        is_reserved(0);
        journal.close().unwrap();
        fs::remove_file(path).unwrap();
    }
}
