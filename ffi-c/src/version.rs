//! Which library a program really runs with, to hold against the header that it was compiled with.

use std::ffi::{CStr, c_char};

use crate::guard::guard_or;

/// The number in the shared library's name, libagentjob.so.0. It changes only when a program has to be compiled again.
/// @since 0.1.0
pub const AGENTJOB_ABI_VERSION: u32 = 0;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version holds no NUL"),
};

const VERSION_NUMBER: u32 = (number(env!("CARGO_PKG_VERSION_MAJOR")) << 16)
    | (number(env!("CARGO_PKG_VERSION_MINOR")) << 8)
    | number(env!("CARGO_PKG_VERSION_PATCH"));

/// Decimal digits, read when this is compiled.
const fn number(text: &str) -> u32 {
    let (digits, mut at, mut value) = (text.as_bytes(), 0, 0);
    while at < digits.len() {
        value = value * 10 + (digits[at] - b'0') as u32;
        at += 1;
    }
    assert!(value < 256, "a part of the version takes one byte");
    value
}

/// The version of the library that runs: "0.1.0".
/// @return a text that lives for ever
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_version() -> *const c_char {
    guard_or(VERSION.as_ptr(), || VERSION.as_ptr())
}

/// The version of the library that runs as one number, to compare with AGENTJOB_VERSION_NUMBER: 0xXXYYZZ.
/// @return the number
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_version_number() -> u32 {
    guard_or(0, || VERSION_NUMBER)
}

/// The number in the name of the shared library that runs, to compare with AGENTJOB_ABI_VERSION.
/// @return the number
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_abi_version() -> u32 {
    guard_or(0, || AGENTJOB_ABI_VERSION)
}
