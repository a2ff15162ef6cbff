//! Texts over the border: UTF-8 in, NUL-terminated and borrowed out.

use std::ffi::{CStr, c_char};
use std::ptr;

use agentjob_core::Error;

use crate::pointer::null;

/// A length that says "it ends with a NUL". cbindgen does not write it: `tests/header.rs` does.
pub const AGENTJOB_NUL_TERMINATED: usize = usize::MAX;

/// A text that C may borrow from its owner. A NUL inside is kept; C then sees the text end there, unless it asks for the length.
#[derive(Debug, Clone)]
pub(crate) struct Text(Box<[u8]>);

impl Text {
    pub(crate) fn new(text: impl Into<Vec<u8>>) -> Text {
        let mut bytes = text.into();
        bytes.reserve_exact(1);
        bytes.push(0);
        Text(bytes.into_boxed_slice())
    }

    pub(crate) fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }

    /// The length without the NUL at the end.
    fn len(&self) -> usize {
        self.0.len() - 1
    }
}

/// The text for C, or NULL where there is none.
pub(crate) fn borrow(text: Option<&Text>) -> *const c_char {
    text.map_or(ptr::null(), Text::as_ptr)
}

/// The text for C and its length, 0 where there is none.
///
/// # Safety
/// `len` is NULL, or a place for one length.
pub(crate) unsafe fn borrow_sized(text: Option<&Text>, len: *mut usize) -> *const c_char {
    if !len.is_null() {
        // SAFETY: the caller's promise; it is written only, so it may be uninitialised.
        unsafe { len.write(text.map_or(0, Text::len)) };
    }
    borrow(text)
}

/// A NUL-terminated text that must be there.
///
/// # Safety
/// NULL, or a NUL-terminated text that lives and stays the same as long as the result is used.
pub(crate) unsafe fn text<'a>(name: &str, text: *const c_char) -> Result<&'a str, Error> {
    if text.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL, and NUL-terminated by the caller's promise.
    utf8(name, unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// A text of `len` bytes, or NUL-terminated if `len` is [`AGENTJOB_NUL_TERMINATED`]. `(NULL, 0)` is the empty text.
///
/// # Safety
/// NULL, or a text of that length that lives and stays the same as long as the result is used.
pub(crate) unsafe fn sized_text<'a>(name: &str, bytes: *const c_char, len: usize) -> Result<&'a str, Error> {
    if len == AGENTJOB_NUL_TERMINATED {
        // SAFETY: the caller's promise for this length.
        return unsafe { text(name, bytes) };
    }
    if len == 0 {
        // A C program spells "no bytes" as (NULL, 0) as often as not, and a Rust slice must not begin at NULL.
        return Ok("");
    }
    if bytes.is_null() {
        return Err(null(name));
    }
    if isize::try_from(len).is_err() {
        return Err(Error::invalid_argument(format!(
            "{name} is said to be {len} bytes long, more than memory can hold"
        )));
    }
    // SAFETY: not NULL, no longer than a slice may be, and `len` bytes long by the caller's promise.
    utf8(name, unsafe { std::slice::from_raw_parts(bytes.cast(), len) })
}

fn utf8<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|error| Error::invalid_argument(format!("{name} is not UTF-8 from byte {} on", error.valid_up_to())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], len: usize) -> Result<String, String> {
        // SAFETY: every case below is NUL-terminated or as long as it says.
        unsafe { sized_text("prompt", bytes.as_ptr().cast(), len) }
            .map(str::to_owned)
            .map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_length_or_a_nul_ends_a_text() {
        assert_eq!(read(b"one two\0", AGENTJOB_NUL_TERMINATED), Ok("one two".into()));
        assert_eq!(read(b"one two", 3), Ok("one".into()));
        assert_eq!(read(b"a\0b", 3), Ok("a\0b".into()));
        assert_eq!(read(b"", 0), Ok(String::new()));
    }

    #[test]
    fn null_bad_utf8_and_an_impossible_length_are_told_apart() {
        assert_eq!(read(b"ok\xff\0", AGENTJOB_NUL_TERMINATED), Err("prompt is not UTF-8 from byte 2 on".into()));
        assert!(read(b"x", usize::MAX - 1).unwrap_err().contains("more than memory can hold"));
        for (len, wanted) in [(0, Ok("")), (1, Err("prompt is NULL")), (AGENTJOB_NUL_TERMINATED, Err("prompt is NULL"))]
        {
            // SAFETY: NULL is allowed.
            let got = unsafe { sized_text("prompt", ptr::null(), len) };
            assert_eq!(got.as_deref().map_err(|error| error.message()), wanted.as_deref().map_err(|text| *text));
        }
    }

    #[test]
    fn a_text_for_c_ends_with_a_nul_and_keeps_one_inside() {
        let text = Text::new("a\0b");
        let mut len = 7;
        // SAFETY: `len` is a place for a length, and the text lives.
        let seen = unsafe { CStr::from_ptr(borrow_sized(Some(&text), &raw mut len)) };
        assert_eq!((seen, len), (c"a", 3));
        // SAFETY: as before.
        assert!(unsafe { borrow_sized(None, &raw mut len) }.is_null());
        assert_eq!(len, 0);
    }
}
