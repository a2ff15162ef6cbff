//! `agentjob.Client`.

use std::time::Duration;

use agentjob_core as core;
use agentjob_core::KeySource;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::{Flag, Given, Integer, Number, cancel_token};
use crate::batch::begin::{self, BatchSettings};
use crate::batch::closing;
use crate::batch::iterator::Batch;
use crate::caller::Caller;
use crate::cancel_token::CancelToken;
use crate::errors;
use crate::message_arguments::{NOTHING, Passed, bound};
use crate::options::{CLIENTS, Deadline, NO, WaitSchedule, WaitSettings};
use crate::panic::guarded;
use crate::poller::Poller;
use crate::request::{self, Call};
use crate::settings::{Options, Settings, pickled};
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
/// - wait_timeout, min_interval, max_interval, lateness, settle: what a wait takes that is not given them; see wait(). 1800, 2, 60,
///   0.15, 10 (AGENTJOB_WAIT_TIMEOUT, AGENTJOB_MIN_INTERVAL, AGENTJOB_MAX_INTERVAL, AGENTJOB_LATENESS, AGENTJOB_SETTLE);
///   wait_timeout=math.inf (AGENTJOB_WAIT_TIMEOUT=none) waits forever.
/// - ca_file: a PEM file of authorities to trust besides the platform's (AGENTJOB_CA_FILE).
/// - client_cert, client_key: PEM files with the certificate with which the client proves who it is (mutual TLS) and with its private key;
///   client_cert alone, if it has both (AGENTJOB_CLIENT_CERT, AGENTJOB_CLIENT_KEY).
/// - proxy: http://[user:password@]host:port, instead of the environment's.
/// - trust_env: whether to use HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. True.
/// - allow_plaintext: whether to allow plain http to another machine, which shows the key to the network. False.
/// - allow_shared_key_file: whether the key's file may be one that other users can read or write, as the secrets of containers
///   are. False (AGENTJOB_ALLOW_SHARED_KEY_FILE, 1 or 0).
/// - user_agent_suffix: what follows agentjob/<version> in the User-Agent header.
/// - headers: a mapping of header names to values that every request has besides agentjob's own, for gateways, tenants and tracing;
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
    fn check_open(&self, py: Python<'_>) -> PyResult<()> {
        if self.caller.core().is_closed() { Err(errors::raised(py, &core::Error::closed())) } else { Ok(()) }
    }
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (*, base_url=None, api_key=None, api_key_file=None, project_id=None, timeout=None,
        connect_timeout=None, max_retries=None, max_retry_after=None, max_prompt_bytes=None, max_response_bytes=None,
        wait_timeout=None, min_interval=None, max_interval=None, lateness=None, settle=None,
        ca_file=None, client_cert=None, client_key=None, proxy=None, trust_env=Given::Right(true), allow_plaintext=NO,
        allow_shared_key_file=None, user_agent_suffix=None, headers=None, on_event=None),
        text_signature = "(*, base_url=None, api_key=None, api_key_file=None, project_id=None, timeout=None, \
        connect_timeout=None, max_retries=None, max_retry_after=None, max_prompt_bytes=None, max_response_bytes=None, \
        wait_timeout=None, min_interval=None, max_interval=None, lateness=None, settle=None, \
        ca_file=None, client_cert=None, client_key=None, proxy=None, trust_env=True, allow_plaintext=False, \
        allow_shared_key_file=None, user_agent_suffix=None, headers=None, on_event=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        py: Python<'_>,
        base_url: Option<Bound<'_, PyAny>>,
        api_key: Option<Bound<'_, PyAny>>,
        api_key_file: Option<Bound<'_, PyAny>>,
        project_id: Option<Bound<'_, PyAny>>,
        timeout: Option<Number>,
        connect_timeout: Option<Number>,
        max_retries: Option<Integer>,
        max_retry_after: Option<Number>,
        max_prompt_bytes: Option<Integer>,
        max_response_bytes: Option<Integer>,
        wait_timeout: Option<Number>,
        min_interval: Option<Number>,
        max_interval: Option<Number>,
        lateness: Option<Number>,
        settle: Option<Number>,
        ca_file: Option<Bound<'_, PyAny>>,
        client_cert: Option<Bound<'_, PyAny>>,
        client_key: Option<Bound<'_, PyAny>>,
        proxy: Option<Bound<'_, PyAny>>,
        trust_env: Flag,
        allow_plaintext: Flag,
        allow_shared_key_file: Option<Flag>,
        user_agent_suffix: Option<Bound<'_, PyAny>>,
        headers: Option<Bound<'_, PyAny>>,
        on_event: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Client> {
        let options = Options {
            timeout,
            connect_timeout,
            max_retries,
            max_retry_after,
            max_prompt_bytes,
            max_response_bytes,
            wait_timeout,
            min_interval,
            max_interval,
            lateness,
            settle,
            headers,
            on_event,
        };
        let settings = Settings {
            base_url,
            api_key,
            api_key_file,
            project_id,
            ca_file,
            client_cert,
            client_key,
            proxy,
            trust_env,
            allow_plaintext,
            allow_shared_key_file,
            user_agent_suffix,
            options,
        };
        guarded(py, || {
            let (caller, kept) = settings.client(py)?;
            Ok(Client { caller, kept })
        })
    }

    /// A client with the same connections and other settings; what is not given stays as it is.
    ///
    /// The arguments are those of the class. Closing either client closes both. Raises InvalidArgumentError.
    ///
    /// >>> patient = client.with_options(timeout=300, max_retries=10)
    /// >>> patient.timeout, client.timeout
    /// (300.0, 60.0)
    #[pyo3(signature = (*, timeout=None, connect_timeout=None, max_retries=None, max_retry_after=None,
        max_prompt_bytes=None, max_response_bytes=None,
        wait_timeout=None, min_interval=None, max_interval=None, lateness=None, settle=None,
        headers=None, on_event=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn with_options(
        &self,
        py: Python<'_>,
        timeout: Option<Number>,
        connect_timeout: Option<Number>,
        max_retries: Option<Integer>,
        max_retry_after: Option<Number>,
        max_prompt_bytes: Option<Integer>,
        max_response_bytes: Option<Integer>,
        wait_timeout: Option<Number>,
        min_interval: Option<Number>,
        max_interval: Option<Number>,
        lateness: Option<Number>,
        settle: Option<Number>,
        headers: Option<Bound<'_, PyAny>>,
        on_event: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Client> {
        let options = Options {
            timeout,
            connect_timeout,
            max_retries,
            max_retry_after,
            max_prompt_bytes,
            max_response_bytes,
            wait_timeout,
            min_interval,
            max_interval,
            lateness,
            settle,
            headers,
            on_event,
        };
        guarded(py, || {
            let (caller, kept) = options.applied(&self.caller, self.kept.bind(py))?;
            Ok(Client { caller, kept })
        })
    }

    /// Sends a follow-up instruction to a job, and returns the job's record, which may still be the previous one.
    ///
    /// timeout: total seconds of this call instead of the client's. meta: called with the response's metadata (types.ResponseMeta)
    /// when the call succeeds. cancel: a CancelToken that can end it. headers: a mapping of request headers, which win over the
    /// client's.
    ///
    /// The client never sends a message twice. Every error has a .delivery: 'not_sent' (send it again), 'rejected' (fix the cause
    /// first), 'unknown' (check the job first) or 'accepted' (do not send it again).
    ///
    /// >>> job = client.send_message("job_demo", "Also cover the error cases", timeout=10)
    /// >>> job["status"], job["source"]["ref"]
    /// ('active', 'main')
    /// >>> meta = {}
    /// >>> job = client.send_message("job_demo", "And the docs", meta=meta.update)
    /// >>> meta["status"], meta["attempts"], meta["headers"]["content-type"]
    /// (200, 1, 'application/json')
    #[pyo3(signature = (first=NOTHING, second=NOTHING, /, *surplus, job_id=NOTHING, prompt=NOTHING, timeout=None, meta=None,
        cancel=None, headers=None, **unexpected),
        text_signature = "($self, job_id, prompt, *, timeout=None, meta=None, cancel=None, headers=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn send_message<'py>(
        &self,
        py: Python<'py>,
        first: Passed<'_, 'py>,
        second: Passed<'_, 'py>,
        surplus: &Bound<'py, PyTuple>,
        job_id: Passed<'_, 'py>,
        prompt: Passed<'_, 'py>,
        timeout: Option<Number>,
        meta: Option<Bound<'py, PyAny>>,
        cancel: Option<Bound<'py, PyAny>>,
        headers: Option<Bound<'py, PyAny>>,
        unexpected: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        guarded(py, || {
            let arguments = [("job_id", first, job_id), ("prompt", second, prompt)];
            let [job_id, prompt] = bound("send_message", arguments, (surplus, unexpected))?;
            request::send_message(&self.caller, (&job_id, &prompt), Call { timeout, meta, cancel, headers })
        })
    }

    /// Returns a job's record.
    ///
    /// timeout: total seconds of this call instead of the client's. meta: called with the response's metadata (types.ResponseMeta)
    /// when the call succeeds. cancel: a CancelToken that can end it. headers: a mapping of request headers, which win over the
    /// client's.
    ///
    /// Raises NotFoundError for a job that does not exist, AuthenticationError, PermissionDeniedError, RateLimitError, ServerError,
    /// ConnectError, ConnectionLostError, RequestTimeoutError, InvalidResponseError, InvalidArgumentError, CancelledError,
    /// ClosedError: all of them agentjob.Error.
    ///
    /// >>> client.get_job("job_demo")["id"]
    /// 'job_demo'
    #[pyo3(signature = (job_id, *, timeout=None, meta=None, cancel=None, headers=None))]
    fn get_job<'py>(
        &self,
        py: Python<'py>,
        job_id: &Bound<'py, PyAny>,
        timeout: Option<Number>,
        meta: Option<Bound<'py, PyAny>>,
        cancel: Option<Bound<'py, PyAny>>,
        headers: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        guarded(py, || request::get_job(&self.caller, job_id, Call { timeout, meta, cancel, headers }))
    }

    /// Creates a job, and returns its record. Errors are those of send_message.
    ///
    /// timeout: total seconds of this call instead of the client's. meta: called with the response's metadata (types.ResponseMeta)
    /// when the call succeeds. cancel: a CancelToken that can end it. headers: a mapping of request headers, which win over the
    /// client's.
    ///
    /// >>> client.create_job("Write the missing tests")["status"]
    /// 'active'
    #[pyo3(signature = (first=NOTHING, /, *surplus, prompt=NOTHING, timeout=None, meta=None, cancel=None, headers=None,
        **unexpected),
        text_signature = "($self, prompt, *, timeout=None, meta=None, cancel=None, headers=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn create_job<'py>(
        &self,
        py: Python<'py>,
        first: Passed<'_, 'py>,
        surplus: &Bound<'py, PyTuple>,
        prompt: Passed<'_, 'py>,
        timeout: Option<Number>,
        meta: Option<Bound<'py, PyAny>>,
        cancel: Option<Bound<'py, PyAny>>,
        headers: Option<Bound<'py, PyAny>>,
        unexpected: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        guarded(py, || {
            let [prompt] = bound("create_job", [("prompt", first, prompt)], (surplus, unexpected))?;
            request::create_job(&self.caller, &prompt, Call { timeout, meta, cancel, headers })
        })
    }

    /// Waits until a job is completed, archived or failed, and returns its last record.
    ///
    /// - timeout: seconds to wait; None waits forever, 'client' as long as the client's wait_timeout.
    /// - min_interval, max_interval: the shortest and the longest pause between two polls, in seconds. Polls 0.25, 0.5, 1 and 2 s
    ///   after a message come in any case.
    /// - lateness: how late the end may be noticed, as a fraction of the time waited so far.
    /// - settle: for how many seconds after a message of this client a finished job may still show its previous result. Until then a
    ///   finished record counts only once a poll has seen the job active since the message; 0 accepts the first record.
    ///   What is not given is the client's.
    /// - check: raise JobFailedError if the job failed.
    /// - cancel: a CancelToken that can end the wait.
    /// - headers: a mapping of request headers, which win over the client's.
    /// - on_update: called with the record whenever it changed, and with the first one. An exception from it ends the wait.
    /// - meta: called with the metadata (types.ResponseMeta) of each response that had a record; the last is that of the returned one.
    ///
    /// A poll that fails for a transient reason (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record)
    /// never ends a wait. Raises WaitTimeoutError when the wait times out, with the last record in .job, or
    /// None if that may be the previous result.
    ///
    /// >>> client.wait("job_demo", timeout=600, min_interval=0.02, on_update=lambda job: print(job["status"]))["status"]
    /// active
    /// completed
    /// 'completed'
    #[pyo3(signature = (job_id, *, timeout=CLIENTS, min_interval=None,
        max_interval=None, lateness=None, settle=None,
        check=NO, on_update=None, meta=None, cancel=None, headers=None),
        text_signature = "($self, job_id, *, timeout='client', min_interval=None, max_interval=None, lateness=None, \
        settle=None, check=False, on_update=None, meta=None, cancel=None, headers=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn wait<'py>(
        &self,
        py: Python<'py>,
        job_id: &Bound<'py, PyAny>,
        timeout: Deadline,
        min_interval: Option<Number>,
        max_interval: Option<Number>,
        lateness: Option<Number>,
        settle: Option<Number>,
        check: Flag,
        on_update: Option<Bound<'py, PyAny>>,
        meta: Option<Bound<'py, PyAny>>,
        cancel: Option<Bound<'py, PyAny>>,
        headers: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let schedule = WaitSchedule { timeout, min_interval, max_interval, lateness, settle };
        let settings = WaitSettings { schedule, check, on_update, meta, cancel, headers };
        guarded(py, || wait::wait(&self.caller, job_id, settings))
    }

    /// Sends a message and waits for its result: send_message, then wait, with wait's options.
    ///
    /// timeout is the wait's; the message itself has the client's. Once the message was accepted, every error says so
    /// in .delivery.
    ///
    /// >>> client.send_and_wait("job_demo", "And the edge cases", min_interval=0.02)["status"]
    /// 'completed'
    #[pyo3(signature = (first=NOTHING, second=NOTHING, /, *surplus, job_id=NOTHING, prompt=NOTHING,
        timeout=CLIENTS, min_interval=None,
        max_interval=None, lateness=None, settle=None,
        check=NO, on_update=None, meta=None, cancel=None, headers=None, **unexpected),
        text_signature = "($self, job_id, prompt, *, timeout='client', min_interval=None, max_interval=None, lateness=None, \
        settle=None, check=False, on_update=None, meta=None, cancel=None, headers=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn send_and_wait<'py>(
        &self,
        py: Python<'py>,
        first: Passed<'_, 'py>,
        second: Passed<'_, 'py>,
        surplus: &Bound<'py, PyTuple>,
        job_id: Passed<'_, 'py>,
        prompt: Passed<'_, 'py>,
        timeout: Deadline,
        min_interval: Option<Number>,
        max_interval: Option<Number>,
        lateness: Option<Number>,
        settle: Option<Number>,
        check: Flag,
        on_update: Option<Bound<'py, PyAny>>,
        meta: Option<Bound<'py, PyAny>>,
        cancel: Option<Bound<'py, PyAny>>,
        headers: Option<Bound<'py, PyAny>>,
        unexpected: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let schedule = WaitSchedule { timeout, min_interval, max_interval, lateness, settle };
        let settings = WaitSettings { schedule, check, on_update, meta, cancel, headers };
        guarded(py, || {
            let arguments = [("job_id", first, job_id), ("prompt", second, prompt)];
            let [job_id, prompt] = bound("send_and_wait", arguments, (surplus, unexpected))?;
            wait::send_and_wait(&self.caller, (&job_id, &prompt), settings)
        })
    }

    /// The records of a job as they change, the last one terminal: for job in client.watch("job_123"): ...
    ///
    /// Each call of next() blocks until there is a record. The options are wait's. After an error there are no more.
    ///
    /// >>> client.send_message("job_demo", "Once more")["status"]
    /// 'active'
    /// >>> [job["status"] for job in client.watch("job_demo", min_interval=0.02)]
    /// ['active', 'completed']
    #[pyo3(signature = (job_id, *, timeout=CLIENTS, min_interval=None,
        max_interval=None, lateness=None, settle=None, meta=None, cancel=None, headers=None),
        text_signature = "($self, job_id, *, timeout='client', min_interval=None, max_interval=None, lateness=None, \
        settle=None, meta=None, cancel=None, headers=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn watch(
        &self,
        py: Python<'_>,
        job_id: &Bound<'_, PyAny>,
        timeout: Deadline,
        min_interval: Option<Number>,
        max_interval: Option<Number>,
        lateness: Option<Number>,
        settle: Option<Number>,
        meta: Option<Bound<'_, PyAny>>,
        cancel: Option<Bound<'_, PyAny>>,
        headers: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Watch> {
        let schedule = WaitSchedule { timeout, min_interval, max_interval, lateness, settle };
        guarded(py, || Watch::new(&self.caller, job_id, &schedule, meta, cancel, headers))
    }

    /// Sends many messages, each at most once, and records them in a file: for outcome in client.send_all(items, journal=...): ...
    ///
    /// Run it again with the same items and journal to resume, however the last run ended.
    ///
    /// - items: mappings with job_id, prompt and, optionally, key (a name that is unique in the batch) and line (the line of the file
    ///   that it comes from, for errors); or tuples (job_id, prompt) and (job_id, prompt, key). All are checked before the first is
    ///   sent.
    /// - journal: the file that records the batch. If it exists, its batch is resumed.
    /// - concurrency: how many messages are in flight at once, 1 to 64. Never two for one job.
    /// - rate: at most this many messages in any such span of time: '100/h', '2/s', '30/min', '500/d'.
    /// - wait: follow each accepted message until its job is done; timeout to settle are wait's, and not used otherwise.
    /// - resend_unknown: send messages that may have arrived in an earlier run again. The agent works twice on those that did.
    /// - retry_prompts: the prompts with which batch_retry decided to send messages again; the journal does not have them.
    /// - max_outage: how many seconds to keep trying while no message gets a response.
    /// - max_busy: how many seconds a job may be busy (409) before a message to it is rejected; 0 rejects it at once.
    /// - grace: how many seconds to wait for the responses to messages in flight when the batch ends early.
    /// - on_update: called with a dict (types.BatchUpdate) for each event between two outcomes, on the thread that iterates. An
    ///   exception from it stops the batch. The client's on_event gets the events of the batch's requests, polls and pauses on the same
    ///   thread, each with its item.
    /// - cancel: a CancelToken that stops the batch; then the iterator raises CancelledError last.
    /// - headers: a mapping of headers that each request of the batch has; they win over the client's. They are not in the journal.
    ///
    /// A message that is rejected or lost is an outcome, not an exception. Raises InvalidArgumentError, which names the item, and
    /// JournalError; the iterator raises what stopped the batch.
    ///
    /// >>> items = [("job_demo", "Add tests"), ("job_busy", "Add docs")]
    /// >>> for outcome in client.send_all(items, journal=journal, concurrency=1):
    /// ...     print(outcome["item"], outcome["job_id"], outcome["delivery"])
    /// 1 job_demo accepted
    /// 2 job_busy accepted
    /// >>> [outcome["earlier"] for outcome in client.send_all(items, journal=journal)]
    /// [True, True]
    /// >>> agentjob.batch_status(journal)["progress"]["accepted"]
    /// 2
    #[pyo3(signature = (items, *, journal, concurrency=Given::Right(4), rate=None, wait=NO,
        timeout=CLIENTS, min_interval=None,
        max_interval=None, lateness=None, settle=None, resend_unknown=NO, retry_prompts=None,
        max_outage=Given::Right(3600.0), max_busy=Given::Right(3600.0), grace=Given::Right(5.0), on_update=None,
        cancel=None, headers=None),
        text_signature = "($self, items, *, journal, concurrency=4, rate=None, wait=False, timeout='client', \
        min_interval=None, max_interval=None, lateness=None, settle=None, resend_unknown=False, retry_prompts=None, max_outage=3600.0, \
        max_busy=3600.0, grace=5.0, on_update=None, cancel=None, headers=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn send_all<'py>(
        &self,
        py: Python<'py>,
        items: &Bound<'py, PyAny>,
        journal: Bound<'py, PyAny>,
        concurrency: Integer,
        rate: Option<Bound<'py, PyAny>>,
        wait: Flag,
        timeout: Deadline,
        min_interval: Option<Number>,
        max_interval: Option<Number>,
        lateness: Option<Number>,
        settle: Option<Number>,
        resend_unknown: Flag,
        retry_prompts: Option<Bound<'py, PyAny>>,
        max_outage: Number,
        max_busy: Number,
        grace: Number,
        on_update: Option<Bound<'py, PyAny>>,
        cancel: Option<Bound<'py, PyAny>>,
        headers: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Batch> {
        let schedule = WaitSchedule { timeout, min_interval, max_interval, lateness, settle };
        let settings = BatchSettings {
            journal,
            concurrency,
            rate,
            wait,
            schedule,
            resend_unknown,
            retry_prompts,
            max_outage,
            max_busy,
            grace,
            cancel,
            headers,
        };
        guarded(py, || begin::begin(&self.caller, items, settings, on_update))
    }

    /// A wait whose loop the program runs: sleep poller.due_in seconds, then call poller.poll(), until it is done.
    ///
    /// The options are wait's. str(poller) is the wait's state; resume() continues from it, in another process too.
    ///
    /// >>> poller = client.poller("job_demo", min_interval=0.02)
    /// >>> while not (job := poller.poll()):
    /// ...     time.sleep(poller.due_in)
    /// >>> job["status"]
    /// 'completed'
    #[pyo3(signature = (job_id, *, timeout=CLIENTS, min_interval=None,
        max_interval=None, lateness=None, settle=None, headers=None),
        text_signature = "($self, job_id, *, timeout='client', min_interval=None, max_interval=None, lateness=None, \
        settle=None, headers=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn poller(
        &self,
        py: Python<'_>,
        job_id: &Bound<'_, PyAny>,
        timeout: Deadline,
        min_interval: Option<Number>,
        max_interval: Option<Number>,
        lateness: Option<Number>,
        settle: Option<Number>,
        headers: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Poller> {
        let schedule = WaitSchedule { timeout, min_interval, max_interval, lateness, settle };
        guarded(py, || Poller::of_job(&self.caller, job_id, &schedule, headers))
    }

    /// Resumes a wait from a poller's text. The time since the text was written counts as waited. The text has no headers: give them
    /// again.
    ///
    /// >>> text = str(client.poller("job_demo"))
    /// >>> client.resume(text).job_id
    /// 'job_demo'
    #[pyo3(signature = (text, *, headers=None))]
    fn resume(&self, py: Python<'_>, text: &Bound<'_, PyAny>, headers: Option<Bound<'_, PyAny>>) -> PyResult<Poller> {
        guarded(py, || Poller::of_text(&self.caller, text, headers))
    }

    /// Ends every call of this client, in every thread, with ClosedError, and refuses new ones.
    ///
    /// Its batches send no more messages. This waits for the responses to their messages in flight, for at most each batch's grace.
    /// Iterating returns the remaining outcomes, then raises ClosedError. Ctrl-C during the wait ends the grace: the messages without a
    /// response are unknown. Leaving a with statement does the same.
    ///
    /// >>> with agentjob.Client(base_url=client.base_url, api_key="k", project_id="p") as other:
    /// ...     other.closed
    /// False
    /// >>> other.closed
    /// True
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
    #[pyo3(signature = (job_id, prompt, *, timeout=CLIENTS, min_interval=None,
        max_interval=None, lateness=None, settle=None, meta=None, cancel=None, headers=None),
        text_signature = "($self, job_id, prompt, *, timeout='client', min_interval=None, max_interval=None, lateness=None, \
        settle=None, meta=None, cancel=None, headers=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn _send_and_poll(
        &self,
        py: Python<'_>,
        job_id: &Bound<'_, PyAny>,
        prompt: &Bound<'_, PyAny>,
        timeout: Deadline,
        min_interval: Option<Number>,
        max_interval: Option<Number>,
        lateness: Option<Number>,
        settle: Option<Number>,
        meta: Option<Bound<'_, PyAny>>,
        cancel: Option<Bound<'_, PyAny>>,
        headers: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Poller> {
        let schedule = WaitSchedule { timeout, min_interval, max_interval, lateness, settle };
        guarded(py, || Poller::of_message(&self.caller, (job_id, prompt), &schedule, meta, cancel, headers))
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

    /// A token for one call, whose time starts now, before the call queues for a thread: for agentjob.aio.
    #[pyo3(signature = (timeout=None, *, delivers=false))]
    fn _call_token(&self, py: Python<'_>, timeout: Option<Number>, delivers: bool) -> PyResult<CancelToken> {
        let timeout = match timeout {
            Some(timeout) => timeout.seconds("timeout").map_err(|refused| refused.raised(py, delivers))?,
            None => self.caller.core().timeout(),
        };
        Ok(CancelToken::of_call(timeout))
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
