//! A key file that is read again: when it changed, and after the service refused its key.

use std::path::{Path, PathBuf};

use crate::call::control::Control;
use crate::config::secret::Secret;
use crate::config::setting_file::SettingFile;
use crate::error::Error;
use crate::os::file::FileStamp;
use crate::text::quoted;

/// A regular file that has the key.
pub(crate) struct KeyFile {
    /// The argument or variable that names it, for errors.
    name: String,
    /// Absolute: the program may change its working directory.
    path: PathBuf,
    may_be_shared: bool,
}

impl KeyFile {
    /// Reads a key from a file. `None` in place of the file if it is a pipe or a device, which cannot be read twice.
    pub(crate) fn open(
        name: &str,
        path: &Path,
        may_be_shared: bool,
        control: Option<&dyn Control>,
    ) -> Result<(Secret, Option<(KeyFile, FileStamp)>), Error> {
        let file = SettingFile::open(name, path)?;
        // Before it is read: a key that is written meanwhile is found at the next call.
        let stamp = file.metadata()?;
        let secret = Secret::from_file(file, may_be_shared, control)?;
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let again =
            stamp.is_file().then(|| (KeyFile { name: name.to_owned(), path, may_be_shared }, FileStamp::of(&stamp)));
        Ok((secret, again))
    }

    /// The key, if the file is another than that of `last`; one system call if it is the same.
    pub(crate) fn read_if_changed(&self, last: FileStamp) -> Result<Option<(Secret, FileStamp)>, Error> {
        match std::fs::metadata(&self.path) {
            Ok(file) if FileStamp::of(&file) == last => Ok(None),
            _ => self.read().map(Some),
        }
    }

    /// Reads the key again. It waits for nothing: the file must not have become a pipe.
    pub(crate) fn read(&self) -> Result<(Secret, FileStamp), Error> {
        let file = SettingFile::open(&self.name, &self.path)?;
        let stamp = file.metadata()?;
        if !stamp.is_file() {
            return Err(Error::invalid(format!("{} {} is no longer a regular file", self.name, quoted(&self.path))));
        }
        Ok((Secret::from_file(file, self.may_be_shared, None)?, FileStamp::of(&stamp)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::file::private;
    use std::fs;

    #[test]
    fn a_change_of_the_file_is_seen_without_reading_it() {
        let path = std::env::temp_dir().join(format!("agentjob-key-file-{}", std::process::id()));
        // The old file stays until the new one is there: otherwise that may get its inode, in the same tick of the clock.
        let put = |key: &str| {
            use std::io::Write;
            let next = path.with_extension("next");
            drop(fs::remove_file(&next));
            let mut file = private(fs::OpenOptions::new().write(true).create_new(true)).open(&next).unwrap();
            file.write_all(key.as_bytes()).unwrap();
            fs::rename(next, &path).unwrap();
        };
        put("key_1\n");
        let (first, again) = KeyFile::open("api_key_file", &path, false, None).unwrap();
        let (file, stamp) = again.unwrap();
        assert_eq!(first.key(), b"key_1");
        assert!(file.read_if_changed(stamp).unwrap().is_none());
        put("key_2\n");
        let (next, stamp) = file.read_if_changed(stamp).unwrap().unwrap();
        assert_eq!(next.key(), b"key_2");
        assert!(file.read_if_changed(stamp).unwrap().is_none());
        fs::write(&path, "").unwrap();
        assert!(file.read_if_changed(stamp).unwrap_err().message().contains("is empty"));
        fs::remove_file(&path).unwrap();
        assert!(file.read_if_changed(stamp).unwrap_err().message().contains("cannot be read"));
        fs::create_dir(&path).unwrap();
        // Windows opens no folder.
        let why = if cfg!(windows) { "cannot be read" } else { "is no longer a regular file" };
        assert!(file.read().unwrap_err().message().contains(why));
        fs::remove_dir(&path).unwrap();
    }
}
