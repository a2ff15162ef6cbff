//! Files on Unix: who may read them, which of them a path leads to, locks, and what is on the disk.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::{Errno, retry_on_intr};

use crate::os::descriptor::above_standard;

/// A file that is made with these options can be read by this user alone.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// The file system's number and the file's own: no other file has both while this one is open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity(u64, u64);

impl FileIdentity {
    pub(crate) fn of(file: &File) -> io::Result<FileIdentity> {
        file.metadata().map(|metadata| FileIdentity::of_metadata(&metadata))
    }

    fn of_metadata(metadata: &Metadata) -> FileIdentity {
        FileIdentity(metadata.dev(), metadata.ino())
    }

    /// Whether the path leads to this file.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|metadata| FileIdentity::of_metadata(&metadata) == *self)
    }
}

/// Whether both paths are of the same file. If the second is a link, that is a file of its own.
pub(crate) fn is_same(path: &Path, other: &Path) -> bool {
    let [path, other] = [fs::metadata(path), fs::symlink_metadata(other)];
    let [path, other] = [path, other].map(|metadata| metadata.ok().as_ref().map(FileIdentity::of_metadata));
    path.is_some() && path == other
}

/// What shows that a file changed, without reading it. The change time also shows a write that kept size and modification time, and
/// a `chmod` that makes the file acceptable again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    pub(crate) fn of(file: &Metadata) -> FileStamp {
        FileStamp {
            device: file.dev(),
            inode: file.ino(),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}

/// Opens a file to read it, without waiting for the writer of a pipe.
pub(crate) fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| open(path, flags, Mode::empty()))?.into())
}

/// Waits until there is something to read in a file that was opened so, or its end, or until the time has passed.
pub(crate) fn is_readable(file: &File, at_most: Duration) -> io::Result<bool> {
    let at_most = Timespec::try_from(at_most).expect("it is short");
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&at_most)) {
        Err(Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// The mode of a file or pipe of this user that others may read or write, as chmod has it; `None` if they may not, or it is another user's.
pub(crate) fn shared_mode(file: &File) -> io::Result<Option<String>> {
    let stat = fstat(file)?;
    let is_guarded = matches!(FileType::from_raw_mode(stat.st_mode), FileType::RegularFile | FileType::Fifo);
    let (mode, is_own) = (stat.st_mode & 0o777, stat.st_uid == rustix::process::geteuid().as_raw());
    Ok((is_guarded && is_own && mode & 0o077 != 0).then(|| format!("{mode:04o}")))
}

/// Whether a program that only opens a file may keep it locked.
pub(crate) const ANY_PROGRAM_LOCKS: bool = false;

/// Why a file could not be opened and locked.
pub(crate) enum LockError {
    /// Another program has it locked.
    InUse,
    Open(io::Error),
    Lock(io::Error),
}

/// A file that this process has locked, to append to it.
#[derive(Debug)]
pub(crate) struct LockedFile(pub(crate) File);

impl LockedFile {
    /// A file that is made is private.
    pub(crate) fn open(path: &Path, create: bool) -> Result<LockedFile, LockError> {
        let mut options = OpenOptions::new();
        let options = private(options.read(true).append(true).create(create));
        let file = above_standard(|| options.open(path)).map_err(LockError::Open)?;
        // The caller refuses what is no regular file, such as a pipe.
        if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(LockedFile(file));
        }
        match file.try_lock() {
            Ok(()) => Ok(LockedFile(file)),
            Err(TryLockError::WouldBlock) => Err(LockError::InUse),
            Err(TryLockError::Error(error)) => Err(LockError::Lock(error)),
        }
    }

    /// To read it, also when it was unlocked.
    pub(crate) fn reader(&self) -> &File {
        &self.0
    }

    /// Writes to its end.
    pub(crate) fn append(&self, bytes: &[u8], _end: u64) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    pub(crate) fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    pub(crate) fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    pub(crate) fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    /// Closing it unlocks it, too.
    pub(crate) fn unlock(&self) {
        drop(self.0.unlock());
    }
}

/// Whether another program has locked this file, which was opened at the path to read it.
pub(crate) fn is_locked(file: &File, _: &Path) -> bool {
    match file.try_lock_shared() {
        Ok(()) => {
            drop(file.unlock());
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => false,
    }
}

pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}

/// Syncs the folder of a file: a new file's name is on the disk only then.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
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
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::Unsupported)
        || error.raw_os_error() == Some(Errno::NOTSUP.raw_os_error())
}

/// Reserves room on the disk for more bytes of a file; its length doesn't change.
///
/// # Errors
/// `Unsupported`, and what `fallocate` says.
#[cfg(target_os = "linux")]
pub(crate) fn allocate(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    let keep = rustix::fs::FallocateFlags::KEEP_SIZE;
    Ok(retry_on_intr(|| rustix::fs::fallocate(file, keep, from, bytes))?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn allocate(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// How long a file of this process may be (RLIMIT_FSIZE), which reserving room doesn't check.
///
/// # Errors
/// Not as long as it has to be.
pub(crate) fn length_limit(needed: u64) -> io::Result<u64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current.unwrap_or(u64::MAX);
    if needed > limit { Err(Errno::FBIG.into()) } else { Ok(limit) }
}

/// Renames a file unless there is one with the new name by now.
pub(crate) fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Not every file system knows this flag, and not every one has hard links.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            renamed => return Ok(renamed?),
        }
    }
    fs::hard_link(from, to)?;
    fs::remove_file(from)
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
