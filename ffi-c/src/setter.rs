//! What every setter does: it changes one setting. A refused value changes nothing.

use agentjob_core::Error;

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::required_mut;
use crate::result::{Delivers, guard};

/// A handle with settings of this kind, which the core's setters take and return by value.
pub(crate) trait Has<S> {
    /// What an error calls the handle.
    const NAME: &str;

    /// The settings, as long as they may be changed.
    fn settings(&mut self) -> Result<&mut S, Error>;

    /// Checks the values; by default the core's setters have checked them.
    fn check(_settings: &S) -> Result<(), Error> {
        Ok(())
    }
}

/// Runs a setter, and catches panics.
///
/// # Safety
/// `handle` is NULL, or a living handle that nothing else uses meanwhile. `err` is NULL or points to memory for one pointer.
pub(crate) unsafe fn set<H: Has<S>, S: Clone>(
    handle: *mut H,
    err: *mut *mut agentjob_error,
    change: &dyn Fn(S) -> Result<S, Error>,
) -> agentjob_code {
    let body = || {
        // SAFETY: the caller promises the same.
        let settings = unsafe { required_mut(H::NAME, handle) }?.settings()?;
        // On a copy: a refused value leaves the settings as they were.
        let changed = change(settings.clone())?;
        H::check(&changed)?;
        let former = std::mem::replace(settings, changed);
        // Dropped only now that nothing borrows the handle: it may call the `destroy` of an event function.
        drop(former);
        Ok(())
    };
    // SAFETY: the caller promises the same.
    unsafe { guard(err, Delivers::Nothing, body) }
}
