//! One HTTP exchange: a request in; a reply, or a failure with what the kernel took, out.
//!
//! The only room that touches a socket, and the only one that sees ureq's traits that are not covered by its version
//! promise (`ureq::unversioned`). ureq speaks HTTP and keeps connections; every byte goes through our own transport.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::http::{self, Method, Request, Uri, uri};

use crate::call::control::SLICE;
use crate::call::options::CallOptions;
use crate::config::settings::Config;
use crate::delivery::Sent;
use crate::error::panic_text;
use crate::http::failure::Cause;
use crate::http::interrupt::{Call, Gate, Hold};
use crate::http::response_head::{Framing, REQUEST_IDS};
use crate::os::process::PerProcess;
use crate::redact::Redactor;
use crate::text::describe;

/// How much of an error's body is read; more of it is kept from nobody.
const MAX_ERROR_BODY_READ: usize = 64 << 10;
/// How long an error's body is waited for once its head is here: the status says all that decides, and the error is to be
/// there within a second.
const ERROR_BODY_TIME: Duration = Duration::from_millis(900);
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
pub(crate) struct Connections {
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

/// The answer's header fields that are kept, for when something went wrong.
#[derive(Debug, Default)]
pub(crate) struct Headers(Vec<crate::http::response_head::Field>);

impl Headers {
    /// Every value of a field, in the answer's order.
    pub(crate) fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(kept, _)| *kept == name).map(|(_, value)| value.as_str())
    }

    /// A field's first value, if it is text that could be shown; a header may hold any byte.
    pub(crate) fn text(&self, name: &'static str) -> Option<&str> {
        self.all(name).next().filter(|value| is_printable(value))
    }

    /// Every value of a field that could be shown, a line each. A secret may be split over several lines of one name, so they are
    /// looked through together.
    fn redacted(&self, name: &'static str, redactor: &Redactor<'_>) -> String {
        let values: Vec<&str> = self.all(name).filter(|value| is_printable(value)).collect();
        redactor.redact(&values.join("\n")).into_owned()
    }

    /// The service's or a gateway's name for the request, by the field names in use.
    pub(crate) fn request_id(&self, redactor: &Redactor<'_>) -> Option<String> {
        const MAX_BYTES: usize = 256;
        let first = |name| self.redacted(name, redactor).lines().next().filter(|id| !id.is_empty()).map(str::to_owned);
        let id = REQUEST_IDS.into_iter().find_map(first)?;
        Some(id.chars().take(MAX_BYTES).collect())
    }

    #[cfg(test)]
    pub(crate) fn of(fields: &[(&'static str, &'static str)]) -> Headers {
        Headers(fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect())
    }
}

fn is_printable(value: &str) -> bool {
    value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
}

/// No answer.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) cause: Cause,
    pub(crate) sent: Sent,
}

impl Connections {
    pub(crate) fn new(config: &Config) -> Connections {
        let gate = Arc::new(Gate { closed: false.into(), head: config.head.clone() });
        let base = Uri::try_from(&config.endpoint.url).expect("a URL that was checked");
        Connections { agents: PerProcess::new(RwLock::new(agent(config))), base, gate }
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
            *agents.write().unwrap_or_else(PoisonError::into_inner) = crate::http::exchange::agent(config);
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
        let mut body = response.into_body();
        let head = call.take_head().ok_or_else(|| broken(Cause::Bug("a response without a head".to_owned())))?;
        let (status, headers) = (head.status, Headers(head.fields));
        let success = (200..300).contains(&status);
        if !success {
            call.bound(ERROR_BODY_TIME);
        }
        let limit = if success { config.max_response_bytes } else { MAX_ERROR_BODY_READ };
        let (body, mut cut) = read_body(&mut body, limit, call);
        if let Framing::Unreadable(why) = head.framing {
            cut = Some(Cause::Garbled(why));
        } else if success && headers.all("content-encoding").any(|name| !name.eq_ignore_ascii_case("identity")) {
            let encoding = headers.redacted("content-encoding", &config.redactor()).replace('\n', ", ");
            cut = Some(Cause::Garbled(format!(
                "it is encoded ({}), which agentjob did not ask for",
                describe(&encoding)
            )));
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
        self.gate.glance(call.cancel.as_ref(), call.outlives_close)
    }

    /// Asks everything that may end a call which computes instead of waiting; the control only when a slice has passed.
    pub(crate) fn checks<'a>(
        &'a self,
        call: &'a CallOptions,
        deadline: Option<Instant>,
    ) -> impl FnMut() -> Result<(), Cause> + 'a {
        let mut slice_began = None;
        move || {
            self.glance(call)?;
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Err(Cause::Timeout);
            }
            if now.duration_since(*slice_began.get_or_insert(now)) >= SLICE {
                slice_began = Some(now);
                return Hold::new(&self.gate, call).check();
            }
            Ok(())
        }
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
        .max_idle_connections(MAX_KEPT)
        .max_idle_connections_per_host(MAX_KEPT)
        .max_idle_age(MAX_IDLE)
        .build();
    Arc::new(Agent::with_parts(
        ureq_config,
        crate::http::connector::ServiceConnector::new(config),
        crate::http::connector::NoResolver,
    ))
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
    let mut reader = body.with_config().limit(limit as u64 + 2).reader();
    let mut whole = Vec::new();
    let mut more = length as usize + 1;
    let cut = loop {
        let room = more.min(limit + 1 - whole.len());
        if whole.try_reserve_exact(room).is_err() {
            break Some(Cause::NoMemory { bytes: whole.len() + room });
        }
        match reader.by_ref().take(room as u64).read_to_end(&mut whole) {
            Err(error) => break Some(call.take_cause().unwrap_or_else(|| cut_short(&error))),
            Ok(_) if whole.len() > limit => break Some(Cause::TooLarge { limit }),
            Ok(n) if n < room => break None,
            // By half, so that no more is set aside than is soon needed.
            Ok(_) => more = whole.len() / 2 + 1,
        }
    };
    whole.truncate(limit);
    (whole, cut)
}

/// What ureq itself found wrong before there was an answer; what our transport found is in the call.
fn no_answer(error: &ureq::Error) -> Cause {
    match error {
        ureq::Error::Io(error) => Cause::Lost(crate::http::failure::words(error)),
        ureq::Error::Protocol(_) => Cause::Garbled("it is not HTTP/1.1".to_owned()),
        other => Cause::Bug(other.to_string()),
    }
}

fn cut_short(error: &io::Error) -> Cause {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
    match inner {
        Some(ureq::Error::Protocol(_)) => Cause::Garbled("its body is not HTTP/1.1".to_owned()),
        _ => Cause::Lost("the response ended too early".to_owned()),
    }
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
