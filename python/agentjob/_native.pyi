"""The native part of agentjob. Import `agentjob` instead."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from types import TracebackType
from typing import Any, Literal, NoReturn, final

from typing_extensions import Self

from .errors import Error, JobFailedError, RateLimitError
from .types import BatchDecision, BatchItem, BatchOutcome, BatchProgress, BatchStatus, BatchUpdate, Event, Job, ResponseMeta, StepState, WaitTimeout

__all__ = [
    "Batch",
    "BatchItems",
    "CancelToken",
    "Client",
    "Emulator",
    "ListBreaker",
    "Poller",
    "Watch",
    "__version__",
    "add_note",
    "batch_drop",
    "batch_export",
    "batch_report",
    "batch_resolve",
    "batch_retry",
    "batch_status",
    "block_signals",
    "check_step_key",
    "ends_every_poll",
    "error_kinds",
    "escape",
    "job_failed",
    "machine_time",
    "note",
    "other_message",
    "parse_batch_list",
    "parse_item_name",
    "read_batch_list",
    "read_headers",
    "resolved_step",
    "resume_step",
    "send_step",
    "serve_emulator",
    "step_error",
    "step_held",
    "step_throttled",
    "step_in_flight",
    "step_list",
    "step_message",
    "step_pace",
    "step_pause",
    "step_retry",
    "stored_failure",
    "stored_job",
    "stored_wait",
    "unresolvable_step",
    "unwaitable_step",
    "wait_step",
    "may_retry_after",
    "write_batch_report",
]

__version__: str

@final
class Client:
    """A client of one project of one agent-job service.

    It may be used from any number of threads at once, and after a fork. No thread runs and no connection is made before the
    first call. An argument wins over its environment variable, which wins over the default.
    """

    def __new__(
        cls,
        *,
        base_url: str | None = None,
        api_key: str | Callable[[], str] | None = None,
        api_key_file: str | PathLike[str] | None = None,
        project_id: str | None = None,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        max_retries: int | None = None,
        max_retry_after: float | None = None,
        max_prompt_bytes: int | None = None,
        max_response_bytes: int | None = None,
        wait_timeout: float | None = None,
        min_interval: float | None = None,
        max_interval: float | None = None,
        lateness: float | None = None,
        settle: float | None = None,
        ca_file: str | PathLike[str] | None = None,
        client_cert: str | PathLike[str] | None = None,
        client_key: str | PathLike[str] | None = None,
        proxy: str | None = None,
        trust_env: bool = True,
        allow_plaintext: bool = False,
        allow_shared_key_file: bool | None = None,
        user_agent_suffix: str | None = None,
        headers: Mapping[str, str] | None = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> Self:
        """Checks every setting and makes the client. Nothing is sent.

        base_url: the service's URL, https://…; plain http only to this machine (AGENTJOB_BASE_URL). Required.
        api_key: the key (AGENTJOB_API_KEY), or a function without arguments that returns it. Required, here or as api_key_file. The
            function is called before each call, on the thread that makes it, and once more after a 401, when the request is made once
            more if it returns another key. Its time counts against timeout, which doesn't interrupt it. If it raises, or returns no
            key, the call ends before anything is sent. It must not be async, and must not use the client.
        api_key_file: a file that contains only the key (AGENTJOB_API_KEY_FILE). It is read again when it changed, and after a 401,
            when the request is made once more if the file has another key. It may be a pipe, which is read once, for at most 60 s.
            A file of this user that others may read or write is refused, as OpenSSH refuses private keys.
        project_id: the project of the jobs (AGENTJOB_PROJECT_ID). Required.
        timeout: total seconds of one call: connecting, retries and pauses included. 60 (AGENTJOB_TIMEOUT).
        connect_timeout: seconds to connect: name lookup, TCP, proxy and TLS together. 10.
        max_retries: how often to retry a failed request, where that cannot deliver a message twice. 2; at most 100.
        max_retry_after: the longest Retry-After, in seconds, that a call waits for on its own. 60; may be 0.
        max_prompt_bytes: the longest prompt, in bytes of UTF-8. 4 MiB.
        max_response_bytes: the longest response. 8 MiB.
        wait_timeout: how long a wait may take, in seconds, unless it has its own timeout. 1800; math.inf for no limit
            (AGENTJOB_WAIT_TIMEOUT, in seconds or none).
        min_interval, max_interval, lateness, settle: the defaults of waits; see wait(). 2, 60, 0.15, 10
            (AGENTJOB_MIN_INTERVAL, AGENTJOB_MAX_INTERVAL, AGENTJOB_LATENESS, AGENTJOB_SETTLE).
        ca_file: a PEM file of authorities to trust in addition to the platform's (AGENTJOB_CA_FILE).
        client_cert: a PEM file with the client certificate for mutual TLS, followed by those of its
            authorities, and perhaps by its private key (AGENTJOB_CLIENT_CERT).
        client_key: a PEM file with that key, not encrypted, if client_cert doesn't have it (AGENTJOB_CLIENT_KEY).
        proxy: http://[user:password@]host:port, instead of the environment's.
        trust_env: whether to use HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.
        allow_plaintext: whether to allow plain http to another machine, which shows the key to the network.
        allow_shared_key_file: whether the key's file may be one that other users can read or write, as the secrets of
            containers are (AGENTJOB_ALLOW_SHARED_KEY_FILE, 1 or 0). False.
        user_agent_suffix: what follows agentjob/<version> in the User-Agent header.
        headers: extra headers of every request, for gateways, tenants and tracing; they are added to
            AGENTJOB_HEADERS (lines "Name: value") and win over those of the same name. At most 64, 16 KiB together. Headers that
            agentjob or a proxy sets are refused by name. A value may be a secret: it is in no repr, error, log line, event or
            pickle.
        on_event: called with each attempt, response, retry and poll, and each pause of a batch, on the calling thread; never with the key, a prompt or a
            body. An exception from it ends the call.

        Times are seconds, more than 0 and at most 7 days.

        Raises InvalidArgumentError, which names the setting, or TypeError.
        """

    def with_options(
        self,
        *,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        max_retries: int | None = None,
        max_retry_after: float | None = None,
        max_prompt_bytes: int | None = None,
        max_response_bytes: int | None = None,
        wait_timeout: float | None = None,
        min_interval: float | None = None,
        max_interval: float | None = None,
        lateness: float | None = None,
        settle: float | None = None,
        headers: Mapping[str, str] | None = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> Client:
        """A client with the same connections and other settings; what is not given stays as it is.

        The arguments are those of the class. Closing either client closes both.

        Raises InvalidArgumentError, which names the setting, or TypeError.

        >>> patient = client.with_options(timeout=300, max_retries=10)
        >>> patient.timeout, client.timeout
        (300.0, 60.0)
        """

    def send_message(
        self,
        job_id: str,
        prompt: str,
        *,
        timeout: float | None = None,
        meta: Callable[[ResponseMeta], object] | None = None,
        cancel: CancelToken | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Job:
        """Sends a follow-up instruction to a job, and returns the job's record, which may still be the previous one.

        timeout: total seconds of this call instead of the client's.
        meta: called with the response's metadata, on the calling thread, when the call succeeds.
        cancel: a token that can end it.
        headers: request headers, which win over the client's.

        The client never sends a message twice. Every error has a `delivery`: not_sent (send it again), rejected (fix the cause
        first), unknown (check the job first) or accepted (do not send it again).

        >>> job = client.send_message("job_demo", "Also cover the error cases", timeout=10)
        >>> job["status"], job["source"]["ref"]
        ('active', 'main')
        >>> meta = {}
        >>> job = client.send_message("job_demo", "And the docs", meta=meta.update)
        >>> meta["status"], meta["attempts"], meta["headers"]["content-type"]
        (200, 1, 'application/json')
        """

    def get_job(
        self,
        job_id: str,
        *,
        timeout: float | None = None,
        meta: Callable[[ResponseMeta], object] | None = None,
        cancel: CancelToken | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Job:
        """Returns a job's record. The options are send_message's.

        Raises NotFoundError for a job that does not exist, AuthenticationError, PermissionDeniedError, RateLimitError, ServerError,
        ConnectError, ConnectionLostError, RequestTimeoutError, InvalidResponseError, InvalidArgumentError, CancelledError,
        ClosedError: all of them agentjob.Error.

        >>> client.get_job("job_demo")["id"]
        'job_demo'
        """

    def create_job(
        self,
        prompt: str,
        *,
        timeout: float | None = None,
        meta: Callable[[ResponseMeta], object] | None = None,
        cancel: CancelToken | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Job:
        """Creates a job, and returns its record. The options and the errors are send_message's. What ends the call when the response is
        there (Ctrl-C, a cancellation, an exception of a callback) has the new job's record as its `job`, and its id in a note.

        >>> client.create_job("Write the missing tests")["status"]
        'active'
        """

    def wait(
        self,
        job_id: str,
        *,
        timeout: WaitTimeout = "client",
        min_interval: float | None = None,
        max_interval: float | None = None,
        lateness: float | None = None,
        settle: float | None = None,
        check: bool = False,
        on_update: Callable[[Job], object] | None = None,
        meta: Callable[[ResponseMeta], object] | None = None,
        cancel: CancelToken | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Job:
        """Waits until a job is completed, archived or failed, and returns its last record.

        timeout: seconds to wait; None waits forever, "client" as long as the client's wait_timeout.
        min_interval, max_interval: the shortest and the longest pause between two polls, in seconds. Polls 0.25, 0.5, 1 and 2 s
            after a message come in any case.
        lateness: how late the end may be noticed, as a fraction of the time waited so far.
        settle: for how many seconds after a message of this client a finished job may still show its previous result. Until then a
            finished record counts only once a poll has seen the job active since the message; 0 accepts the first record.
            What is not given is the client's.
        check: raise JobFailedError if the job failed.
        on_update: called with the record whenever it changed, and with the first one. An exception from it ends the wait.
        meta: called with the metadata of each response that had a record; the last call is for the returned record.
        cancel: a token that can end the wait.
        headers: request headers, which win over the client's.

        A poll that fails for a transient reason (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record)
        never ends a wait.

        Raises WaitTimeoutError when the wait times out, with the last record in `job`, or None if that may be the previous result.

        >>> client.wait("job_demo", timeout=600, min_interval=0.02, on_update=lambda job: print(job["status"]))["status"]
        active
        completed
        'completed'
        """

    def send_and_wait(
        self,
        job_id: str,
        prompt: str,
        *,
        timeout: WaitTimeout = "client",
        min_interval: float | None = None,
        max_interval: float | None = None,
        lateness: float | None = None,
        settle: float | None = None,
        check: bool = False,
        on_update: Callable[[Job], object] | None = None,
        meta: Callable[[ResponseMeta], object] | None = None,
        cancel: CancelToken | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Job:
        """Sends a message and waits for its result: send_message, then wait, with wait's options.

        timeout is the wait's; the message itself has the client's. Once the message was accepted, every error says so in
        `delivery`.

        >>> client.send_and_wait("job_demo", "And the edge cases", min_interval=0.02)["status"]
        'completed'
        """

    def watch(
        self,
        job_id: str,
        *,
        timeout: WaitTimeout = "client",
        min_interval: float | None = None,
        max_interval: float | None = None,
        lateness: float | None = None,
        settle: float | None = None,
        meta: Callable[[ResponseMeta], object] | None = None,
        cancel: CancelToken | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Watch:
        """The records of a job as they change, the last one terminal: `for job in client.watch("job_123"): …`.

        Each call of next() blocks until there is a record. The options are wait's. After an error there are no more.

        >>> client.send_message("job_demo", "Once more")["status"]
        'active'
        >>> [job["status"] for job in client.watch("job_demo", min_interval=0.02)]
        ['active', 'completed']
        """

    def send_all(
        self,
        items: Iterable[BatchItem | tuple[str, str] | tuple[str, str, str | None]],
        *,
        journal: str | PathLike[str],
        concurrency: int = 4,
        rate: str | None = None,
        wait: bool = False,
        timeout: WaitTimeout = "client",
        min_interval: float | None = None,
        max_interval: float | None = None,
        lateness: float | None = None,
        settle: float | None = None,
        resend_unknown: bool = False,
        retry_prompts: Iterable[str] | None = None,
        max_outage: float = 3600.0,
        max_busy: float = 3600.0,
        grace: float = 5.0,
        on_update: Callable[[BatchUpdate], object] | None = None,
        cancel: CancelToken | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Batch:
        """Sends many messages, each at most once, and records them in a file: `for outcome in client.send_all(…): …`.

        Run it again with the same items and journal to resume, however the last run ended: accepted and rejected messages are not
        sent again, nor are messages that may have arrived.

        items: mappings with job_id, prompt and, optionally, key (a name that is unique in the batch), line (the line of the file
            that it comes from, for errors) and extra (metadata of your own, any JSON up to 4096 bytes, which the outcome has
            again); or tuples (job_id, prompt) and (job_id, prompt, key). All are checked before the first is sent.
        journal: the file that records the batch. If it exists, its batch is resumed. It contains no prompt and no key.
        concurrency: how many messages are in flight at once, 1 to 64. Never two for one job.
        rate: at most this many messages in any such span of time, over all runs: "100/h", "2/s", "30/min", "500/d".
        wait: follow each accepted message until its job is done. Only then is the job's next message sent, so each outcome has its
            own result.
        timeout, min_interval, max_interval, lateness, settle: those of wait, for each job; not used without wait=True.
        resend_unknown: send messages that may have arrived in an earlier run again. The agent works twice on those that did, so
            check their jobs first.
        retry_prompts: the prompts with which batch_retry decided to send messages again. The journal has only their digests; a run that
            does not have a decided prompt, from here or from the list, refuses to begin.
        max_outage: how many seconds to keep trying while no message gets a response: no connection, timeouts, 5xx.
        max_busy: how many seconds a job may be busy. While the service responds 409 to a message, its job is polled and the message
            sent again when the job is no longer active; other jobs' messages are sent meanwhile. After this time it is rejected;
            with 0 at once.
        grace: how many seconds to wait for the responses to messages in flight when the batch ends early; may be 0.
        on_update: called with each event between two outcomes, on the thread that iterates. An exception from it stops the batch.
            If messages repeat earlier ones, send_all itself calls it before anything is sent, and an exception leaves it so.
            The client's on_event gets the events of the batch's requests, of its polls and of its pauses on the same thread, each
            with the item's number.
        cancel: a token that stops the batch; then the iterator raises CancelledError last.
        headers: headers that each request of the batch has; they win over the client's. They are not in the journal.

        A 429 pauses the whole batch until the service allows more. So does a service failure, for longer each time. A message that
        is rejected or lost is an outcome, not an exception.

        Raises InvalidArgumentError, which names the item, and JournalError: the journal cannot be opened or written, is damaged, or
        is in use by another run. The iterator raises what stopped the batch, last.

        >>> items = [("job_demo", "Add tests"), ("job_busy", "Add docs")]
        >>> for outcome in client.send_all(items, journal=journal, concurrency=1):
        ...     print(outcome["item"], outcome["job_id"], outcome["delivery"])
        1 job_demo accepted
        2 job_busy accepted
        >>> [outcome["earlier"] for outcome in client.send_all(items, journal=journal)]
        [True, True]
        >>> agentjob.batch_status(journal)["progress"]["accepted"]
        2
        """

    def poller(
        self,
        job_id: str,
        *,
        timeout: WaitTimeout = "client",
        min_interval: float | None = None,
        max_interval: float | None = None,
        lateness: float | None = None,
        settle: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Poller:
        """A wait whose loop the program runs: sleep poller.due_in seconds, then call poller.poll(), until it is done.

        The options are wait's. str(poller) is the wait's state; resume() continues from it, in another process too.

        >>> poller = client.poller("job_demo", min_interval=0.02)
        >>> while not (job := poller.poll()):
        ...     time.sleep(poller.due_in)
        >>> job["status"]
        'completed'
        """

    def resume(self, text: str, *, headers: Mapping[str, str] | None = None) -> Poller:
        """Resumes a wait from a poller's text. The time since the text was written counts as waited. The text has no headers: give
        them again.

        >>> text = str(client.poller("job_demo"))
        >>> client.resume(text).job_id
        'job_demo'
        """

    def close(self) -> None:
        """Ends every call of this client, in every thread, with ClosedError, and refuses new ones.

        Its batches send no more messages. This waits for the responses to their messages in flight, for at most each batch's grace.
        Iterating returns the remaining outcomes, then raises ClosedError. Ctrl-C during the wait ends the grace: the messages without
        a response are unknown. Leaving a with statement does the same.

        >>> with agentjob.Client(base_url=client.base_url, api_key="k", project_id="p") as other:
        ...     other.closed
        False
        >>> other.closed
        True
        """

    def _close(self, cancel: CancelToken) -> None:
        """close() for agentjob.aio: the token ends the grace."""

    def _stop(self) -> bool:
        """close() without the wait, for agentjob.aio. Returns whether a message is in flight."""

    def _send_and_poll(self, job_id: str, prompt: str, **keywords: Any) -> Poller:
        """send_message, and the wait for its result as a Poller, with watch's options: for agentjob.aio and the command line."""

    def _keeping(self, companion: object) -> Client:
        """This client, which keeps an object alive: for agentjob.testing."""

    def _warning_to(self, on_warning: Callable[[Event], object]) -> Client:
        """This client, which reports to a callable the events that a log has as warnings, and collects no others for that: for the
        command line."""

    def _record_json(self, job_id: str | None = None, prompt: str | None = None) -> str:
        """The record of a call as the service wrote it: of a message, of a new job (no job_id), or of a job (no prompt). For the
        command line."""

    def _add_new_job(self, exception: BaseException, job: Job, headers: Mapping[str, str] | None) -> str:
        """Adds the job that was created to the exception that ended the call of agentjob.aio, and returns its id, without secrets."""

    def _call_token(self, timeout: float | None = None, *, delivers: bool = False, cancel: CancelToken | None = None) -> CancelToken:
        """A token for one call, whose time starts now, before the call queues for a thread: for agentjob.aio and agentjob.once. `cancel`
        also ends the call."""

    def __copy__(self) -> Client:
        """Itself: a client is immutable, and safe to share."""

    def __deepcopy__(self, memo: Any, /) -> Client:
        """Itself."""

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        """What it pickles as: its settings without the key, which is read where it is unpickled. TypeError if it was given
        its key as an argument, or a proxy with a password."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    @property
    def closed(self) -> bool:
        """Whether the client was closed."""

    @property
    def base_url(self) -> str:
        """The base URL, without a slash at its end."""

    @property
    def project_id(self) -> str:
        """The project."""

    @property
    def timeout(self) -> float:
        """The total seconds of one call."""

    @property
    def max_retries(self) -> int:
        """How often one call retries a failed request."""

@final
class CancelToken:
    """Ends calls from another thread: give it to a call as cancel=token, then token.cancel().

    The call ends within 100 ms, wherever it is, and raises CancelledError with the message's delivery verdict. A token stays
    cancelled; use a new one for the next call.
    """

    def __new__(cls) -> Self: ...
    def cancel(self) -> None:
        """Ends every call that was given this token, now and later."""

    @property
    def cancelled(self) -> bool:
        """Whether cancel() was called."""

    @property
    def _remaining(self) -> float | None: ...

@final
class Watch(Iterator[Job]):
    """The records of a job as they change; see Client.watch. Leaving its with statement ends it."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Job: ...
    def close(self) -> None:
        """Ends the watch: it returns no more records. It does not end a call of next() in another thread; a cancel token does."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

@final
class Batch(Iterator[BatchOutcome]):
    """A batch of messages that are being sent; see Client.send_all.

    Iterating returns the outcome of each message, those of earlier runs first, and ends when every message has one. The batch
    runs on threads of its own, whether the program iterates or not. Ctrl-C while it waits for an outcome, and an exception from
    on_update, stop it: requests in flight still get their responses, and iterating again returns the remaining outcomes.

    Close the batch, or use it or its client in a with statement: that waits for the responses to messages in flight, for at most
    grace. Without that, a batch that is dropped before its end has them reported as unknown by the next run. Only one thread at a
    time may iterate. Any thread may call progress() and stop().
    """

    def __iter__(self) -> Self: ...
    def __next__(self) -> BatchOutcome: ...
    def __len__(self) -> int:
        """How many messages the batch has."""
    def __bool__(self) -> Literal[True]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def __reduce__(self) -> NoReturn:
        """TypeError: its threads and its journal's lock are this process's."""

    def next_event(self, timeout: float | None = None) -> BatchOutcome | None:
        """Waits for the next outcome and returns it. None: there was none within timeout seconds, or the batch is `finished`.

        timeout: seconds; None waits as long as it takes, 0 does not wait.
        """

    def _next_events(self, cancel: CancelToken) -> list[tuple[bool, Any]]:
        """For agentjob.aio: waits for outcomes and updates, and returns all there are, as (is_outcome, dict)."""

    def _close(self, cancel: CancelToken) -> None:
        """close() for agentjob.aio: the token ends the grace."""

    @property
    def finished(self) -> bool:
        """Whether no more outcomes will come: every message has one, or the batch was stopped, was closed or failed."""

    def progress(self) -> BatchProgress:
        """The batch's progress. It does not wait.

        >>> batch.progress()["items"]
        20
        """

    def stop(self) -> None:
        """Sends no more messages. Requests in flight still get their responses, for at most grace; then the batch is finished.

        Any thread may call it; it does not wait. Iterating returns the remaining outcomes first. The same items and journal resume
        the batch.

        >>> batch.stop()
        >>> sum(1 for outcome in batch) < 20
        True
        """

    def close(self) -> None:
        """Stops the batch, and waits for the responses to its messages in flight, for at most grace. Then it is finished, and
        another run may use its journal. Outcomes that the program did not receive are in the journal. Ctrl-C during the wait ends
        the grace.

        >>> batch.close()
        >>> batch.finished, list(batch)
        (True, [])
        """

@final
class Poller:
    """A wait whose loop the program runs; see Client.poller."""

    def poll(
        self,
        *,
        timeout: float | None = None,
        meta: Callable[[ResponseMeta], object] | None = None,
        cancel: CancelToken | None = None,
    ) -> Job | None:
        """Polls the job once, now. Returns its last record when the job is done, None when it is not.

        timeout: total seconds of this poll instead of the client's. meta: called with the response's metadata if the poll succeeds.
        cancel: a token that can end it. A poll that fails for a transient reason is counted and returns None. Raises
        WaitTimeoutError once the wait has timed out; one more poll is made first if one that was due before was not made, or one ended
        more than a second later.
        """

    def _call_token(self) -> CancelToken: ...
    @property
    def _record_json(self) -> str | None: ...
    @property
    def job_id(self) -> str:
        """The job that is waited for."""

    @property
    def due_in(self) -> float:
        """Seconds until the next poll is due; 0 when it is due now or the job is done."""

    @property
    def job(self) -> Job | None:
        """The last record that this poller read, or None."""

    @property
    def done(self) -> bool:
        """Whether the job is done."""

    @property
    def changed(self) -> bool:
        """Whether the last poll read a record that differs from the one before it."""

    @property
    def polls(self) -> int:
        """How many polls the wait has made."""

    @property
    def elapsed(self) -> float:
        """Seconds that the wait has lasted, over all processes."""

    def to_text(self) -> str:
        """The wait's state as a short text for Client.resume. It contains no secret."""

