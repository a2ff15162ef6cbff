//! The journal's file: locked, only ever appended to, and on the disk when it has to be.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, ErrorKind as IoKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

use super::line::{self, BEGINNING, Line, Said};
use crate::descriptor::above_standard;
use crate::error::{Error, ErrorKind};
use crate::operation::shown;

/// Somebody who only looks whether a run is on holds the lock for a moment.
const LOCK_TRIES: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// Room that a message's outcome has on the disk before the message leaves, whatever else fills the disk meanwhile: for the
/// outcomes of all that are under way, if their records are of the usual size. It is asked for by the piece.
const ROOM: u64 = 128 << 10;
const PIECE: u64 = 512 << 10;
/// The longest line: an answer of the service in it is as long as `max_response_bytes` lets it be.
const MAX_LINE: u64 = 64 << 20;

/// Where a line stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) bytes: u32,
}

impl Span {
    pub(super) fn end(self) -> u64 {
        self.start + u64::from(self.bytes)
    }
}

/// A journal that this process alone may write.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    tail: Mutex<Tail>,
    /// Up to where the file is on the disk. Locked before `tail`.
    synced: Mutex<u64>,
}

#[derive(Debug)]
struct Tail {
    end: u64,
    /// Up to where the disk has room for it.
    reserved: u64,
    /// Why nothing may be written any more.
    broken: Option<String>,
}

