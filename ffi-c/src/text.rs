//! Texts: UTF-8 in from C, NUL-terminated and borrowed out to C.

use std::ffi::{CStr, c_char};
use std::ptr;

use agentjob_core::Error;

use crate::handle::{null, read, write_if_wanted};
use crate::panic::guard_or;

/// A length that says "it ends with a NUL". cbindgen cannot write it; `tests/header.rs` does.
pub const AGENTJOB_NUL_TERMINATED: usize = usize::MAX;

/// The getter's result where there is no text.
pub(crate) const NO_TEXT: *const c_char = ptr::null();

/// The name of a number that is not in its list. It is not NULL, so a program can print it without a check.
pub(crate) const NO_NAME: &CStr = c"?";

/// A text that C borrows from the object that holds it. It may contain a NUL: C sees it end there, unless it asks for the length.
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

/// The text for C, NULL where there is none.
pub(crate) fn borrow(text: Option<&Text>) -> *const c_char {
    text.map_or(NO_TEXT, Text::as_ptr)
}

/// A getter of a text and its length: NULL and 0 where there is none, for a NULL handle, and after a panic.
///
/// # Safety
/// As for [`read`]; `len` is NULL, or memory for one length.
pub(crate) unsafe fn read_sized<'a, T: 'a>(
    handle: *const T,
    len: *mut usize,
    get: impl FnOnce(&'a T) -> Option<&'a Text>,
) -> *const c_char {
    // SAFETY: the caller promises the same.
    unsafe {
        let text = read(handle, None, get);
        write_if_wanted(len, text.map_or(0, Text::len));
        borrow(text)
    }
}

/// The body of a function that names a number: the name that `find` has for it, or [`NO_NAME`].
pub(crate) fn name(find: impl FnOnce() -> Option<&'static CStr>) -> *const c_char {
    guard_or(NO_NAME, || find().unwrap_or(NO_NAME)).as_ptr()
}

/// A NUL-terminated text that must not be NULL.
///
/// # Safety
/// `text` is NULL, or a NUL-terminated text that lives and does not change as long as the result is used.
pub(crate) unsafe fn text<'a>(name: &str, text: *const c_char) -> Result<&'a str, Error> {
    if text.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL, and NUL-terminated as the caller promises.
    utf8(name, unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// A text of `len` bytes, or a NUL-terminated one if `len` is [`AGENTJOB_NUL_TERMINATED`]. `(NULL, 0)` is the empty text.
///
/// # Safety
/// `bytes` is NULL, or a text of that length that lives and does not change as long as the result is used.
pub(crate) unsafe fn sized_text<'a>(name: &str, bytes: *const c_char, len: usize) -> Result<&'a str, Error> {
    if len == AGENTJOB_NUL_TERMINATED {
        // SAFETY: the caller promises it for this length.
        return unsafe { text(name, bytes) };
    }
    if len == 0 {
        // C programs often pass (NULL, 0) for "no bytes", and a Rust slice must not start at NULL.
        return Ok("");
    }
    if bytes.is_null() {
        return Err(null(name));
    }
    if isize::try_from(len).is_err() {
        return Err(Error::invalid_argument(format!("{name} has a length of {len} bytes, more than memory can hold")));
    }
    // SAFETY: not NULL, not longer than a slice may be, and `len` bytes long as the caller promises.
    utf8(name, unsafe { std::slice::from_raw_parts(bytes.cast(), len) })
}

fn utf8<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|error| Error::invalid_argument(format!("{name} is not valid UTF-8 at byte {}", error.valid_up_to())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(bytes: &[u8], len: usize) -> Result<String, String> {
        // SAFETY: each case below is NUL-terminated or has the length that it gives.
        unsafe { sized_text("prompt", bytes.as_ptr().cast(), len) }
            .map(str::to_owned)
            .map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_length_or_a_nul_ends_a_text() {
        assert_eq!(parsed(b"one two\0", AGENTJOB_NUL_TERMINATED), Ok("one two".into()));
        assert_eq!(parsed(b"one two", 3), Ok("one".into()));
        assert_eq!(parsed(b"a\0b", 3), Ok("a\0b".into()));
        assert_eq!(parsed(b"", 0), Ok(String::new()));
    }

    #[test]
    fn null_bad_utf8_and_an_impossible_length_have_different_errors() {
        assert_eq!(parsed(b"ok\xff\0", AGENTJOB_NUL_TERMINATED), Err("prompt is not valid UTF-8 at byte 2".into()));
        assert!(parsed(b"x", usize::MAX - 1).unwrap_err().contains("more than memory can hold"));
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
        // SAFETY: `len` is memory for a length, and the text lives.
        let text_in_c = unsafe { CStr::from_ptr(read_sized(&raw const text, &raw mut len, Some)) };
        assert_eq!((text_in_c, len), (c"a", 3));
        // SAFETY: as before.
        assert!(unsafe { read_sized(&raw const text, &raw mut len, |_| None) }.is_null());
        assert_eq!(len, 0);
    }
}