@final
class ListBreaker:
    """When a worker that sends a list may send: the circuit breaker of a batch. Times are seconds of the caller's clock."""

    def __new__(cls) -> Self: ...
    def admit(self, now: float, in_flight: int) -> tuple[float | None, bool]:
        """How long a message has to wait at least, None if it may be sent; and whether its job is polled first. After a pause it is a
        probe, alone in flight."""

    def responded(self) -> bool:
        """The service responded to a message. Returns whether that ended a pause."""

    def rate_limited(self, now: float) -> None:
        """The service returned 429."""

    def failed(self, now: float) -> float:
        """The service failed, or can't be reached. Returns for how long it has."""

@final
class BatchItems:
    """Items that are read already, for one Client.send_all, which takes it beside iterables. For agentjob.aio and the command line."""

    def __new__(cls, items: Iterable[Any]) -> Self: ...
    def __len__(self) -> int: ...
    def repeated(self) -> BatchUpdate | None:
        """The update about repeated messages, if there are any."""

@final
class Emulator:
    """The emulator of the service, behind `agentjob.testing.Emulator`."""

    def __new__(cls, config: str = "{}") -> Self:
        """Listens on loopback. config is the emulator's configuration as JSON."""

    @property
    def base_url(self) -> str: ...
    @property
    def api_key(self) -> str: ...
    @property
    def project_id(self) -> str: ...
    @property
    def job_id(self) -> str: ...
    def ledger(self) -> list[dict[str, Any]]:
        """Every message that was processed."""

    def requests(self) -> dict[str, Any]:
        """Every request that was started."""

    def set_api_key(self, api_key: str) -> None:
        """Takes only this key from now on."""

    def reset(self, config: str = "{}") -> None:
        """Starts over with another configuration (JSON); connections stay open."""

    def stop(self) -> None:
        """Stops listening and closes every connection."""

