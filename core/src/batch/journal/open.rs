//! Opens a journal's file: locked to write it, or only to read it.

use std::fs::{self, File};
use std::io::{self, ErrorKind as IoKind};
use std::path::{self, Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::batch::journal::error::problem;
use crate::batch::journal::line::Content;
use crate::batch::journal::replay::read_lines;
use crate::batch::options::check_journal;
use crate::error::Error;
use crate::os::descriptor::above_standard;
use crate::os::file::{self, FileIdentity, LockError, LockedFile};

/// `batch_status` holds the lock for a moment to see whether a run is active, so it is tried again.
const LOCK_TRIES: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A journal's file, locked.
pub(crate) struct OpenJournal {
    pub(crate) path: PathBuf,
    pub(crate) file: LockedFile,
    pub(crate) identity: FileIdentity,
}

impl OpenJournal {
    /// Opens or creates the file, and locks it.
    ///
    /// # Errors
    /// `Journal`: it cannot be opened, or another run is using it.
    pub(crate) fn open(path: &Path) -> Result<OpenJournal, Error> {
        OpenJournal::open_with(path, true, "Wait until that run has ended, or give another path.")
    }

    /// Opens the file of a run that has ended, and locks it.
    ///
    /// # Errors
    /// `Journal`: there is none, it cannot be opened, or a run is using it.
    pub(crate) fn open_existing(path: &Path) -> Result<OpenJournal, Error> {
        OpenJournal::open_with(
            path,
            false,
            "Stop that run, or wait until it has ended, and decide then: the same command resumes it.",
        )
    }

    fn open_with(path: &Path, create: bool, if_in_use: &'static str) -> Result<OpenJournal, Error> {
        let path = absolute(path)?;
        let failed = |what: &str, error: io::Error| {
            problem(&path, &format!("{what} ({error})")).with_hint("Give a file in a folder that you can write to.")
        };
        // Opening a pipe would wait for its writer.
        if !create && fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(problem(&path, "is not a regular file").with_hint("Give the path of a file."));
        }
        let file = match open_locked(&path, create) {
            Ok(file) => file,
            Err(LockError::InUse) => return Err(in_use(&path, if_in_use)),
            Err(LockError::Open(error)) if !create && error.kind() == IoKind::NotFound => return Err(missing(&path)),
            Err(LockError::Open(error)) => return Err(failed("cannot be opened", error)),
            Err(LockError::Lock(error)) => {
                let error = problem(&path, &format!("cannot be locked ({error})"));
                return Err(error.with_hint("Give a file on a local disk."));
            }
        };
        let metadata = file.reader().metadata().map_err(|error| failed("cannot be examined", error))?;
        if !metadata.is_file() {
            return Err(problem(&path, "is not a regular file").with_hint("Give the path of a file."));
        }
        let identity = FileIdentity::of(file.reader()).map_err(|error| failed("cannot be examined", error))?;
        if !identity.is_at(&path) {
            return Err(problem(&path, "was replaced while it was opened").with_hint("Try again."));
        }
        if create {
            file::sync_folder_of(&path)
                .map_err(|error| failed("cannot be written, because its folder could not be synced", error))?;
        }
        Ok(OpenJournal { path, file, identity })
    }
}

/// Opens a journal to read it, and returns whether a run is active.
pub(crate) fn open_to_read(path: &Path) -> Result<(File, bool), Error> {
    let cannot = |error: io::Error| match error.kind() {
        IoKind::NotFound => missing(path),
        _ => problem(path, &format!("cannot be opened ({error})")),
    };
    // Opening a pipe would wait for its writer.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(problem(path, "is not a regular file").with_hint("Give the path of a file."));
    }
    let file = above_standard(|| File::open(path)).map_err(cannot)?;
    let is_running = file::is_locked(&file, path);
    Ok((file, is_running))
}

fn missing(path: &Path) -> Error {
    problem(path, "does not exist").with_hint("Give the journal of a batch that was run.")
}

/// The path as it stays valid when the program changes its working directory.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    check_journal(path)?;
    path::absolute(path).map_err(|error| problem(path, &format!("has no absolute path ({error})")))
}

/// The same as [`LockedFile::open`], with some tries.
fn open_locked(path: &Path, create: bool) -> Result<LockedFile, LockError> {
    for _ in 1..LOCK_TRIES {
        match LockedFile::open(path, create) {
            Err(LockError::InUse) => thread::sleep(LOCK_PAUSE),
            opened => return opened,
        }
    }
    LockedFile::open(path, create)
}

fn in_use(path: &Path, hint: &'static str) -> Error {
    let mut process = None;
    let read = above_standard(|| file::open_at_once(path)).ok().map(|file| {
        read_lines(path, &file, |_, _, line| {
            if let Content::Run(run) = line.content {
                process = Some(run.pid);
            }
            Ok(())
        })
    });
    let by = match process.filter(|_| read.is_some_and(|read| read.is_ok())) {
        Some(pid) => format!("another run, process {pid} or a child of it"),
        None => "another run".to_owned(),
    };
    let or = if file::ANY_PROGRAM_LOCKS { "another program, or " } else { "" };
    problem(path, &format!("is in use by {or}{by}")).with_hint(hint)
}
