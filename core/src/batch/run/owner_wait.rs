//! How the owner of a batch waits for its next event, without waking for anything else.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::batch::run::engine::{Engine, MAX_SLEEP};
use crate::batch::run::state::State;
use crate::call::control::{CancelToken, SLICE};
use crate::os::bell::Bell;

impl Engine {
    /// Waits until the owner is notified, the batch's token or this one is cancelled, the batch's end is [due](Engine::due_in), or this time
    /// has passed. It may return earlier.
    pub(crate) fn wait_for_event(&self, state: MutexGuard<'_, State>, at_most: Duration, cancel: Option<&CancelToken>) {
        let at_most = self.until_due(&state, at_most);
        // That of a batch that is stopping has done what it can, and stays readable.
        let own = self.options.cancel.as_ref().filter(|_| state.stopping.is_none());
        let tokens: Vec<&CancelToken> = own.into_iter().chain(cancel).collect();
        // A signal handler may cancel a token, so that notifies no Condvar.
        let slice = if tokens.is_empty() { at_most } else { at_most.min(SLICE) };
        // Made under the lock, like the hush of the caller: an event that comes later rings it.
        let bell = if slice < at_most { self.bell() } else { None };
        let descriptors: Option<Vec<_>> = tokens.iter().map(|token| token.flag().descriptor()).collect();
        let (Some(bell), Some(descriptors)) = (bell, descriptors) else {
            drop(self.for_owner.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner).0);
            return;
        };
        drop(state);
        if tokens.iter().any(|token| token.is_cancelled()) {
            return;
        }
        let wanted = descriptors.into_iter().chain([bell.descriptor()]);
        let mut wanted: Vec<_> = wanted.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN)).collect();
        let at_most = Timespec::try_from(at_most).expect("it is short");
        // A signal, or a lack of memory: the caller checks, and waits again.
        let _ = poll(&mut wanted, Some(&at_most));
    }

    /// The rest of a wait that sees a batch that is stopping end in time, and a machine that was suspended.
    pub(crate) fn until_due(&self, state: &State, at_most: Duration) -> Duration {
        at_most.min(self.due(state).unwrap_or(MAX_SLEEP)).min(MAX_SLEEP)
    }

    /// What rings for the owner, from its first use on; `None`: no descriptor is free.
    fn bell(&self) -> Option<&Bell> {
        if self.bell.get().is_none() {
            let _ = self.bell.set(Bell::new().ok()?);
        }
        self.bell.get()
    }
}