def read_headers(name: str, text: str) -> dict[str, str]:
    """The headers in a text of lines `Name: value`, for the command line. name is what errors call the text."""

def read_batch_list(path: str | PathLike[str], *, format: str | None = None, extra: bool = False) -> list[BatchItem]:
    """The messages of a file, for Client.send_all: JSON objects with job_id, prompt and, optionally, key, one per line or in one
    array; or CSV or TSV with a header that names these columns, in which a field with a separator, a quote or a line break is quoted
    as a whole (RFC 4180). Each has its line.

    path: the file, UTF-8.
    format: "json" or "jsonl", "csv" or "tsv"; None for what the file's name suggests: .csv, .tsv, and JSON for all others.
    extra: keep other columns or fields as each item's extra, a dict; otherwise they are refused.

    Raises InvalidArgumentError: the file cannot be read, has no messages, or has a wrong line, which it names, with its column. It
    never quotes a prompt.
    """

def parse_batch_list(content: bytes, name: str, format: str | None = None, extra: bool = False) -> BatchItems:
    """The same for a list's content, with each extra as it is written there; name is what errors call it. For the command line."""

def parse_item_name(word: str) -> int | str:
    """The number or the key that a word on the command line names. For the command line, which reads "all" itself."""

def batch_status(journal: str | PathLike[str]) -> BatchStatus:
    """The status of a batch, from its journal, whether a run is active or not: its progress, and the messages that were rejected or
    may have arrived. It sends nothing and writes nothing.

    Raises JournalError: the file cannot be read, is damaged, or is not a journal.
    """

