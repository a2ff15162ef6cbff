//! The version of the library that a program runs with, to compare with the header that it was compiled with.

use std::ffi::{CStr, c_char};

use crate::panic::guard_or;

/// The number in the shared library's name, libagentjob.so.0. It changes only when programs must be compiled again.
/// @since 0.1.0
pub const AGENTJOB_ABI_VERSION: u32 = 0;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no NUL"),
};

const VERSION_NUMBER: u32 = (number(env!("CARGO_PKG_VERSION_MAJOR")) << 16)
    | (number(env!("CARGO_PKG_VERSION_MINOR")) << 8)
    | number(env!("CARGO_PKG_VERSION_PATCH"));

/// Parses decimal digits at compile time.
const fn number(text: &str) -> u32 {
    let (digits, mut at, mut value) = (text.as_bytes(), 0, 0);
    while at < digits.len() {
        value = value * 10 + (digits[at] - b'0') as u32;
        at += 1;
    }
    assert!(value < 256, "a part of the version fits in one byte");
    value
}

/// The version of the loaded library: "0.1.0".
/// @return a static text
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_version() -> *const c_char {
    guard_or(VERSION.as_ptr(), || VERSION.as_ptr())
}

/// The version of the loaded library as one number, 0xXXYYZZ. Compare it with AGENTJOB_VERSION_NUMBER.
/// @return the number
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_version_number() -> u32 {
    guard_or(0, || VERSION_NUMBER)
}

/// The number in the name of the loaded library. Compare it with AGENTJOB_ABI_VERSION.
/// @return the number
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_abi_version() -> u32 {
    guard_or(0, || AGENTJOB_ABI_VERSION)
}
