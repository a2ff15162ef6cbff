//! `agentjob.Client`.

use std::time::Duration;

use agentjob_core as core;
use agentjob_core::KeySource;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::{Refused, cancel_token, seconds};
use crate::batch::iterator::Batch;
use crate::batch::{begin, closing};
use crate::caller::Caller;
use crate::cancel_token::CancelToken;
use crate::errors;
use crate::keywords::Keywords;
use crate::panic::guarded;
use crate::poller::Poller;
use crate::request;
use crate::settings::{self, pickled};
use crate::wait::{self, Watch};

/// A client of one project of one agent-job service.
///
/// It may be used from any number of threads at once, and after a fork. No thread runs and no connection is made before
/// the first call. Everything is keyword-only, and an argument wins over its environment variable:
///
/// - base_url: the service's URL, https://… (AGENTJOB_BASE_URL). Required.
/// - api_key, or api_key_file: the key, or a function without arguments that returns it, called before each call; or a file that contains only the key (AGENTJOB_API_KEY, AGENTJOB_API_KEY_FILE). Required. The
///   file is read again when it changed, and after a 401, when the request is made once more if the file has another key. It may be a
///   pipe, which is read once. A file of this user that others may read or write is refused, as OpenSSH refuses private keys.
/// - project_id: the project of the jobs (AGENTJOB_PROJECT_ID). Required.
/// - timeout: total seconds of one call, retries included. 60 (AGENTJOB_TIMEOUT).
/// - connect_timeout: seconds to connect. 10.
/// - max_retries: how often to retry a failed request, where that cannot deliver a message twice. 2.
/// - max_retry_after: the longest Retry-After, in seconds, that a call waits for on its own. 60.
/// - max_prompt_bytes, max_response_bytes: 4 MiB, 8 MiB.
/// - wait_timeout, min_interval, max_interval, lateness, settle: the defaults of waits; see wait(). 1800, 2, 60,
///   0.15, 10 (AGENTJOB_WAIT_TIMEOUT, AGENTJOB_MIN_INTERVAL, AGENTJOB_MAX_INTERVAL, AGENTJOB_LATENESS, AGENTJOB_SETTLE);
///   wait_timeout=math.inf (AGENTJOB_WAIT_TIMEOUT=none) waits forever.
/// - ca_file: a PEM file of authorities to trust in addition to the platform's (AGENTJOB_CA_FILE).
/// - client_cert, client_key: PEM files with the client certificate for mutual TLS and its private key;
///   client_cert alone, if it has both (AGENTJOB_CLIENT_CERT, AGENTJOB_CLIENT_KEY).
/// - proxy: http://[user:password@]host:port, instead of the environment's.
/// - trust_env: whether to use HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. True.
/// - allow_plaintext: whether to allow plain http to another machine, which shows the key to the network. False.
/// - allow_shared_key_file: whether the key's file may be one that other users can read or write, as the secrets of containers
///   are. False (AGENTJOB_ALLOW_SHARED_KEY_FILE, 1 or 0).
/// - user_agent_suffix: what follows agentjob/<version> in the User-Agent header.
/// - headers: a mapping of extra headers of every request, for gateways, tenants and tracing;
///   added to AGENTJOB_HEADERS, lines "Name: value". Values may be secrets: they are treated like the key.
/// - on_event: called with a dict at each attempt, response, retry and poll (types.Event), on the calling thread; never with the
///   key, a prompt or a body. An exception from it ends the call.
///
/// Raises InvalidArgumentError, which names the setting.
#[pyclass(frozen, weakref, module = "agentjob")]
pub(crate) struct Client {
    caller: Caller,
    /// The settings that it pickles as.
    kept: Py<PyDict>,
}