def batch_resolve(
    journal: str | PathLike[str],
    items: Literal["all"] | Iterable[int | str],
    resolution: Literal["arrived", "not_arrived", "resend"],
) -> list[BatchDecision]:
    """Decides about messages that may have arrived: "arrived" (count it as accepted), "not_arrived" (send it), or "resend" (send it
    although it may have arrived; the agent works twice if it did). The next run of the batch acts on it; until then it can be decided
    otherwise. Use asyncio.to_thread or trio.to_thread.run_sync in asynchronous programs: it waits for the disk.

    items: numbers and keys, or "all" for every message that is unknown and about which nothing was decided.

    Returns the decisions, which are on the disk. Raises InvalidArgumentError, which names the item, and then nothing was written;
    JournalError: the journal cannot be read or written, is damaged, or a run is using it.
    """

def batch_retry(
    journal: str | PathLike[str], items: Literal["all"] | Iterable[int | str], prompt: str | None = None
) -> list[BatchDecision]:
    """Decides that the next run sends rejected messages again, with the same prompt or with another one.

    The journal has only the digest of a new prompt: give the prompt to the next run, too, as one of its retry_prompts or in its
    item. A run without it refuses to begin. Otherwise as batch_resolve.
    """

def batch_drop(journal: str | PathLike[str], items: Literal["all"] | Iterable[int | str]) -> list[BatchDecision]:
    """Decides that the batch is done with messages that were rejected, not sent, or may have arrived: no run sends or reports them.
    "all" is every message that was rejected or may have arrived. Otherwise as batch_resolve.
    """

