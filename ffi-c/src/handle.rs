//! The three ways to touch a pointer from C: `read` it in a getter, `required` in a function that can fail, and `place` for
//! a result. In addition to them `give` and `free`, a handle's birth and death.

use std::mem::MaybeUninit;

use agentjob_core::Error;

use crate::panic::guard_or;
use crate::thread_cancel;

/// A getter: what `get` returns for the object behind `handle`, or `absent` for NULL and after a panic.
///
/// # Safety
/// `handle` is NULL, or an object that lives as long as the result is used and that nothing changes meanwhile.
pub(crate) unsafe fn read<'a, T: 'a, R: Copy>(handle: *const T, absent: R, get: impl FnOnce(&'a T) -> R) -> R {
    guard_or(absent, || {
        // SAFETY: the caller promises the same.
        unsafe { handle.as_ref() }.map_or(absent, get)
    })
}

/// An object that must not be NULL.
///
/// # Safety
/// `handle` is NULL, or an object that lives as long as the result is used and that nothing changes meanwhile.
pub(crate) unsafe fn required<'a, T>(name: &str, handle: *const T) -> Result<&'a T, Error> {
    // SAFETY: the caller promises the same.
    unsafe { handle.as_ref() }.ok_or_else(|| null(name))
}

/// An object that must not be NULL, to change it.
///
/// # Safety
/// `handle` is NULL, or an object that lives as long as the result is used and that nothing else uses meanwhile.
pub(crate) unsafe fn required_mut<'a, T>(name: &str, handle: *mut T) -> Result<&'a mut T, Error> {
    // SAFETY: the caller promises the same.
    unsafe { handle.as_mut() }.ok_or_else(|| null(name))
}

/// Memory for a result. It may be an uninitialized variable, so it is written and never read.
///
/// # Safety
/// `out` is NULL, or memory for one `T` that nothing else uses meanwhile.
pub(crate) unsafe fn place<'a, T>(name: &str, out: *mut T) -> Result<&'a mut MaybeUninit<T>, Error> {
    // SAFETY: the caller promises the same, and a MaybeUninit may hold anything.
    unsafe { out.cast::<MaybeUninit<T>>().as_mut() }.ok_or_else(|| null(name))
}

/// Writes a result that the caller may not want.
///
/// # Safety
/// `out` is NULL, or memory for one `T` that nothing else uses meanwhile.
pub(crate) unsafe fn write_if_wanted<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: the caller promises it. Writing without reading allows an uninitialized variable.
        unsafe { out.write(value) };
    }
}

/// Hands a new object to the caller, who frees it.
pub(crate) fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes an object back and drops it. NULL does nothing.
///
/// # Safety
/// `handle` is NULL, or an object from [`give`] that is not used again.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    let _held = thread_cancel::hold();
    guard_or((), || {
        if !handle.is_null() {
            // SAFETY: `give` made it from a Box, and the caller gives it up.
            drop(unsafe { Box::from_raw(handle) });
        }
    });
}

pub(crate) fn null(name: &str) -> Error {
    Error::invalid_argument(format!("{name} is NULL"))
}