impl Client {
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    fn check_open(&self, py: Python<'_>) -> PyResult<()> {
        if self.caller.core().is_closed() { Err(errors::raised(py, &core::Error::closed())) } else { Ok(()) }
    }
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (**settings),
        text_signature = "(*, base_url=None, api_key=None, api_key_file=None, project_id=None, timeout=None, \
        connect_timeout=None, max_retries=None, max_retry_after=None, max_prompt_bytes=None, max_response_bytes=None, \
        wait_timeout=None, min_interval=None, max_interval=None, lateness=None, settle=None, \
        ca_file=None, client_cert=None, client_key=None, proxy=None, trust_env=True, allow_plaintext=False, \
        allow_shared_key_file=None, user_agent_suffix=None, headers=None, on_event=None)")]
    fn new(py: Python<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Client> {
        guarded(py, || {
            let (caller, kept) = settings::client(py, settings)?;
            Ok(Client { caller, kept })
        })
    }

    /// A client with the same connections and other settings; what is not given stays as it is.
    #[pyo3(signature = (**keywords))]
    fn with_options(&self, py: Python<'_>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Client> {
        guarded(py, || {
            let (caller, kept) = settings::with_options(&self.caller, self.kept.bind(py), keywords)?;
            Ok(Client { caller, kept })
        })
    }

    /// Sends a follow-up instruction to a job, and returns the job's record, which may still be the previous one.
    #[pyo3(signature = (job_id, prompt, **keywords))]
    fn send_message<'py>(
        &self,
        job_id: &Bound<'py, PyAny>,
        prompt: &Bound<'py, PyAny>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let keywords = Keywords::of("Client.send_message", keywords);
        guarded(job_id.py(), || request::send_message(&self.caller, (job_id, prompt), keywords))
    }

    /// Returns a job's record.
    #[pyo3(signature = (job_id, **keywords))]
    fn get_job<'py>(
        &self,
        job_id: &Bound<'py, PyAny>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let keywords = Keywords::of("Client.get_job", keywords);
        guarded(job_id.py(), || request::get_job(&self.caller, job_id, keywords))
    }

    /// Creates a job, and returns its record.
    #[pyo3(signature = (prompt, **keywords))]
    fn create_job<'py>(
        &self,
        prompt: &Bound<'py, PyAny>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let keywords = Keywords::of("Client.create_job", keywords);
        guarded(prompt.py(), || request::create_job(&self.caller, prompt, keywords))
    }

    /// Waits until a job is completed, archived or failed, and returns its last record.
    #[pyo3(signature = (job_id, **keywords))]
    fn wait<'py>(
        &self,
        job_id: &Bound<'py, PyAny>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let keywords = Keywords::of("Client.wait", keywords);
        guarded(job_id.py(), || wait::wait(&self.caller, job_id, keywords))
    }

    /// Sends a message and waits for its result: send_message, then wait, with wait's options.
    #[pyo3(signature = (job_id, prompt, **keywords))]
    fn send_and_wait<'py>(
        &self,
        job_id: &Bound<'py, PyAny>,
        prompt: &Bound<'py, PyAny>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let keywords = Keywords::of("Client.send_and_wait", keywords);
        guarded(job_id.py(), || wait::send_and_wait(&self.caller, (job_id, prompt), keywords))
    }

    /// The records of a job as they change, the last one terminal.
    #[pyo3(signature = (job_id, **keywords))]
    fn watch(&self, job_id: &Bound<'_, PyAny>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Watch> {
        let keywords = Keywords::of("Client.watch", keywords);
        guarded(job_id.py(), || Watch::new(&self.caller, job_id, keywords))
    }

    /// Sends many messages, each at most once, and records them in a file.
    #[pyo3(signature = (items, *, journal, **keywords))]
    fn send_all(
        &self,
        items: &Bound<'_, PyAny>,
        journal: &Bound<'_, PyAny>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Batch> {
        let keywords = Keywords::of("Client.send_all", keywords);
        guarded(items.py(), || begin::begin(&self.caller, items, journal, keywords))
    }

    /// A wait whose loop the program runs: sleep poller.due_in seconds, then call poller.poll(), until it is done.
    #[pyo3(signature = (job_id, **keywords))]
    fn poller(&self, job_id: &Bound<'_, PyAny>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Poller> {
        let keywords = Keywords::of("Client.poller", keywords);
        guarded(job_id.py(), || Poller::of_job(&self.caller, job_id, keywords))
    }

    /// Resumes a wait from a poller's text.
    #[pyo3(signature = (text, **keywords))]
    fn resume(&self, text: &Bound<'_, PyAny>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Poller> {
        let keywords = Keywords::of("Client.resume", keywords);
        guarded(text.py(), || Poller::of_text(&self.caller, text, keywords))
    }

    /// Ends every call of this client, in every thread, with ClosedError, and refuses new ones.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        guarded(py, || closing::close(py, self.caller.core(), None))
    }

    /// The same for agentjob.aio: the token ends the grace.
    fn _close(&self, py: Python<'_>, cancel: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(py, || {
            let token = cancel_token("cancel", cancel).map_err(|refused| refused.raised(py, false))?;
            closing::close(py, self.caller.core(), Some(token.core()))
        })
    }

    /// The same without the wait, for agentjob.aio. Returns whether a message is in flight.
    fn _stop(&self, py: Python<'_>) -> bool {
        py.detach(|| {
            self.caller.core().close();
            self.caller.core().batches().iter().any(|batch| !batch.wait(Duration::ZERO))
        })
    }

    /// send_message, and the wait for its result as a Poller: for agentjob.aio and the command line.
    #[pyo3(signature = (job_id, prompt, **keywords))]
    fn _send_and_poll(
        &self,
        job_id: &Bound<'_, PyAny>,
        prompt: &Bound<'_, PyAny>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Poller> {
        let keywords = Keywords::of("Client._send_and_poll", keywords);
        guarded(job_id.py(), || Poller::of_message(&self.caller, (job_id, prompt), keywords, None))
    }

    /// This client, which keeps an object alive as long as it or what it made is in use: for agentjob.testing.
    fn _keeping(&self, companion: &Bound<'_, PyAny>) -> PyResult<Client> {
        Ok(Client { caller: self.caller.keeping(companion)?, kept: self.kept.clone_ref(companion.py()) })
    }

    /// This client, which reports to a callable the events that a log has as warnings, and collects no others for that: for the command
    /// line.
    fn _warning_to(&self, on_warning: &Bound<'_, PyAny>) -> Client {
        Client { caller: self.caller.warning_to(on_warning), kept: self.kept.clone_ref(on_warning.py()) }
    }

    /// The record of a call as the service wrote it: of a message, of a new job (no job_id), or of a job (no prompt). For the command
    /// line.
    #[pyo3(signature = (job_id=None, prompt=None))]
    fn _record_json<'py>(
        &self,
        py: Python<'py>,
        job_id: Option<Bound<'py, PyAny>>,
        prompt: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyString>> {
        guarded(py, || request::record_json(&self.caller, py, job_id, prompt))
    }

    /// Adds the job that was created to the exception that ended the call of agentjob.aio, and returns its id, without secrets.
    fn _add_new_job(
        &self,
        exception: &Bound<'_, PyAny>,
        job: Bound<'_, PyDict>,
        headers: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        guarded(exception.py(), || request::add_new_job(&self.caller, exception, job, headers))
    }

    /// A token for one call, whose time starts now, before the call queues for a thread: for agentjob.aio and agentjob.once. `cancel`
    /// also ends the call.
    #[pyo3(signature = (timeout=None, *, delivers=false, cancel=None))]
    fn _call_token(
        &self,
        py: Python<'_>,
        timeout: Option<Bound<'_, PyAny>>,
        delivers: bool,
        cancel: Option<Bound<'_, PyAny>>,
    ) -> PyResult<CancelToken> {
        let made = || {
            let timeout = timeout.as_ref().map(|given| seconds("timeout", given)).transpose()?;
            let other = cancel.as_ref().map(|given| cancel_token("cancel", given)).transpose()?;
            Ok(CancelToken::of_call(timeout.unwrap_or_else(|| self.caller.core().timeout()), other))
        };
        made().map_err(|refused: Refused| refused.raised(py, delivers))
    }

    /// Whether the client was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.caller.core().is_closed()
    }

    /// The base URL, without a slash at its end.
    #[getter]
    fn base_url(&self) -> &str {
        self.caller.core().base_url()
    }

    /// The project.
    #[getter]
    fn project_id(&self) -> &str {
        self.caller.core().project_id()
    }

    /// The total seconds of one call.
    #[getter]
    fn timeout(&self) -> f64 {
        self.caller.core().timeout().as_secs_f64()
    }

    /// How often one call retries a failed request.
    #[getter]
    fn max_retries(&self) -> u32 {
        self.caller.core().max_retries()
    }

    /// Raises ClosedError if the client was closed.
    fn __enter__(slf: Py<Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        slf.get().check_open(py)?;
        slf.get().caller.enter();
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let quoted = |text: &str| PyString::new(py, text).repr().map(|repr| repr.to_string());
        let key = match self.caller.core().key_source() {
            KeySource::Argument => "<given>",
            KeySource::File => "<from api_key_file>",
            KeySource::Variable => "<from AGENTJOB_API_KEY>",
            KeySource::VariableFile => "<from AGENTJOB_API_KEY_FILE>",
            KeySource::Function => "<from a function>",
        };
        let (base_url, project_id) = (quoted(self.base_url())?, quoted(self.project_id())?);
        Ok(format!("Client(base_url={base_url}, project_id={project_id}, api_key={key})"))
    }

    /// A client is immutable and safe to share, so copying one returns the same object.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        pickled(self.kept.bind(py), self.caller.core().key_source())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.kept)?;
        self.caller.traverse(visit)
    }
}
