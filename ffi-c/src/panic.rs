//! Panics stop here: one that unwound into C would end the process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agentjob_core::panic_text;

/// Runs the body of a function that cannot fail. After a panic it returns `fallback`.
pub(crate) fn guard_or<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch(body).unwrap_or(fallback)
}

/// Runs `body`; a panic is returned as its text.
///
/// A handle that a panic left half-changed is still a sound value: all of them are plain Rust.
pub(crate) fn catch<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| panic_text(&*panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_cannot_fail_returns_its_fallback_after_a_panic() {
        assert_eq!(guard_or(-1, || panic!("gone")), -1);
        assert_eq!(guard_or(-1, || 7), 7);
    }
}
