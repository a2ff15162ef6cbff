//! The journal's file: locked, only ever appended to, and on the disk when it has to be.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{ErrorKind as IoKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

use crate::batch::journal::clock::Stamp;
use crate::batch::journal::damaged_tail::Tail;
use crate::batch::journal::digest::{Checksum, checksum};
use crate::batch::journal::disk_space;
use crate::batch::journal::encode::{Writer, ascii, begun_text};
use crate::batch::journal::format::{Begun, Line, NO_LINE, Said};
use crate::batch::journal::replay::{Span, absolute, line_at, read_lines};
use crate::error::{Error, ErrorKind};
use crate::os::descriptor::above_standard;
use crate::text::describe;

/// Somebody who only looks whether a run is on holds the lock for a moment.
const LOCK_TRIES: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

const BRING_IT_BACK: &str = "Restore it before you run the batch again.";

/// A journal that this process alone may write.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    place: Place,
    end: Mutex<End>,
    /// Up to where the file is on the disk. Locked before `end`.
    synced: Mutex<u64>,
}

#[derive(Debug)]
struct End {
    at: u64,
    /// Whether the last line has its end.
    is_line_end: bool,
    /// The last line's checksum.
    sum: Checksum,
    /// Up to where the disk has room for it.
    reserved: u64,
    /// How many outcomes are to come, which must all have room.
    in_flight: u64,
    /// Why nothing may be written any more.
    broken: Option<Error>,
}

