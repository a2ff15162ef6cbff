//! Files on Windows: which of them a path leads to, locks, and what is on the disk. Who may read a file follows from its folder.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::windows::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use same_file::Handle;

/// FILE_SHARE_READ: others may open the file meanwhile, but not to write it.
const SHARE_READ: u32 = 1;
/// ERROR_SHARING_VIOLATION: another program has opened the file, and does not share it so.
const SHARING_VIOLATION: i32 = 32;

/// A file gets the access rights of its folder.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// No other file is equal to it while this one is open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity(Handle);

impl FileIdentity {
    pub(crate) fn of(file: &File) -> io::Result<FileIdentity> {
        Handle::from_file(file.try_clone()?).map(FileIdentity)
    }

    /// Whether the path leads to this file.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        Handle::from_path(path).is_ok_and(|there| there == self.0)
    }
}

/// Whether both paths are of the same file. If the second is a link, that is a file of its own.
pub(crate) fn is_same(path: &Path, other: &Path) -> bool {
    !other.is_symlink() && same_file::is_same_file(path, other).unwrap_or(false)
}

/// What shows that a file changed, without reading it. A write within the file system's clock tick that keeps the size is not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    size: u64,
    made: u64,
    modified: u64,
}

impl FileStamp {
    pub(crate) fn of(file: &Metadata) -> FileStamp {
        FileStamp { size: file.file_size(), made: file.creation_time(), modified: file.last_write_time() }
    }
}

/// Opens a file to read it.
pub(crate) fn open_at_once(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// A read does not wait, but for the writer of a pipe.
pub(crate) fn is_readable(_: &File, _: Duration) -> io::Result<bool> {
    Ok(true)
}

/// None: who may read a file is in its access list, which is not checked.
pub(crate) fn shared_mode(_: &File) -> io::Result<Option<String>> {
    Ok(None)
}

/// Whether a program that only opens a file may keep it locked.
pub(crate) const ANY_PROGRAM_LOCKS: bool = true;

/// Why a file could not be opened and locked.
pub(crate) enum LockError {
    /// Another program has it open to write it.
    InUse,
    Open(io::Error),
    #[expect(dead_code, reason = "on Windows the lock is how the file is opened")]
    Lock(io::Error),
}

/// A file that only this process can write, remove or rename until it is unlocked. A lock of Windows would keep others from reading it.
#[derive(Debug)]
pub(crate) struct LockedFile {
    reader: File,
    /// None: it was unlocked.
    writer: RwLock<Option<File>>,
}

impl LockedFile {
    pub(crate) fn open(path: &Path, create: bool) -> Result<LockedFile, LockError> {
        let mut options = OpenOptions::new();
        // Not to append: Windows would refuse to make it shorter.
        let opened = options.read(true).write(true).create(create).truncate(false).share_mode(SHARE_READ).open(path);
        let writer =
            opened.map_err(|error| if is_in_use(&error) { LockError::InUse } else { LockError::Open(error) })?;
        let reader = File::open(path).map_err(LockError::Open)?;
        Ok(LockedFile { reader, writer: RwLock::new(Some(writer)) })
    }

    /// To read it, also when it was unlocked.
    pub(crate) fn reader(&self) -> &File {
        &self.reader
    }

    /// Writes to its end.
    pub(crate) fn append(&self, mut bytes: &[u8], mut end: u64) -> io::Result<()> {
        self.write(|file| {
            while !bytes.is_empty() {
                let written = file.seek_write(bytes, end)?;
                bytes = &bytes[written..];
                end += written as u64;
            }
            Ok(())
        })
    }

    pub(crate) fn set_len(&self, length: u64) -> io::Result<()> {
        self.write(|file| file.set_len(length))
    }

    pub(crate) fn sync_all(&self) -> io::Result<()> {
        self.write(File::sync_all)
    }

    pub(crate) fn sync_data(&self) -> io::Result<()> {
        self.write(File::sync_data)
    }

    pub(crate) fn unlock(&self) {
        *self.writer.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn write(&self, work: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let writer = self.writer.read().unwrap_or_else(PoisonError::into_inner);
        work(writer.as_ref().ok_or(ErrorKind::PermissionDenied)?)
    }
}

/// Whether another program has this file open to write it.
pub(crate) fn is_locked(_: &File, path: &Path) -> bool {
    OpenOptions::new().read(true).share_mode(SHARE_READ).open(path).is_err_and(|error| is_in_use(&error))
}

fn is_in_use(error: &io::Error) -> bool {
    error.raw_os_error() == Some(SHARING_VIOLATION)
}

pub(crate) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, at) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                bytes = &mut bytes[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Nothing: Windows syncs no folder.
pub(crate) fn sync_folder_of(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Windows reserves no room without making the file longer.
pub(crate) fn allocate(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

pub(crate) fn length_limit(_: u64) -> io::Result<u64> {
    Ok(u64::MAX)
}

/// Renames a file unless there is one with the new name by now.
pub(crate) fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    drop(File::create_new(to)?);
    fs::rename(from, to).inspect_err(|_| drop(fs::remove_file(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_unlocked_is_read_and_not_written() {
        let path = std::env::temp_dir().join(format!("agentjob-unlocked-{}", std::process::id()));
        let file = LockedFile::open(&path, true).map_err(|_| "it is free").unwrap();
        file.append(b"one, two", 0).unwrap();
        file.append(b"three", 5).unwrap();
        assert!(matches!(LockedFile::open(&path, true), Err(LockError::InUse)) && is_locked(file.reader(), &path));
        file.unlock();
        assert!(file.append(b"four", 0).is_err() && file.set_len(0).is_err() && file.sync_all().is_err());
        let mut bytes = [0; 10];
        read_exact_at(file.reader(), &mut bytes, 0).unwrap();
        assert!(&bytes == b"one, three" && !is_locked(file.reader(), &path));
        drop(LockedFile::open(&path, false).map_err(|_| "it is free again").unwrap());
        let other = path.with_extension("other");
        assert_eq!(rename_if_free(&path, &path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        rename_if_free(&path, &other).unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"one, three");
        fs::remove_file(other).unwrap();
    }
}
