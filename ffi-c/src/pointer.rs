//! Pointers over the border: NULL is told by the parameter's name, places for results are checked before anything is done.

use std::mem::MaybeUninit;

use agentjob_core::Error;

/// A handle that must be there.
///
/// # Safety
/// NULL, or a handle that lives as long as the result is used and that nobody changes meanwhile.
pub(crate) unsafe fn required<'a, T>(name: &str, handle: *const T) -> Result<&'a T, Error> {
    // SAFETY: the caller's promise is the same.
    unsafe { handle.as_ref() }.ok_or_else(|| null(name))
}

/// A handle that must be there, to change it.
///
/// # Safety
/// NULL, or a handle that lives as long as the result is used and that nobody else uses meanwhile.
pub(crate) unsafe fn required_mut<'a, T>(name: &str, handle: *mut T) -> Result<&'a mut T, Error> {
    // SAFETY: the caller's promise is the same.
    unsafe { handle.as_mut() }.ok_or_else(|| null(name))
}

/// Where a result goes. It may be an uninitialised variable, so it is only ever written.
///
/// # Safety
/// NULL, or a place for one `T` that nobody else uses meanwhile.
pub(crate) unsafe fn place<'a, T>(name: &str, out: *mut T) -> Result<&'a mut MaybeUninit<T>, Error> {
    // SAFETY: the caller's promise is the same, and a MaybeUninit may hold anything.
    unsafe { out.cast::<MaybeUninit<T>>().as_mut() }.ok_or_else(|| null(name))
}

/// Hands a new handle to the caller.
pub(crate) fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes a handle back and drops it; NULL is nothing to do.
///
/// # Safety
/// NULL, or a handle from [`give`] that is used no more.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: `give` made it from a Box, and the caller gives it up.
        drop(unsafe { Box::from_raw(handle) });
    }
}

pub(crate) fn null(name: &str) -> Error {
    Error::invalid_argument(format!("{name} is NULL"))
}
