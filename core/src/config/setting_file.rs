//! A file that a setting names. It may be a pipe: it is read to its end, and one that no program writes ends in a timeout.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use crate::call::control::{Control, SLICE};
use crate::error::{Error, ErrorKind};
use crate::os::descriptor::above_standard;
use crate::os::file;
use crate::text::{escape, quoted, without_mark};

/// How long to wait for the end of a pipe: the program that writes it may ask a person for a passphrase.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(60);

/// A file that is being read for a setting.
pub(crate) struct SettingFile<'a> {
    pub(crate) name: &'a str,
    pub(crate) path: &'a Path,
    file: File,
}

impl<'a> SettingFile<'a> {
    /// Opens the file, without waiting for the writer of a pipe. `name` is the argument or variable that has the path, for errors.
    pub(crate) fn open(name: &'a str, path: &'a Path) -> Result<SettingFile<'a>, Error> {
        let opened = above_standard(|| file::open_at_once(path));
        let file = opened.map_err(|error| unreadable(name, path, &error))?;
        Ok(SettingFile { name, path, file })
    }

    /// What the system knows of the open file.
    pub(crate) fn metadata(&self) -> Result<Metadata, Error> {
        self.file.metadata().map_err(|error| unreadable(self.name, self.path, &error))
    }

    /// Refuses a file of this user that others may read or write: OpenSSH's rule for private keys. A file of another user is that
    /// user's responsibility. It checks the open descriptor, so the file cannot be replaced in between.
    pub(crate) fn refuse_shared(&self) -> Result<(), Error> {
        let shared = file::shared_mode(&self.file).map_err(|error| unreadable(self.name, self.path, &error))?;
        let Some(mode) = shared else { return Ok(()) };
        let error = Error::invalid(format!("{} {} is open to other users (mode {mode})", self.name, quoted(self.path)));
        Err(error.with_hint(format!(
            "Set allow_shared_key_file (AGENTJOB_ALLOW_SHARED_KEY_FILE=1) if they may have the key; otherwise run: chmod 600 {}",
            shell_word(self.path)
        )))
    }

    /// Reads the file up to `limit` bytes, because a device may have no end; without a byte order mark, which editors put before a
    /// text. `control` is checked at least every 50 ms.
    ///
    /// # Errors
    /// It cannot be read, is longer than `limit`, or does not end within `wait`; or the control cancelled.
    pub(crate) fn read(
        mut self,
        limit: usize,
        wait: Duration,
        control: Option<&dyn Control>,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let deadline = Instant::now() + wait;
        // Enough for any key file: a vector that grows leaves copies behind that are not wiped.
        let mut bytes = Zeroizing::new(Vec::with_capacity((limit + 1).min(64 << 10)));
        let mut piece = Zeroizing::new([0; 4096]);
        while bytes.len() <= limit {
            self.wait(deadline, control)?;
            match self.file.read(&mut *piece) {
                Ok(0) => {
                    let mark = bytes.len() - without_mark(&bytes).len();
                    bytes.drain(..mark);
                    return Ok(bytes);
                }
                Ok(n) => {
                    let room = limit + 1 - bytes.len();
                    bytes.extend_from_slice(&piece[..n.min(room)]);
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Err(unreadable(self.name, self.path, &error)),
            }
        }
        Err(Error::invalid(format!("{} {} is longer than {limit} bytes", self.name, quoted(self.path))))
    }

    /// Waits until there is something to read, or the end. A pipe without a writer has neither.
    fn wait(&self, deadline: Instant, control: Option<&dyn Control>) -> Result<(), Error> {
        let slice = if control.is_some_and(Control::wants_checks) { SLICE } else { MAX_WAIT };
        loop {
            let left = deadline.saturating_duration_since(Instant::now()).min(slice);
            if file::is_readable(&self.file, left).map_err(|error| unreadable(self.name, self.path, &error))? {
                return Ok(());
            }
            if control.is_some_and(|control| control.check().is_err()) {
                return Err(Error::new(
                    ErrorKind::Cancelled,
                    format!("the call was cancelled while reading {}", self.name),
                ));
            }
            if left.is_zero() {
                let error = Error::invalid(format!("{} {} did not end in time", self.name, quoted(self.path)));
                return Err(error.with_hint("Is it a pipe that no program writes to?"));
            }
        }
    }
}

fn unreadable(name: &str, path: &Path, error: &io::Error) -> Error {
    Error::invalid(format!("{name} {} cannot be read ({error})", quoted(path)))
}

/// A path as one word of a shell command.
fn shell_word(path: &Path) -> String {
    let path = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%".contains(c);
    match path.chars().all(plain) && !path.starts_with('-') {
        true => path.into_owned(),
        false => format!("'{}'", escape(&path).replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_one_word_of_a_shell_command() {
        for (path, word) in [("/run/key", "/run/key"), ("my key", "'my key'"), ("it's", r"'it'\''s'"), ("-f", "'-f'")] {
            assert_eq!(shell_word(Path::new(path)), word);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_that_no_program_writes_times_out() {
        let path = std::env::temp_dir().join(format!("agentjob-pipe-{}", std::process::id()));
        drop(std::fs::remove_file(&path));
        let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&path).status().unwrap();
        assert!(made.success());
        let file = SettingFile::open("api_key_file", &path).unwrap();
        let error = file.read(100, Duration::from_millis(120), None).unwrap_err();
        assert!(error.message().contains("did not end in time"), "{error}");
        std::fs::remove_file(&path).unwrap();
    }
}
