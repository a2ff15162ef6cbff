//! Opens a journal's file: locked to write it, or only to read it.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind as IoKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{self, Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use crate::batch::journal::error::problem;
use crate::batch::journal::line::Content;
use crate::batch::journal::replay::read_lines;
use crate::batch::options::check_journal;
use crate::error::Error;
use crate::os::descriptor::above_standard;

/// `batch_status` holds the lock for a moment to see whether a run is active, so try again.
const LOCK_TRIES: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A journal's file, locked.
pub(crate) struct LockedFile {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) identity: FileIdentity,
}

impl LockedFile {
    /// Opens or creates the file, and locks it.
    ///
    /// # Errors
    /// `Journal`: it cannot be opened, or another run is using it.
    pub(crate) fn open(path: &Path) -> Result<LockedFile, Error> {
        LockedFile::open_with(path, true, "Wait until that run has ended, or give another path.")
    }

    /// Opens the file of a run that has ended, and locks it.
    ///
    /// # Errors
    /// `Journal`: there is none, it cannot be opened, or a run is using it.
    pub(crate) fn open_existing(path: &Path) -> Result<LockedFile, Error> {
        LockedFile::open_with(
            path,
            false,
            "Stop that run, or wait until it has ended, and decide then: the same command resumes it.",
        )
    }

    fn open_with(path: &Path, create: bool, if_in_use: &'static str) -> Result<LockedFile, Error> {
        let path = absolute(path)?;
        let failed = |what: &str, error: io::Error| {
            problem(&path, &format!("{what} ({error})")).with_hint("Give a file in a folder that you can write to.")
        };
        let mut options = OpenOptions::new();
        // Opening a pipe would wait for its writer.
        if !create && fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(problem(&path, "is not a regular file").with_hint("Give the path of a file."));
        }
        // It names jobs and pull requests, so other users may not read it.
        let file = above_standard(|| options.read(true).append(true).create(create).mode(0o600).open(&path));
        if !create && matches!(&file, Err(error) if error.kind() == IoKind::NotFound) {
            return Err(missing(&path));
        }
        let file = file.map_err(|error| failed("cannot be opened", error))?;
        let metadata = file.metadata().map_err(|error| failed("cannot be examined", error))?;
        if !metadata.is_file() {
            return Err(problem(&path, "is not a regular file").with_hint("Give the path of a file."));
        }
        lock(&file, &path, if_in_use)?;
        let identity = FileIdentity::of(&metadata);
        if !identity.is_at(&path) {
            return Err(problem(&path, "was replaced while it was opened").with_hint("Try again."));
        }
        if create {
            sync_folder(&path)
                .map_err(|error| failed("cannot be written, because its folder could not be synced", error))?;
        }
        Ok(LockedFile { path, file, identity })
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
    let is_running = match file.try_lock_shared() {
        Ok(()) => {
            drop(file.unlock());
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => false,
    };
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

fn lock(file: &File, path: &Path, if_in_use: &'static str) -> Result<(), Error> {
    for tried in 1.. {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if tried < LOCK_TRIES => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => break,
            Err(TryLockError::Error(error)) => {
                let error = problem(path, &format!("cannot be locked ({error})"));
                return Err(error.with_hint("Give a file on a local disk."));
            }
        }
    }
    let mut process = None;
    let read = read_lines(path, file, |_, _, line| {
        if let Content::Run(run) = line.content {
            process = Some(run.pid);
        }
        Ok(())
    });
    let by = match process.filter(|_| read.is_ok()) {
        Some(pid) => format!("another run, process {pid} or a child of it"),
        None => "another run".to_owned(),
    };
    Err(problem(path, &format!("is in use by {by}")).with_hint(if_in_use))
}

/// The file system's number and the file's own: no other file has both while this one is open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity(u64, u64);

impl FileIdentity {
    fn of(metadata: &Metadata) -> FileIdentity {
        FileIdentity(metadata.dev(), metadata.ino())
    }

    /// Whether the path still leads to this file.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|metadata| FileIdentity::of(&metadata) == *self)
    }
}

/// Syncs the folder: a new file's name is on the disk only then.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.canonicalize()?.parent() {
        Some(folder) => folder.to_owned(),
        None => return Ok(()),
    };
    match above_standard(|| File::open(folder)).and_then(|folder| folder.sync_all()) {
        Err(error) if cannot_sync(&error) => Ok(()),
        synced => synced,
    }
}

/// The folder may be written and not read, or its file system has no such sync. On macOS NOTSUP is none of Rust's kinds.
fn cannot_sync(error: &io::Error) -> bool {
    matches!(error.kind(), IoKind::PermissionDenied | IoKind::InvalidInput | IoKind::Unsupported)
        || error.raw_os_error() == Some(Errno::NOTSUP.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_synced_refuses_no_journal() {
        for (error, cannot) in [
            (Errno::ACCESS, true),
            (Errno::INVAL, true),
            (Errno::NOSYS, true),
            (Errno::NOTSUP, true),
            (Errno::OPNOTSUPP, true),
            (Errno::IO, false),
            (Errno::NOSPC, false),
        ] {
            assert_eq!(cannot_sync(&error.into()), cannot, "{error}");
        }
    }
}
