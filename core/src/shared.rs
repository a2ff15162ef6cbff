//! What a client shares with its clones and its calls: settings, connections, recent deliveries.

use std::io::Write;
use std::sync::Arc;

use crate::call::event::{Event, EventLevel};
use crate::call::options::CallOptions;
use crate::call::recent_deliveries::RecentDeliveries;
use crate::call::secrets::CallSecrets;
use crate::config::settings::{Config, LogLevel};
use crate::http::cause::Cause;
use crate::http::connections::Connections;
use crate::os::thread::end_if_forked;
use crate::redact::Redactor;

/// Cloning is cheap. It is below clients and calls, so both can use it.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) recent_deliveries: Arc<RecentDeliveries>,
}

impl Shared {
    pub(crate) fn new(config: Config) -> Shared {
        Shared {
            connections: Arc::new(Connections::new(&config)),
            recent_deliveries: Arc::default(),
            config: Arc::new(config),
        }
    }

    /// The same connections and deliveries with other settings.
    pub(crate) fn with_config(&self, config: Config) -> Shared {
        Shared { config: Arc::new(config), ..self.clone() }
    }

    /// What texts about a call must not have.
    pub(crate) fn secrets<'a>(&'a self, call: &'a CallOptions) -> CallSecrets<'a> {
        CallSecrets::new(&self.config, self.config.keys.current(std::process::id()), call)
    }

    /// Passes an event to the client's event handler, the log, and the call's control, which may end the call.
    pub(crate) fn notify(&self, call: &CallOptions, event: &Event<'_>) -> Result<(), Cause> {
        if let Some(handler) = &self.config.on_event {
            handler(event);
            end_if_forked();
        }
        if self.logs(event.level()) {
            // The job's id comes from the caller and may contain anything.
            let line = format!("agentjob: {event}\n");
            // The call continues even if standard error cannot be written.
            let secrets = self.secrets(call);
            drop(std::io::stderr().write_all(Redactor::new(&secrets).redact(&line).as_bytes()));
        }
        match &call.control {
            Some(control) => control.event(event).map_err(|_| Cause::Cancelled),
            None => Ok(()),
        }
    }

    /// Whether `AGENTJOB_LOG` prints events of this level.
    fn logs(&self, level: EventLevel) -> bool {
        match level {
            EventLevel::Debug => self.config.log >= LogLevel::Debug,
            EventLevel::Info | EventLevel::Warning => self.config.log >= LogLevel::Info,
        }
    }

    /// Whether anything receives [`Event::Response`].
    pub(crate) fn wants_responses(&self, call: &CallOptions) -> bool {
        self.config.on_event.is_some()
            || self.logs(EventLevel::Debug)
            || call.control.as_ref().is_some_and(|control| control.wants_responses())
    }
}