impl Journal {
    /// Opens a journal or begins one, and locks it.
    ///
    /// # Errors
    /// `Journal`: it cannot be opened, or another run has it.
    pub(super) fn open(path: &Path) -> Result<Journal, Error> {
        let failed = |what: &str, error: std::io::Error| {
            problem(path, &format!("{what} ({error}); give a file in a folder that you may write to"))
        };
        let mut options = OpenOptions::new();
        // It names jobs and pull requests, which is nobody else's business.
        let file = above_standard(|| options.read(true).append(true).create(true).mode(0o600).open(path));
        let file = file.map_err(|error| failed("cannot be opened", error))?;
        let about = file.metadata().map_err(|error| failed("cannot be looked at", error))?;
        if !about.is_file() {
            return Err(problem(path, "is no file; give a file's path"));
        }
        lock(&file, path)?;
        if !is_at(&file, path) {
            return Err(problem(path, "was replaced while it was opened; try again"));
        }
        sync_folder(path).map_err(|error| failed("is in a folder that cannot be synced", error))?;
        let tail = Mutex::new(Tail { end: 0, reserved: 0, broken: None });
        Ok(Journal { path: path.to_owned(), file, tail, synced: Mutex::new(0) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads every line, and drops a torn last one. Answers how many bytes that were.
    ///
    /// # Errors
    /// `Journal` for any other damage, with the line's number; what `each` answers.
    pub(super) fn replay(&self, each: impl FnMut(u64, Span, Line<'_>) -> Result<(), Error>) -> Result<u64, Error> {
        let whole = read_lines(&self.path, &self.file, each)?;
        let cannot = |error| problem(&self.path, &format!("cannot be read ({error})"));
        let length = self.file.metadata().map_err(cannot)?.len();
        // Also if nothing was torn: it gives back what a run that was killed had reserved.
        self.file.set_len(whole).map_err(cannot)?;
        // What an earlier run wrote and did not sync is synced before anything is built on it.
        self.file.sync_all().map_err(cannot)?;
        *guard(&self.synced) = whole;
        guard(&self.tail).end = whole;
        Ok(length - whole)
    }

    /// Writes a line at the end. It is on the disk once [`sync`](Journal::sync) has seen its end.
    ///
    /// # Errors
    /// `Journal`: the disk is full, or fails. Then nothing of the line is in the file.
    pub(super) fn append(&self, line: &str) -> Result<Span, Error> {
        let mut tail = guard(&self.tail);
        if let Some(why) = &tail.broken {
            return Err(self.cannot_write(why));
        }
        if let Err(error) = (&self.file).write_all(line.as_bytes()) {
            // The next line must not follow a stump.
            match self.file.set_len(tail.end) {
                // Which gave back what was reserved.
                Ok(()) => tail.reserved = tail.end,
                Err(_) => tail.broken = Some(error.to_string()),
            }
            return Err(self.cannot_write(&error.to_string()));
        }
        let span = Span { start: tail.end, bytes: u32::try_from(line.len()).unwrap_or(u32::MAX) };
        tail.end += line.len() as u64;
        Ok(span)
    }

    /// Writes a line that has another one to follow, for which there must be room.
    ///
    /// # Errors
    /// As [`append`](Journal::append).
    pub(super) fn append_with_room(&self, line: &str) -> Result<Span, Error> {
        if !is_at(&self.file, &self.path) {
            // What is written into a file that nobody will find is not written.
            return Err(problem(
                &self.path,
                "was removed or replaced while the batch ran; bring it back before you run the batch again",
            ));
        }
        let mut tail = guard(&self.tail);
        if tail.reserved < tail.end + ROOM {
            let reserve = |bytes| reserve(&self.file, tail.end, bytes).map(|()| tail.end + bytes);
            // A disk that is nearly full may have the room, if not the piece.
            tail.reserved = match reserve(PIECE).or_else(|_| reserve(ROOM)) {
                Ok(reserved) => reserved,
                Err(error) if matches!(error, Errno::NOSPC | Errno::DQUOT) => {
                    return Err(self.cannot_write(&std::io::Error::from(error).to_string()));
                }
                // A file system that knows no such thing.
                Err(_) => u64::MAX,
            };
        }
        drop(tail);
        self.append(line)
    }

    /// Sees to it that the file is on the disk up to `end`. Lines that several threads wrote share one sync.
    ///
    /// # Errors
    /// `Journal`. Nothing is written any more, for nobody knows then what the disk holds.
    pub(super) fn sync(&self, end: u64) -> Result<(), Error> {
        let mut synced = guard(&self.synced);
        if *synced >= end {
            return Ok(());
        }
        let written = {
            let tail = guard(&self.tail);
            if let Some(why) = &tail.broken {
                return Err(self.cannot_write(why));
            }
            tail.end
        };
        if let Err(error) = self.file.sync_data() {
            guard(&self.tail).broken = Some(error.to_string());
            return Err(self.cannot_write(&error.to_string()));
        }
        *synced = written;
        Ok(())
    }

    /// Syncs whatever was written.
    pub(super) fn sync_all(&self) -> Result<(), Error> {
        let end = guard(&self.tail).end;
        self.sync(end)
    }

    /// Syncs whatever was written, and lets another run have the journal.
    pub(super) fn close(&self) -> Result<(), Error> {
        let synced = self.sync_all();
        let tail = guard(&self.tail);
        if tail.broken.is_none() && tail.reserved > tail.end {
            // What was reserved and not used is the disk's again; if not, the next run gives it back.
            drop(self.file.set_len(tail.end));
        }
        // It is unlocked with the file at the latest.
        drop(self.file.unlock());
        synced
    }

    /// One line again, without its end.
    pub(super) fn line_at(&self, span: Span) -> Result<String, Error> {
        line_at(&self.file, span).map_err(|error| problem(&self.path, &format!("cannot be read ({error})")))
    }

    fn cannot_write(&self, why: &str) -> Error {
        problem(&self.path, &format!("cannot be written ({why}); mend that, then run the batch again: it goes on"))
    }
}

/// One line again, without its end.
pub(super) fn line_at(file: &File, span: Span) -> std::io::Result<String> {
    let mut bytes = vec![0; span.bytes as usize];
    file.read_exact_at(&mut bytes, span.start)?;
    bytes.pop();
    String::from_utf8(bytes).map_err(|_| IoKind::InvalidData.into())
}

/// Opens a journal to look at it, and tells whether a run is on.
pub(super) fn open_to_read(path: &Path) -> Result<(File, bool), Error> {
    let cannot = |error: std::io::Error| problem(path, &format!("cannot be opened ({error})"));
    // To open a pipe would wait for somebody who writes.
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(problem(path, "is no file; give a file's path"));
    }
    let file = above_standard(|| File::open(path)).map_err(cannot)?;
    let running = match file.try_lock_shared() {
        Ok(()) => {
            drop(file.unlock());
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => false,
    };
    Ok((file, running))
}

/// Reads every line but a torn last one, and answers where the whole ones end.
pub(super) fn read_lines(
    path: &Path,
    file: &File,
    mut each: impl FnMut(u64, Span, Line<'_>) -> Result<(), Error>,
) -> Result<u64, Error> {
    let cannot = |error: std::io::Error| problem(path, &format!("cannot be read ({error})"));
    let mut file = file;
    file.seek(SeekFrom::Start(0)).map_err(cannot)?;
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let (mut line, mut number, mut whole) = (Vec::new(), 0, 0);
    loop {
        line.clear();
        if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(cannot)? == 0 {
            return Ok(whole);
        }
        number += 1;
        // A line without an end is the last, also if a run that is on has written on meanwhile.
        let is_cut = line.last() != Some(&b'\n') && (line.len() as u64) < MAX_LINE;
        let last = is_cut || reader.fill_buf().map_err(cannot)?.is_empty();
        if last && is_torn(&line) {
            return match number == 1 && !begins(&line) {
                true => Err(problem(path, "is no journal of a batch; give a path of its own")),
                false => Ok(whole),
            };
        }
        let damaged = |what: &str| damage(path, number, what);
        let text = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
        let read = text.ok_or("it is no text").and_then(line::read);
        let read = match read {
            Err(_) if number == 1 && !begins(&line) => {
                return Err(problem(path, "is no journal of a batch; give a path of its own"));
            }
            Ok(Line { said: Said::Run(_), .. }) => read,
            Ok(_) if number == 1 => Err("it is not how a journal begins"),
            read => read,
        };
        let span = Span { start: whole, bytes: u32::try_from(line.len()).unwrap_or(u32::MAX) };
        each(number, span, read.map_err(damaged)?)?;
        whole += line.len() as u64;
    }
}

/// A last line that its write did not finish: it has no end, or it holds bytes that never reached the disk, which are zero.
fn is_torn(line: &[u8]) -> bool {
    line.last() != Some(&b'\n') || line.contains(&0)
}

/// Whether a first line, which may be torn, is how a journal begins: a file of somebody else's is not cut.
fn begins(line: &[u8]) -> bool {
    let (line, beginning) = (line.trim_ascii_end(), BEGINNING.as_bytes());
    let common = line.len().min(beginning.len());
    line[..common].iter().zip(beginning).all(|(found, expected)| found == expected || *found == 0)
}

fn lock(file: &File, path: &Path) -> Result<(), Error> {
    for tried in 1.. {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if tried < LOCK_TRIES => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => break,
            Err(TryLockError::Error(error)) => {
                let what = format!("cannot be locked ({error}); give a file on a disk of this machine");
                return Err(problem(path, &what));
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
    Err(problem(path, &format!("is in use by {by}; wait until that has ended, or give another path")))
}

/// Has the disk keep room for a file that stays as long as it is.
#[cfg(target_os = "linux")]
fn reserve(file: &File, end: u64, bytes: u64) -> Result<(), Errno> {
    rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, end, bytes))
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

/// Whether the path still leads to this file.
fn is_at(file: &File, path: &Path) -> bool {
    let place = |about: &std::fs::Metadata| (about.dev(), about.ino());
    matches!((file.metadata(), std::fs::metadata(path)), (Ok(file), Ok(path)) if place(&file) == place(&path))
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
pub(super) fn problem(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Journal, format!("journal {:?} {what}", shown(&path.to_string_lossy())))
}

/// An error about one line of it.
pub(super) fn damage(path: &Path, number: u64, what: &str) -> Error {
    let what =
        format!("is damaged: line {number}: {what}; restore the file, or look at its jobs and begin a new journal");
    problem(path, &what)
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