impl Journal {
    /// Opens a journal or begins one, and locks it.
    ///
    /// # Errors
    /// `Journal`: it cannot be opened, or another run has it.
    pub(crate) fn open(path: &Path) -> Result<Journal, Error> {
        let path = absolute(path)?;
        let failed = |what: &str, error: std::io::Error| {
            problem(&path, &format!("{what} ({error})")).with_hint("Give a file in a folder that you can write to.")
        };
        let mut options = OpenOptions::new();
        // It names jobs and pull requests, which is nobody else's business.
        let file = above_standard(|| options.read(true).append(true).create(true).mode(0o600).open(&path));
        let file = file.map_err(|error| failed("cannot be opened", error))?;
        let about = file.metadata().map_err(|error| failed("cannot be inspected", error))?;
        if !about.is_file() {
            return Err(problem(&path, "is not a file").with_hint("Give the path of a file."));
        }
        lock(&file, &path)?;
        let place = Place::of(&about);
        if !place.is_at(&path) {
            return Err(problem(&path, "was replaced while it was opened").with_hint("Try again."));
        }
        sync_folder(&path).map_err(|error| failed("is in a folder that cannot be synced", error))?;
        let end = End { at: 0, is_line_end: true, sum: NO_LINE, reserved: 0, in_flight: 0, broken: None };
        Ok(Journal { path, file, place, end: Mutex::new(end), synced: Mutex::new(0) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads every line, and returns the damaged end, if there is one: [`recover`](Journal::recover) it before anything is written.
    ///
    /// # Errors
    /// `Journal` for any other damage, with the line's number; what `each` answers.
    pub(crate) fn replay(
        &self,
        each: impl FnMut(u64, Span, Line<'_>) -> Result<(), Error>,
    ) -> Result<Option<Tail>, Error> {
        let read = read_lines(&self.path, &self.file, each)?;
        let cannot = |error| problem(&self.path, &format!("cannot be read ({error})"));
        // It gives back what a run that was killed had reserved.
        self.file.set_len(read.at).map_err(cannot)?;
        // What an earlier run wrote and did not sync is synced before anything is built on it.
        self.file.sync_all().map_err(cannot)?;
        *guard(&self.synced) = read.at;
        let mut end = guard(&self.end);
        (end.at, end.is_line_end, end.sum) = (read.at, read.is_line_end, read.sum);
        Ok(read.tail)
    }

    /// Continues behind a damaged end, which stays where it is: a line says how long it is, and which messages may have been about
    /// to leave. In one write, so that no moment knows less than the one before it.
    ///
    /// # Errors
    /// As [`append`](Journal::append).
    pub(crate) fn recover(&self, tail: &Tail, items: &[Begun], now: Stamp) -> Result<(), Error> {
        let line = Writer::new("recovered")
            .number("bytes", tail.bytes.len() as u64)
            .text("of", ascii(&checksum(&tail.bytes)))
            .json("items", &begun_text(items.iter()));
        let span = self.append(line.stamp(now))?;
        self.sync(span.end())
    }

    /// Writes a line at the end. It is on the disk once [`sync`](Journal::sync) has seen its end.
    ///
    /// # Errors
    /// `Journal`: the disk is full or fails, or another program changed the file. Then nothing of the line is in the file.
    pub(crate) fn append(&self, line: Writer) -> Result<Span, Error> {
        let mut end = guard(&self.end);
        let kept = end.in_flight * disk_space::OUTCOME;
        self.write(&mut end, line, kept)
    }

    /// Writes the line of a message that is about to leave. Its outcome, and those of all that are in flight, have room then,
    /// whatever else fills the disk meanwhile.
    ///
    /// # Errors
    /// As [`append`](Journal::append).
    pub(crate) fn append_sending(&self, line: Writer) -> Result<Span, Error> {
        if !self.place.is_at(&self.path) {
            // What is written into a file that nobody will find is not written.
            return Err(problem(&self.path, "was removed or replaced while the batch ran").with_hint(BRING_IT_BACK));
        }
        let mut end = guard(&self.end);
        let kept = (end.in_flight + 1) * disk_space::OUTCOME;
        let span = self.write(&mut end, line, kept)?;
        end.in_flight += 1;
        Ok(span)
    }

    /// Writes an outcome: the line, or the short one if that alone has room.
    ///
    /// # Errors
    /// As [`append`](Journal::append).
    pub(crate) fn append_outcome(&self, line: Writer, short: impl FnOnce() -> Writer) -> Result<Span, Error> {
        let mut end = guard(&self.end);
        end.in_flight = end.in_flight.saturating_sub(1);
        let kept = end.in_flight * disk_space::OUTCOME;
        match self.write(&mut end, line, kept) {
            Err(_) if end.broken.is_none() => self.write(&mut end, short(), 0),
            written => written,
        }
    }

    /// Writes a line behind which there is room for so many bytes, or nothing.
    fn write(&self, end: &mut End, line: Writer, kept: u64) -> Result<Span, Error> {
        if let Some(error) = &end.broken {
            return Err(error.clone());
        }
        let length = self.file.metadata().map_err(|error| self.cannot_write(&error.to_string()))?.len();
        if length != end.at {
            let error = problem(&self.path, "was changed by another program while the batch ran");
            let error = error.with_hint(BRING_IT_BACK);
            end.broken = Some(error.clone());
            return Err(error);
        }
        let (line, sum) = line.finish(&end.sum);
        // A last line that lost its end gets one.
        let (line, skipped) = if end.is_line_end { (line, 0) } else { (format!("\n{line}"), 1) };
        let needed = end.at + line.len() as u64 + kept;
        if end.reserved < needed {
            end.reserved = match disk_space::reserve(&self.file, end.at, needed) {
                Ok(reserved) => reserved,
                Err(error) if matches!(error, Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => {
                    return Err(self.cannot_write(&std::io::Error::from(error).to_string()));
                }
                // A file system that knows no such thing.
                Err(_) => u64::MAX,
            };
        }
        if let Err(error) = (&self.file).write_all(line.as_bytes()) {
            let error = self.cannot_write(&error.to_string());
            // The next line must not follow a stump.
            match self.file.set_len(end.at) {
                // Which gave back what was reserved.
                Ok(()) => end.reserved = end.at,
                Err(_) => end.broken = Some(error.clone()),
            }
            return Err(error);
        }
        let start = end.at + skipped;
        end.at += line.len() as u64;
        (end.sum, end.is_line_end) = (sum, true);
        Ok(Span { start, bytes: u32::try_from(end.at - start).unwrap_or(u32::MAX) })
    }

    /// Sees to it that the file is on the disk up to `end`. Lines that several threads wrote share one sync.
    ///
    /// # Errors
    /// `Journal`. Nothing is written any more, for nobody knows then what the disk holds.
    pub(crate) fn sync(&self, end: u64) -> Result<(), Error> {
        let mut synced = guard(&self.synced);
        if *synced >= end {
            return Ok(());
        }
        let written = {
            let end = guard(&self.end);
            if let Some(error) = &end.broken {
                return Err(error.clone());
            }
            end.at
        };
        if let Err(error) = self.file.sync_data() {
            let error = self.cannot_write(&error.to_string());
            guard(&self.end).broken = Some(error.clone());
            return Err(error);
        }
        *synced = written;
        Ok(())
    }

    /// Syncs whatever was written.
    pub(crate) fn sync_all(&self) -> Result<(), Error> {
        let end = guard(&self.end).at;
        self.sync(end)
    }

    /// Syncs whatever was written, and lets another run have the journal.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let synced = self.sync_all();
        let end = guard(&self.end);
        let is_ours = self.file.metadata().is_ok_and(|about| about.len() == end.at);
        if end.broken.is_none() && is_ours && end.reserved > end.at {
            // What was reserved and not used is the disk's again; if not, the next run gives it back.
            drop(self.file.set_len(end.at));
        }
        // It is unlocked with the file at the latest.
        drop(self.file.unlock());
        synced
    }

    /// One line again, without its end.
    pub(crate) fn line_at(&self, span: Span) -> Result<String, Error> {
        line_at(&self.file, span).map_err(|error| problem(&self.path, &format!("cannot be read ({error})")))
    }

    fn cannot_write(&self, why: &str) -> Error {
        problem(&self.path, &format!("cannot be written ({why})"))
            .with_hint("Fix that, then run the batch again: it continues where it stopped.")
    }
}

fn lock(file: &File, path: &Path) -> Result<(), Error> {
    for tried in 1.. {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if tried < LOCK_TRIES => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => break,
            Err(TryLockError::Error(error)) => {
                let error = problem(path, &format!("cannot be locked ({error})"));
                return Err(error.with_hint("Give a file on a disk of this machine."));
            }
        }
    }
    let mut process = None;
    let read = read_lines(path, file, |_, _, line| {
        if let Said::Run(run) = line.said {
            process = Some(run.pid);
        }
        Ok(())
    });
    let by = match process.filter(|_| read.is_ok()) {
        Some(pid) => format!("another run, process {pid} or a child of it"),
        None => "another run".to_owned(),
    };
    Err(problem(path, &format!("is in use by {by}")).with_hint("Wait until that has ended, or give another path."))
}

/// Which file it is, of all that there are: the file system's number and the file's own, which nobody else has while it is open.
#[derive(Debug, PartialEq, Eq)]
struct Place(u64, u64);

impl Place {
    fn of(about: &Metadata) -> Place {
        Place(about.dev(), about.ino())
    }

    /// Whether the path still leads to this file.
    fn is_at(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|about| Place::of(&about) == *self)
    }
}

/// A new file's name is on the disk once its folder is.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = match path.canonicalize()?.parent() {
        Some(folder) => folder.to_owned(),
        None => return Ok(()),
    };
    match above_standard(|| File::open(folder)).and_then(|folder| folder.sync_all()) {
        // A folder that may be written and not read, and file systems that know no such sync.
        Err(error) if matches!(error.kind(), IoKind::PermissionDenied | IoKind::InvalidInput) => Ok(()),
        ended => ended,
    }
}

/// An error about the journal as a whole.
pub(crate) fn problem(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Journal, format!("journal {:?} {what}", describe(&path.to_string_lossy())))
}

/// An error about one line of it.
pub(crate) fn damage(path: &Path, number: u64, what: &str) -> Error {
    problem(path, &format!("is damaged: line {number}: {what}"))
        .with_hint("Restore the file, or check its jobs and begin a new journal.")
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
