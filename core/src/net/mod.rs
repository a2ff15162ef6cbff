//! One HTTP exchange: a request in; a reply, or a failure with what the kernel took, out.
//!
//! The only room that touches a socket, and the only one that sees ureq's traits that are not covered by its version
//! promise (`ureq::unversioned`). ureq speaks HTTP and keeps connections; every byte goes through our own transport.

mod buffers;
mod call;
mod cause;
mod connection;
mod connector;
#[cfg(test)]
mod contract;
mod dial;
mod socket;
mod tls;
mod tunnel;

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::http::header::{AsHeaderName, CONTENT_ENCODING};
use ureq::http::{self, HeaderMap, Method, Request, Uri, uri};

use self::call::{Call, Gate, Hold};
pub(crate) use self::cause::Cause;
use crate::config::Config;
use crate::delivery::Sent;
use crate::operation::shown;
use crate::options::CallOptions;
use crate::process::PerProcess;
use crate::redact::Redactor;

/// The longest head of an answer.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// How much of an error's body is read; more of it is kept from nobody.
const MAX_ERROR_BODY_READ: usize = 64 << 10;
/// What is set aside for an answer of unknown length.
const USUAL_BODY_BYTES: u64 = 1 << 10;
/// What is set aside on a service's word that so much will come.
const MAX_FIRST_BODY_BYTES: u64 = 64 << 10;
/// How many connections are kept for the next calls.
const MAX_KEPT: usize = 32;
/// How long a connection is kept.
const MAX_IDLE: Duration = Duration::from_secs(30);
/// How long a connection may have idled that a message goes over: common servers close theirs after 5 s, and a
/// message that crosses their close on the wire would end as `unknown`.
const MAX_IDLE_FOR_POST: Duration = Duration::from_secs(4);

/// A client's connections, in each process that uses it.
pub(crate) struct Net {
    agents: PerProcess<RwLock<Arc<Agent>>>,
    /// The service's URL, of which requests take scheme and authority.
    base: Uri,
    gate: Arc<Gate>,
}

/// A request.
pub(crate) struct Exchange<'a> {
    pub(crate) path: String,
    /// JSON, for a POST; nothing, for a GET.
    pub(crate) body: Option<&'a [u8]>,
    /// Now, as good as.
    pub(crate) now: Instant,
    pub(crate) deadline: Instant,
    /// Use no kept connection.
    pub(crate) fresh: bool,
    /// The process that this is.
    pub(crate) pid: u32,
    pub(crate) call: &'a CallOptions,
}

/// An answer whose head was read.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    /// Why the body is not whole.
    pub(crate) cut: Option<Cause>,
    /// What the kernel had taken of the request: an answer may come early.
    pub(crate) sent: Sent,
    /// When it had come whole.
    pub(crate) at: Instant,
}

/// The answer's header fields; they are looked at when something went wrong.
#[derive(Debug, Default)]
pub(crate) struct Headers(HeaderMap);

impl Headers {
    /// A field's value, if it is text that could be shown; a header may hold any byte.
    pub(crate) fn text(&self, name: impl AsHeaderName) -> Option<&str> {
        self.0.get(name)?.to_str().ok()
    }

    /// A field's value as it may be shown. A secret may be split over several lines of one name, so all of them are looked
    /// through before the first is taken.
    pub(crate) fn redacted(&self, name: &str, redactor: &Redactor<'_>) -> Option<String> {
        let values: Vec<&str> = self.0.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        values.first()?;
        Some(redactor.redact(&values.join("\n")).lines().next().unwrap_or_default().to_owned())
    }

    /// The service's or a gateway's name for the request, by the field names in use.
    pub(crate) fn request_id(&self, redactor: &Redactor<'_>) -> Option<String> {
        const NAMES: [&str; 6] =
            ["x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-vercel-id", "cf-ray"];
        const MAX_BYTES: usize = 256;
        let id = NAMES.iter().find_map(|name| self.redacted(name, redactor).filter(|id| !id.is_empty()))?;
        Some(id.chars().take(MAX_BYTES).collect())
    }

    #[cfg(test)]
    pub(crate) fn of(fields: &[(&'static str, &'static str)]) -> Headers {
        use ureq::http::{HeaderName, HeaderValue};
        let field = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        Headers(fields.iter().map(field).collect())
    }
}

/// No answer.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) cause: Cause,
    pub(crate) sent: Sent,
}

impl Net {
    pub(crate) fn new(config: &Config) -> Net {
        let gate = Arc::new(Gate { closed: false.into(), head: config.head.clone() });
        let base = Uri::try_from(&config.endpoint.url).expect("a URL that was checked");
        Net { agents: PerProcess::new(RwLock::new(agent(config))), base, gate }
    }

    /// Makes one request, and never a second one.
    pub(crate) fn exchange(&self, config: &Config, exchange: Exchange<'_>) -> Result<Reply, Broken> {
        let max_idle = if exchange.body.is_some() { MAX_IDLE_FOR_POST } else { MAX_IDLE };
        let hold = Hold::new(&self.gate, exchange.call);
        let call = Rc::new(Call::new(hold, &exchange, config, max_idle));
        let agents = self.agents.get(exchange.pid, || RwLock::new(agent(config)));
        let agent = agents.read().unwrap_or_else(PoisonError::into_inner).clone();
        let entered = call.enter();
        let made = catch_unwind(AssertUnwindSafe(|| self.perform(&agent, config, exchange, &call)));
        drop(entered);
        made.unwrap_or_else(|panic| {
            // ureq's pool may be left locked for good by the panic; the next call gets a new one.
            *agents.write().unwrap_or_else(PoisonError::into_inner) = self::agent(config);
            Err(Broken { cause: Cause::Bug(panic_text(&*panic)), sent: call.sent() })
        })
    }

