//! What may end a call from outside: its client is closed, its token is cancelled, or its control says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::call::control::{CancelToken, Control, SLICE};
use crate::call::options::CallOptions;
use crate::http::cause::Cause;

/// What may end one call from outside.
#[derive(Clone)]
pub(crate) struct Interrupts {
    /// Set when the client is closed; `None` for a call that ignores it.
    closed: Option<Arc<AtomicBool>>,
    cancel: Option<CancelToken>,
    control: Option<Arc<dyn Control>>,
}

impl Interrupts {
    /// `closed` is the client's flag.
    pub(crate) fn new(closed: &Arc<AtomicBool>, call: &CallOptions) -> Interrupts {
        Interrupts {
            closed: (!call.ignores_close).then(|| closed.clone()),
            cancel: call.cancel.clone(),
            control: call.control.clone(),
        }
    }

    /// Checks the flags and asks the control, which may run the program's own code.
    ///
    /// # Errors
    /// `Closed` or `Cancelled`.
    pub(crate) fn check(&self) -> Result<(), Cause> {
        self.check_flags()?;
        match &self.control {
            Some(control) => control.check().map_err(|_| Cause::Cancelled),
            None => Ok(()),
        }
    }

    /// Checks everything but the control: two atomic loads.
    pub(crate) fn check_flags(&self) -> Result<(), Cause> {
        check_flags(self.closed.as_deref(), self.cancel.as_ref())
    }

    /// Sleeps, and checks at least once per [`SLICE`].
    pub(crate) fn pause(&self, length: Duration) -> Result<(), Cause> {
        let began = Instant::now();
        loop {
            self.check()?;
            let left = length.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(SLICE));
        }
    }
}

/// Whether the client was closed or the token cancelled, for a caller that has no [`Interrupts`] yet.
pub(crate) fn check_flags(closed: Option<&AtomicBool>, cancel: Option<&CancelToken>) -> Result<(), Cause> {
    if closed.is_some_and(|closed| closed.load(Ordering::Acquire)) {
        return Err(Cause::Closed);
    }
    if cancel.is_some_and(CancelToken::is_cancelled) {
        return Err(Cause::Cancelled);
    }
    Ok(())
}
