//! What may end a call from outside: its client is closed, its token is cancelled, or its control says so.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::call::control::{CancelToken, Control, SLICE};
use crate::call::options::CallOptions;
use crate::http::cause::{Cause, describe_io};
use crate::os::flag::Flag;
use crate::os::socket::wait_for;

/// A wait ends at least this often, so that one whose machine was suspended soon notices.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What may end one call from outside.
#[derive(Clone)]
pub(crate) struct Interrupts {
    /// Set when the client is closed; `None` for a call that ignores it.
    closed: Option<Arc<Flag>>,
    cancel: Option<CancelToken>,
    control: Option<Arc<dyn Control>>,
}

impl Interrupts {
    /// `closed` is the client's flag.
    pub(crate) fn new(closed: &Arc<Flag>, call: &CallOptions) -> Interrupts {
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

    /// Sleeps until the time has passed or something ends the call. A control that wants it is asked once per [`SLICE`].
    pub(crate) fn pause(&self, length: Duration) -> Result<(), Cause> {
        let began = Instant::now();
        loop {
            self.check()?;
            let left = length.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            self.wait(left, Vec::new())?;
        }
    }
}

impl Interrupts {
    /// Waits until one of these is ready, the time has passed, something may have ended the call, or a signal came. The caller checks.
    ///
    /// # Errors
    /// `Resources`: the system has no memory for the wait.
    pub(crate) fn wait<'a>(&'a self, at_most: Duration, mut fds: Vec<PollFd<'a>>) -> Result<(), Cause> {
        let flags = self.closed.as_deref().into_iter().chain(self.cancel.as_ref().map(CancelToken::flag));
        // A control has no descriptor, and neither has a flag everywhere.
        let checks = self.control.as_ref().is_some_and(|control| control.wants_checks());
        let mut at_most = at_most.min(if checks { SLICE } else { LONGEST_WAIT });
        for flag in flags {
            match flag.descriptor() {
                Some(event) => fds.push(PollFd::from_borrowed_fd(event, PollFlags::IN)),
                None => at_most = at_most.min(SLICE),
            }
            if flag.is_set() {
                return Ok(());
            }
        }
        let waited = wait_for(&mut fds, at_most);
        waited.map(drop).map_err(|error| Cause::Resources(describe_io(&error.into())))
    }
}

/// Whether the client was closed or the token cancelled, for a caller that has no [`Interrupts`] yet.
pub(crate) fn check_flags(closed: Option<&Flag>, cancel: Option<&CancelToken>) -> Result<(), Cause> {
    if closed.is_some_and(Flag::is_set) {
        return Err(Cause::Closed);
    }
    if cancel.is_some_and(CancelToken::is_cancelled) {
        return Err(Cause::Cancelled);
    }
    Ok(())
}
