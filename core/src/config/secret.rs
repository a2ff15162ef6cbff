//! The API key: checked, wiped from memory, never shown.

use std::fmt;

use zeroize::Zeroizing;

use crate::call::control::Control;
use crate::config::setting_file::{MAX_WAIT, SettingFile};
use crate::error::Error;
use crate::text::quoted;

/// Longer than any real key, and short enough for a request head.
const MAX_KEY_BYTES: usize = 4096;

/// Where the key came from. Nothing else about it is ever shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// An argument of the program.
    Argument,
    /// Read from a file that the program named.
    File,
    /// From the variable `AGENTJOB_API_KEY`.
    Variable,
    /// Read from the file that `AGENTJOB_API_KEY_FILE` names.
    VariableFile,
    /// Returned by a function of the program.
    Function,
}

/// What a request line with the key has before the key, and after it.
const BEARER: &[u8] = b"Authorization: Bearer ";
const LINE_END: &[u8] = b"\r\n";

/// A key that was checked, as the header line in which it is sent; wiped when it is dropped.
pub(crate) struct Secret {
    line: Zeroizing<Vec<u8>>,
}

impl Secret {
    /// What a client has before its function has returned a key. It is never sent.
    pub(crate) fn none() -> Secret {
        Secret { line: Zeroizing::new([BEARER, LINE_END].concat()) }
    }

    /// Checks a key. `name` is the argument, variable or file that it came from, for the error.
    ///
    /// # Errors
    /// It is empty, too long, or not visible ASCII.
    pub(crate) fn new(name: &str, key: &str) -> Result<Secret, Error> {
        let wrong =
            |what: &str| Error::invalid(format!("{name} {what}")).with_hint("Give the key as the service shows it.");
        if key.is_empty() {
            return Err(wrong("is empty"));
        }
        if key.len() > MAX_KEY_BYTES {
            return Err(wrong("is longer than 4096 bytes"));
        }
        // Visible ASCII only: a CR or LF would end the header line and begin another.
        if !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(wrong("contains a space, a control character or a non-ASCII character"));
        }
        // Allocated once: a vector that grows leaves copies behind that are not wiped.
        Ok(Secret { line: Zeroizing::new([BEARER, key.as_bytes(), LINE_END].concat()) })
    }

    /// Reads a key from a file, without the line end that editors add. Other users may not have access to the file, unless it
    /// `may_be_shared`.
    pub(crate) fn from_file(
        file: SettingFile<'_>,
        may_be_shared: bool,
        control: Option<&dyn Control>,
    ) -> Result<Secret, Error> {
        let (name, path) = (file.name, file.path);
        if !may_be_shared {
            file.refuse_shared()?;
        }
        let text = file.read(2 * MAX_KEY_BYTES, MAX_WAIT, control)?;
        let text = std::str::from_utf8(&text).map_err(|_| {
            Error::invalid(format!("{name} {} is not text", quoted(path))).with_hint("It must contain only the key.")
        })?;
        Secret::new(&format!("the key in {name} {}", quoted(path)), text.trim_end_matches(['\r', '\n']))
    }

    /// The key itself.
    pub(crate) fn key(&self) -> &[u8] {
        &self.line[BEARER.len()..self.line.len() - LINE_END.len()]
    }

    /// The header line in which it is sent, with its CRLF.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_that_could_split_a_header_is_refused() {
        for byte in 0..=255u8 {
            let good = byte.is_ascii_graphic();
            for key in [vec![byte, b'a'], vec![b'a', byte, b'b'], vec![b'a', byte]] {
                // A key is text in every language, so only valid UTF-8 can get here.
                let Ok(key) = String::from_utf8(key) else { continue };
                assert_eq!(Secret::new("api_key", &key).is_ok(), good, "byte {byte:#x}");
            }
        }
    }

    #[test]
    fn the_error_does_not_repeat_a_refused_key() {
        let error = Secret::new("api_key", "mark\ner").unwrap_err();
        assert!(error.message().starts_with("api_key contains a space"), "{error}");
        assert!(!format!("{error} {error:?}").contains("mark"));
        assert!(Secret::new("api_key", "").unwrap_err().message().starts_with("api_key is empty"));
        assert!(Secret::new("api_key", &"k".repeat(4097)).is_err());
        assert!(Secret::new("api_key", &"k".repeat(4096)).is_ok());
    }

    #[test]
    fn nothing_shows_the_key() {
        assert_eq!(format!("{:?}", Secret::new("api_key", "adm_marker").unwrap()), "Secret(not shown)");
    }
}