def batch_export(
    journal: str | PathLike[str],
    format: Literal["jsonl", "csv"] = "jsonl",
    items: Literal["all"] | Iterable[int | str] = "all",
) -> str:
    """Every message of the last run that was sent or tried, or those that are named, as text: "jsonl" (an object per
    line) or "csv" (with a header). It sends nothing and writes nothing, and works during a run, too.

    The keys and columns are item, key, job_id, state (accepted, rejected, unknown, not_sent, sending, dropped), decision, decided_at,
    at (when the outcome was recorded), http_status, reason, status and pr_link (the job's, once a run
    has waited for the message's result).

    Raises InvalidArgumentError: an item is not in the journal; JournalError: the journal cannot be read or is damaged.
    """

def batch_report(journal: str | PathLike[str]) -> str:
    """A report about a batch, from its journal, as one page of HTML: the counts, what to do next, when what happened, and a table of all
    messages. It loads nothing, and works without a script. It has no prompts and no key, but names jobs and pull requests. It sends
    nothing and writes nothing.

    Raises JournalError: the file cannot be read, is damaged, or is not a journal.
    """

def write_batch_report(journal: str | PathLike[str], path: str | PathLike[str], *, replace: bool = False) -> None:
    """Writes batch_report into a file that other users cannot read: all of it, or nothing.

    replace: replace the file if it exists. Raises JournalError as batch_report does, and InvalidArgumentError: the file exists, is the
    journal itself or no regular file, or cannot be written; then it is as it was.
    """