    fn perform(&self, agent: &Agent, config: &Config, exchange: Exchange<'_>, call: &Call) -> Result<Reply, Broken> {
        let broken = |cause| Broken { cause, sent: call.sent() };
        let uri = self.uri(exchange.path).map_err(|error| broken(Cause::Bug(error.to_string())))?;
        // The head's other lines are put in by the transport; see `config::Head`.
        let answered = match exchange.body {
            Some(body) => agent.run(request(Method::POST, uri, body)),
            None => agent.run(request(Method::GET, uri, ())),
        };
        let response = answered.map_err(|error| broken(call.take_cause().unwrap_or_else(|| no_answer(&error))))?;
        let (parts, mut body) = response.into_parts();
        let (status, headers) = (parts.status.as_u16(), Headers(parts.headers));
        let limit = if parts.status.is_success() { config.max_response_bytes } else { MAX_ERROR_BODY_READ };
        let (body, mut cut) = read_body(&mut body, limit, call);
        if parts.status.is_success()
            && headers.text(CONTENT_ENCODING).is_some_and(|name| !name.eq_ignore_ascii_case("identity"))
        {
            let encoding = headers.redacted(CONTENT_ENCODING.as_str(), &config.redactor()).unwrap_or_default();
            cut = Some(Cause::Garbled(format!("it is encoded ({}), which nobody asked for", shown(&encoding))));
        }
        let at = call.answered_at().unwrap_or_else(Instant::now);
        Ok(Reply { status, headers, body, cut, sent: call.sent(), at })
    }

    /// The URI of a path of the service's.
    fn uri(&self, path: String) -> Result<Uri, http::Error> {
        let mut parts = uri::Parts::default();
        parts.scheme = self.base.scheme().cloned();
        parts.authority = self.base.authority().cloned();
        parts.path_and_query = Some(path.try_into()?);
        Ok(Uri::from_parts(parts)?)
    }

    /// Whether a call that has not begun is already over.
    pub(crate) fn glance(&self, call: &CallOptions) -> Result<(), Cause> {
        self.gate.glance(call.cancel.as_ref())
    }

    /// Sleeps, heard within a slice by everything that may end the call.
    pub(crate) fn pause(&self, length: Duration, call: &CallOptions) -> Result<(), Cause> {
        Hold::new(&self.gate, call).pause(length)
    }

    /// Ends every call, refuses new ones, and lets go of the connections that are kept.
    pub(crate) fn close(&self, config: &Config) {
        self.gate.closed.store(true, Ordering::Release);
        let agents = self.agents.get(std::process::id(), || RwLock::new(agent(config)));
        // A pool that is no longer there takes no connection back either.
        *agents.write().unwrap_or_else(PoisonError::into_inner) = agent(config);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.gate.closed.load(Ordering::Acquire)
    }
}

/// ureq with everything switched off that would act by itself: redirects, proxies, errors for statuses, timeouts.
fn agent(config: &Config) -> Arc<Agent> {
    let ureq_config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .user_agent("")
        .accept("")
        .accept_encoding("")
        .max_response_header_size(MAX_HEAD_BYTES)
        .max_idle_connections(MAX_KEPT)
        .max_idle_connections_per_host(MAX_KEPT)
        .max_idle_age(MAX_IDLE)
        .build();
    Arc::new(Agent::with_parts(ureq_config, connector::ServiceConnector::new(config), connector::NoResolver))
}

fn request<T>(method: Method, uri: Uri, body: T) -> Request<T> {
    let mut request = Request::new(body);
    (*request.method_mut(), *request.uri_mut()) = (method, uri);
    request
}

/// Reads the body up to `limit`, and says why it is not whole.
fn read_body(body: &mut ureq::Body, limit: usize, call: &Call) -> (Vec<u8>, Option<Cause>) {
    let length = body.content_length().map_or(USUAL_BODY_BYTES, |length| length.min(MAX_FIRST_BODY_BYTES));
    // ureq's own limit errs at exactly the limit; one byte more tells "as long" from "longer".
    let reader = body.with_config().limit(limit as u64 + 2).reader();
    let mut whole = Vec::with_capacity(length as usize);
    let read = reader.take(limit as u64 + 1).read_to_end(&mut whole);
    let cut = match read {
        Err(error) => Some(call.take_cause().unwrap_or_else(|| cut_short(&error))),
        Ok(_) if whole.len() > limit => Some(Cause::TooLarge { limit }),
        Ok(_) => None,
    };
    whole.truncate(limit);
    (whole, cut)
}

/// What ureq itself found wrong before there was an answer; what our transport found is in the call.
fn no_answer(error: &ureq::Error) -> Cause {
    match error {
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Cause::Lost("the service closed it without an answer".to_owned())
        }
        ureq::Error::Io(error) => Cause::Lost(cause::words(error)),
        ureq::Error::LargeResponseHeader(..) => Cause::Garbled("its head is longer than 16 KiB".to_owned()),
        ureq::Error::Protocol(error) => Cause::Garbled(error.to_string()),
        other => Cause::Bug(other.to_string()),
    }
}

fn cut_short(error: &io::Error) -> Cause {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
    match inner {
        Some(ureq::Error::Protocol(error)) => Cause::Garbled(error.to_string()),
        _ => Cause::Lost("the answer ended too early".to_owned()),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic").to_owned()
}

#[cfg(test)]
impl Default for Reply {
    fn default() -> Reply {
        Reply {
            status: 200,
            headers: Headers::default(),
            body: Vec::new(),
            cut: None,
            sent: Sent::All,
            at: Instant::now(),
        }
    }
}
