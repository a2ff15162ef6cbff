//! How the owner of a batch waits for its next event, without waking for anything else.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use crate::batch::run::engine::Engine;
use crate::batch::run::state::State;
use crate::call::control::{CancelToken, SLICE};
use crate::os::bell::Bell;
use crate::os::socket::wait_for;

impl Engine {
    /// Waits until the owner is notified, the batch's token or this one is cancelled, the batch's end is [due](Engine::due_in), or this time
    /// has passed. It may return earlier.
    pub(crate) fn wait_for_event(&self, state: MutexGuard<'_, State>, at_most: Duration, cancel: Option<&CancelToken>) {
        let at_most = self.until_due(&state, at_most);
        // That of a batch that is stopping has done what it can, and stays readable.
        let own = self.options.cancel.as_ref().filter(|_| state.stopping.is_none());
        let tokens: Vec<&CancelToken> = own.into_iter().chain(cancel).collect();
        // A signal handler may cancel a token, so that notifies no Condvar. A short wait ends soon without being woken.
        let must_be_woken = !tokens.is_empty() && at_most > SLICE;
        let descriptors: Option<Vec<_>> = tokens.iter().map(|token| token.flag().descriptor()).collect();
        // Made under the lock, like the hush of the caller: an event that comes later rings it.
        let wakers = descriptors.filter(|_| must_be_woken).and_then(|descriptors| Some((self.bell()?, descriptors)));
        let Some((bell, descriptors)) = wakers else {
            let slice = if must_be_woken { SLICE } else { at_most };
            drop(self.for_owner.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner).0);
            return;
        };
        drop(state);
        if tokens.iter().any(|token| token.is_cancelled()) {
            return;
        }
        let wanted = descriptors.into_iter().chain([bell.descriptor()]);
        let mut wanted: Vec<_> = wanted.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN)).collect();
        // After a signal, or without memory, the caller checks, and waits again.
        let _ = wait_for(&mut wanted, at_most);
    }

    /// What rings for the owner, from its first use on; `None`: no descriptor is free. Only for the owner: it hushes the bell, so another
    /// thread that waited for it, too, could sleep through an event.
    fn bell(&self) -> Option<&Bell> {
        if self.bell.get().is_none() {
            let _ = self.bell.set(Bell::new().ok()?);
        }
        self.bell.get()
    }
}
