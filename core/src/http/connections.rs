//! A client's connections: makes exchanges over them, keeps them between calls, closes them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::http::{self, Method, Request, Uri, header, uri};

use crate::call::options::CallOptions;
use crate::call::secrets::CallSecrets;
use crate::config::settings::Config;
use crate::error::internal::panic_text;
use crate::http::call_in_flight::CallInFlight;
use crate::http::cause::Cause;
use crate::http::connector::{NoResolver, ServiceConnector};
use crate::http::exchange::{Broken, Exchange, Reply};
use crate::http::interrupt::{self, Interrupts};
use crate::http::keep_alive::MAX_IDLE;
use crate::http::response_body::{self, MAX_ERROR_BODY_BYTES, MAX_ERROR_BODY_TIME};
use crate::http::response_headers::ResponseHeaders;
use crate::http::unreadable::{MAX_HEAD, refused_head, too_long_head};
use crate::os::flag::Flag;
use crate::os::process::PerProcess;
use crate::redact::Redactor;
use crate::text::describe;

/// How many connections are kept for the next calls.
const MAX_KEPT: usize = 32;

/// A client's connections, one pool per process that uses the client.
pub(crate) struct Connections {
    agents: PerProcess<RwLock<Arc<Agent>>>,
    /// The service's URL: requests take its scheme and authority.
    base: Uri,
    closed: Arc<Flag>,
}

impl Connections {
    pub(crate) fn new(config: &Config) -> Connections {
        let base = Uri::try_from(&config.endpoint.url).expect("a URL that was checked");
        Connections { agents: PerProcess::new(RwLock::new(new_agent(config))), base, closed: Arc::default() }
    }

    /// Makes one request, and never a second one.
    pub(crate) fn exchange(&self, config: &Config, exchange: Exchange<'_>) -> Result<Reply, Broken> {
        let interrupts = Interrupts::new(&self.closed, exchange.call);
        let call = Rc::new(CallInFlight::new(interrupts, &exchange, config));
        let agents = self.agents.get(exchange.pid, || RwLock::new(new_agent(config)));
        let agent = agents.read().unwrap_or_else(PoisonError::into_inner).clone();
        let entered = call.enter();
        let made = catch_unwind(AssertUnwindSafe(|| self.perform(&agent, config, exchange, &call)));
        drop(entered);
        made.unwrap_or_else(|panic| {
            // The panic may have left ureq's pool locked forever; the next call gets a new one.
            *agents.write().unwrap_or_else(PoisonError::into_inner) = new_agent(config);
            Err(Broken { cause: Cause::Bug(panic_text(&*panic)), sent: call.sent() })
        })
    }

    fn perform(
        &self,
        agent: &Agent,
        config: &Config,
        exchange: Exchange<'_>,
        call: &CallInFlight,
    ) -> Result<Reply, Broken> {
        let broken = |cause| Broken { cause: call.interrupted_by().unwrap_or(cause), sent: call.sent() };
        let uri = self.uri(exchange.path).map_err(|error| broken(Cause::Bug(error.to_string())))?;
        // The transport adds the other header lines; see config/request_head.rs.
        let responded = match exchange.body {
            Some(body) => agent.run(request(Method::POST, uri, body)),
            None => agent.run(request(Method::GET, uri, ())),
        };
        let response = responded.map_err(|error| broken(call.take_failure().unwrap_or_else(|| no_response(&error))))?;
        let (head, mut body) = response.into_parts();
        let (status, headers) = (head.status.as_u16(), ResponseHeaders::new(head.headers));
        call.note_keep_alive(headers.keep_alive());
        let success = (200..300).contains(&status);
        if !success {
            call.limit_phase(MAX_ERROR_BODY_TIME);
        }
        let limit = if success { config.max_response_bytes } else { MAX_ERROR_BODY_BYTES };
        let (body, mut cut) = response_body::read(&mut body, limit, call);
        // An empty field names none (RFC 9110 5.6.1).
        let is_encoded = |name: &str| !name.is_empty() && !name.eq_ignore_ascii_case("identity");
        if success && headers.all(header::CONTENT_ENCODING).any(is_encoded) {
            let secrets = CallSecrets::new(config, exchange.key.clone(), exchange.call);
            let encoding = headers.redacted("content-encoding", &Redactor::new(&secrets)).replace('\n', ", ");
            cut = Some(Cause::Garbled(format!(
                "it is encoded ({}), which agentjob did not ask for",
                describe(&encoding)
            )));
        }
        let at = call.response_read_at().unwrap_or_else(Instant::now);
        let cut = cut.map(|cut| call.interrupted_by().unwrap_or(cut));
        let ended_by = call.ended_by().filter(|_| cut.is_none());
        let (sent, timings) = (call.sent(), call.timings());
        Ok(Reply { status, headers, body, cut, ended_by, sent, at, timings })
    }

    /// The URI of a path at the service.
    fn uri(&self, path: String) -> Result<Uri, http::Error> {
        let mut parts = uri::Parts::default();
        parts.scheme = self.base.scheme().cloned();
        parts.authority = self.base.authority().cloned();
        parts.path_and_query = Some(path.try_into()?);
        Ok(Uri::from_parts(parts)?)
    }

    /// Checks the flags that may end a call, before it begins: closed, cancelled.
    pub(crate) fn check_flags(&self, call: &CallOptions) -> Result<(), Cause> {
        interrupt::check_flags((!call.ignores_close).then_some(&*self.closed), call.cancel.as_ref())
    }

    /// Sleeps; whatever may end the call ends the sleep within one [`SLICE`].
    pub(crate) fn pause(&self, length: Duration, call: &CallOptions) -> Result<(), Cause> {
        Interrupts::new(&self.closed, call).pause(length)
    }

    /// Ends every call, refuses new ones, and drops the kept connections.
    pub(crate) fn close(&self, config: &Config) {
        self.closed.set();
        let agents = self.agents.get(std::process::id(), || RwLock::new(new_agent(config)));
        // Connections return to the pool that they came from, and that one is gone.
        *agents.write().unwrap_or_else(PoisonError::into_inner) = new_agent(config);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_set()
    }
}

/// ureq with everything switched off that it would do on its own: redirects, proxies, errors for statuses, timeouts.
fn new_agent(config: &Config) -> Arc<Agent> {
    let ureq_config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .user_agent("")
        .accept("")
        .accept_encoding("")
        .max_response_header_size(MAX_HEAD)
        .max_idle_connections(MAX_KEPT)
        .max_idle_connections_per_host(MAX_KEPT)
        .max_idle_age(MAX_IDLE)
        .build();
    Arc::new(Agent::with_parts(ureq_config, ServiceConnector::new(config), NoResolver))
}

fn request<T>(method: Method, uri: Uri, body: T) -> Request<T> {
    let mut request = Request::new(body);
    (*request.method_mut(), *request.uri_mut()) = (method, uri);
    request
}

/// Why ureq read no response, where our transport saw no failure.
fn no_response(error: &ureq::Error) -> Cause {
    match error {
        ureq::Error::Io(_) => Cause::Lost("the service closed it before the end of the response's head".to_owned()),
        ureq::Error::LargeResponseHeader(..) => Cause::Garbled(too_long_head()),
        ureq::Error::Protocol(error) => Cause::Garbled(refused_head(error)),
        other => Cause::Bug(other.to_string()),
    }
}