def block_signals() -> None:
    """Blocks every signal but the thread's own faults on the calling thread, for a thread of agentjob.aio."""

def add_note(exception: BaseException, delivery: str, /) -> None:
    """Adds a message's verdict to an exception that the core did not raise, as its `delivery` and as its last note. It replaces the
    verdict of another call."""

def note(exception: BaseException, text: str) -> None:
    """Adds a note to an exception that the core did not raise."""

def error_kinds() -> list[str]:
    """The kinds of all errors, for the test that each has a class."""

def escape(text: str, /) -> str:
    """A text from outside, with control and invisible characters escaped, for a terminal or a log."""

def job_failed(job_id: str, job: Job | None, /) -> JobFailedError:
    """The error for a job that failed, for `check=True`."""

def machine_time() -> tuple[str, float] | None:
    """What identifies this start of the machine, and how many seconds ago it was; None where the system does not say."""

def step_message(
    client: Client,
    key: str,
    job_id: str,
    prompt: str,
    meta: Callable[..., object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> str:
    """Checks a step's arguments, and returns the digest of its message: the job, the prompt, the project and the service."""

def step_list(
    client: Client, items: Iterable[Any], headers: Mapping[str, str] | None = None, **keywords: Any
) -> tuple[list[tuple[str, str, str, int | None, Any, str]], float]:
    """Checks the messages of a list, and the options. Returns of each the key, the job's id, the prompt, the line, the extra and the
    digest of its message; and how many seconds the shortest pause between two polls is."""

def ends_every_poll(exception: Exception) -> bool:
    """Whether the exception that ended a poll would end each other poll, too."""

def step_retry(exception: Exception, failures: int, most: int) -> tuple[float, int] | None:
    """For how many seconds an engine waits before it runs a step again that raised this exception, and how many failures in a row there are
    then; None if a retry can't help, or it has failed `most` times."""

def step_held(key: str, job_id: str, behind: str, is_unknown: bool, delivery: str) -> Error:
    """The exception of a step that is held behind another one of its job, which may have arrived, or whose result is missing."""

def step_pace(client: Client, rate: str | None = None) -> tuple[str, int | None, float | None]:
    """The pace of a client's steps: the scope; and, with a rate, how many messages in how many seconds."""

def step_pause(retry_after: float | None = None) -> float:
    """For how many seconds a 429 pauses all workers."""

def may_retry_after(client: Client, pause: float, retries: int) -> bool:
    """Whether a call that got a 429 waits for the end of the pause and sends its message again; it has done so `retries` times."""

def step_throttled(key: str, job_id: str, is_pause: bool, retry_after: float) -> RateLimitError:
    """The exception of a call that may not send its message before it must end."""

def check_step_key(key: str) -> None:
    """Checks the key of a step."""

def send_step(outcome: list[tuple[str, Poller | None, str]], client: Client, job_id: str, prompt: str, **keywords: Any) -> None:
    """Sends the message of a step. Before it returns or raises, it appends to `outcome` the delivery, the wait for the result if it
    returns, and what a failure affects: item, job, rate_limit, service, batch. No signal comes in between."""

def stored_wait(client: Client, poller: Poller) -> tuple[str | None, str]:
    """What is stored of a wait: the record, None if it has none, and the wait itself."""

def stored_failure(client: Client, exception: BaseException, delivery: str, headers: Mapping[str, str] | None = None) -> str:
    """What is stored of the exception that ended a send, whose message had this delivery."""

def stored_job(record: str) -> Job:
    """The record that a store has."""

def resume_step(client: Client, job_id: str, poller: str | None = None, **keywords: Any) -> Poller:
    """The wait for a step's result, with wait's options."""

def wait_step(client: Client, job_id: str, poller: str | None = None, **keywords: Any) -> tuple[Job, str | None]:
    """Waits for a step's result, with wait's options but check. Returns the last record, and what is stored of it."""

def step_error(key: str, job_id: str, failure: str | None, may_have_arrived: bool) -> Error:
    """The exception of a step whose message may have arrived."""

def step_in_flight(key: str, job_id: str, kind: str) -> Error:
    """The exception of a call that waited for another worker's outcome; kind: timeout, cancelled or closed."""

def other_message(key: str, known_job_id: str, job_id: str) -> Error:
    """The exception of a step whose key has another message."""

def resolved_step(resolution: str) -> StepState:
    """The state that a decision makes of a step."""

def unwaitable_step(key: str, state: str) -> Error:
    """The exception of a step in a state that has no result; "": the store does not have it."""

def unresolvable_step(key: str, state: str) -> Error:
    """The exception of a step in a state that can't be resolved; "": the store does not have it."""

def serve_emulator(program: str, args: list[str]) -> int:
    """Runs the emulator as a command, which `program` names, until a signal ends it. Returns its exit status."""
