//! Windows gives what is opened no number of a standard stream.

pub(crate) fn above_standard<T>(open: impl FnOnce() -> T) -> T {
    open()
}
