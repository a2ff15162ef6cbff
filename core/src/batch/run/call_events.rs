//! The events of a batch's calls, and of its pauses: the client's handler and log get them on the batch's threads, and the batch's
//! owner, if it asked for them, as events of the batch.

use std::sync::{Arc, Weak};

use crate::batch::run::engine::Engine;
use crate::call::control::{Control, Interrupted};
use crate::call::event::{Event, EventLevel};
use crate::call::options::CallOptions;

/// Observes one call for the owner.
struct Observer {
    engine: Weak<Engine>,
    level: EventLevel,
}

impl Control for Observer {
    fn event(&self, event: &Event<'_>) -> Result<(), Interrupted> {
        if event.level() >= self.level
            && let Some(engine) = self.engine.upgrade()
        {
            engine.lock().events.call(event.clone().into_owned());
            engine.notify_owner();
        }
        Ok(())
    }

    fn wants_checks(&self) -> bool {
        false
    }

    fn wants_responses(&self) -> bool {
        self.level == EventLevel::Debug
    }
}

impl Engine {
    /// The options of a call about the item at this place, from 0.
    pub(crate) fn call_options(self: &Arc<Engine>, at: u32) -> CallOptions {
        CallOptions { item: Some(u64::from(at) + 1), ..self.observed() }
    }

    /// Reports something that is no call's. Not under the state's lock: it may run code of the program.
    pub(crate) fn report(self: &Arc<Engine>, event: &Event<'_>) {
        // The observer never ends a call.
        let _ = self.shared.notify(&self.observed(), event);
    }

    fn observed(self: &Arc<Engine>) -> CallOptions {
        let call = self.options.call().cancel(&self.abort).ignoring_close();
        match self.options.call_events {
            Some(level) => call.control(Arc::new(Observer { engine: Arc::downgrade(self), level })),
            None => call,
        }
    }
}
