"""The native part of agentjob. Import `agentjob` instead."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from types import TracebackType
from typing import Any, NoReturn, final

from typing_extensions import Self

from .types import BatchItem, BatchOutcome, BatchProgress, BatchStatus, BatchUpdate, Event, Job

__all__ = [
    "Batch",
    "CancelToken",
    "Client",
    "Emulator",
    "Poller",
    "Watch",
    "__version__",
    "add_note",
    "batch_status",
    "block_signals",
    "error_kinds",
    "escape",
    "read_batch_list",
    "serve_emulator",
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
        api_key: str | None = None,
        api_key_file: str | PathLike[str] | None = None,
        project_id: str | None = None,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        max_retries: int | None = None,
        max_retry_after: float | None = None,
        max_prompt_bytes: int | None = None,
        max_response_bytes: int | None = None,
        ca_file: str | PathLike[str] | None = None,
        proxy: str | None = None,
        trust_env: bool = True,
        allow_plaintext: bool = False,
        allow_shared_key_file: bool | None = None,
        user_agent_suffix: str | None = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> Self:
        """Checks every setting and makes the client. Nothing is sent.

        base_url: the service's URL, https://…; plain http only to this machine (AGENTJOB_BASE_URL). Required.
        api_key: the key (AGENTJOB_API_KEY). Required, here or as api_key_file.
        api_key_file: a file that contains only the key (AGENTJOB_API_KEY_FILE). It may be a pipe, for which the client waits up
            to 60 s. A file of this user that others may read or write is refused, as OpenSSH refuses private keys.
        project_id: the project of the jobs (AGENTJOB_PROJECT_ID). Required.
        timeout: total seconds of one call: connecting, retries and pauses included. 60 (AGENTJOB_TIMEOUT).
        connect_timeout: seconds to connect: name lookup, TCP, proxy and TLS together. 10.
        max_retries: how often to retry a failed request, where that cannot deliver a message twice. 2; at most 100.
        max_retry_after: the longest Retry-After, in seconds, that a call waits for on its own. 60; may be 0.
        max_prompt_bytes: the longest prompt, in bytes of UTF-8. 4 MiB.
        max_response_bytes: the longest response. 8 MiB.
        ca_file: a PEM file of authorities to trust besides the platform's (AGENTJOB_CA_FILE).
        proxy: http://[user:password@]host:port, instead of the environment's.
        trust_env: whether to use HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.
        allow_plaintext: whether to allow plain http to another machine, which shows the key to the network.
        allow_shared_key_file: whether the key's file may be one that other users can read or write, as the secrets of
            containers are (AGENTJOB_ALLOW_SHARED_KEY_FILE, 1 or 0). False.
        user_agent_suffix: what follows agentjob/<version> in the User-Agent header.
        on_event: called with each attempt, retry and poll, on the calling thread; never with the key, a prompt or a body.
            An exception from it ends the call.

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
        on_event: Callable[[Event], object] | None = None,
    ) -> Client:
        """A client with the same connections and other settings; what is not given stays as it is.

        The arguments are those of the class. Closing either client closes both.

        Raises InvalidArgumentError, which names the setting, or TypeError.
        """

    def send_message(self, job_id: str, prompt: str, *, timeout: float | None = None, cancel: CancelToken | None = None) -> Job:
        """Sends a follow-up instruction to a job, and returns the job's record, which may still be the previous one.

        timeout: total seconds of this call instead of the client's.
        cancel: a token that can end it.

        The client never sends a message twice. Every error has a `delivery`: not_sent (send it again), rejected (fix the cause
        first), unknown (check the job first) or accepted (do not send it again).
        """

    def get_job(self, job_id: str, *, timeout: float | None = None, cancel: CancelToken | None = None) -> Job:
        """Returns a job's record.

        timeout: total seconds of this call instead of the client's.
        cancel: a token that can end it.
        """

    def create_job(self, prompt: str, *, timeout: float | None = None, cancel: CancelToken | None = None) -> Job:
        """Creates a job, and returns its record. Errors are those of send_message.

        timeout: total seconds of this call instead of the client's.
        cancel: a token that can end it.
        """

    def wait(
        self,
        job_id: str,
        *,
        timeout: float | None = 1800.0,
        min_interval: float = 2.0,
        max_interval: float = 60.0,
        lateness: float = 0.15,
        settle: float = 10.0,
        check: bool = False,
        on_update: Callable[[Job], object] | None = None,
        cancel: CancelToken | None = None,
    ) -> Job:
        """Waits until a job is completed, archived or failed, and returns its last record.

        timeout: seconds to wait; None waits forever.
        min_interval, max_interval: the shortest and the longest pause between two polls, in seconds.
        lateness: how late the end may be noticed, as a fraction of the time waited so far.
        settle: for how many seconds after a message of this client a finished job may still show its previous result.
        check: raise JobFailedError if the job failed.
        on_update: called with the record whenever it changed, and with the first one. An exception from it ends the wait.
        cancel: a token that can end the wait.

        A poll that fails for a transient reason (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record)
        never ends a wait.

        Raises WaitTimeoutError, with the last record in `job`, when the wait times out.
        """

    def send_and_wait(
        self,
        job_id: str,
        prompt: str,
        *,
        timeout: float | None = 1800.0,
        min_interval: float = 2.0,
        max_interval: float = 60.0,
        lateness: float = 0.15,
        settle: float = 10.0,
        check: bool = False,
        on_update: Callable[[Job], object] | None = None,
        cancel: CancelToken | None = None,
    ) -> Job:
        """Sends a message and waits for its result: send_message, then wait, with wait's options.

        timeout is the wait's; the message itself has the client's. Once the message was accepted, every error says so in
        `delivery`.
        """

    def watch(
        self,
        job_id: str,
        *,
        timeout: float | None = 1800.0,
        min_interval: float = 2.0,
        max_interval: float = 60.0,
        lateness: float = 0.15,
        settle: float = 10.0,
        cancel: CancelToken | None = None,
    ) -> Watch:
        """The records of a job as they change, the last one terminal: `for job in client.watch("job_123"): …`.

        Each call of next() blocks until there is a record. The options are wait's. After an error there are no more.
        """

    def send_all(
        self,
        items: Iterable[BatchItem | Mapping[str, object] | tuple[str, str] | tuple[str, str, str | None]],
        *,
        journal: str | PathLike[str],
        concurrency: int = 4,
        rate: str | None = None,
        wait: bool = False,
        timeout: float | None = 1800.0,
        min_interval: float = 2.0,
        max_interval: float = 60.0,
        lateness: float = 0.15,
        settle: float = 10.0,
        resend_unknown: bool = False,
        max_outage: float = 3600.0,
        grace: float = 5.0,
        on_update: Callable[[BatchUpdate], object] | None = None,
        cancel: CancelToken | None = None,
    ) -> Batch:
        """Sends many messages, each at most once, and records them in a file: `for outcome in client.send_all(…): …`.

        Run it again with the same items and journal to resume, however the last run ended: accepted and rejected messages are not
        sent again, nor are messages that may have arrived.

        items: mappings with job_id, prompt and, optionally, key (a name that is unique in the batch) and line (the line of the file
            that it comes from, for errors); or tuples (job_id, prompt) and (job_id, prompt, key). All are checked before the first
            is sent.
        journal: the file that records the batch. If it exists, its batch is resumed. It contains no prompt and no key.
        concurrency: how many messages are in flight at once, 1 to 64. Never two for one job.
        rate: at most this many messages in any such span of time, over all runs: "100/h", "2/s", "30/min", "500/d".
        wait: follow each accepted message until its job is done.
        timeout, min_interval, max_interval, lateness, settle: those of wait, for each job; not used without wait=True.
        resend_unknown: send messages that may have arrived in an earlier run again. The agent works twice on those that did, so
            check their jobs first.
        max_outage: how many seconds to keep trying while no message gets a response: no connection, timeouts, 5xx.
        grace: how many seconds to wait for the responses to messages in flight when the batch ends early; may be 0.
        on_update: called with each event between two outcomes, on the thread that iterates. An exception from it stops the batch.
            The client's on_event gets no events of a batch.
        cancel: a token that stops the batch; then the iterator raises CancelledError last.

        A 429 pauses the whole batch until the service allows more. So does a service failure, for longer each time. A message that
        is rejected or lost is an outcome, not an exception.

        Raises InvalidArgumentError, which names the item, and JournalError: the journal cannot be opened or written, is damaged, or
        is in use by another run. The iterator raises what stopped the batch, last.
        """

    def poller(
        self,
        job_id: str,
        *,
        timeout: float | None = 1800.0,
        min_interval: float = 2.0,
        max_interval: float = 60.0,
        lateness: float = 0.15,
        settle: float = 10.0,
    ) -> Poller:
        """A wait whose loop the program runs: sleep poller.due_in seconds, then call poller.poll(), until it is done.

        The options are wait's. str(poller) is the wait's state; resume() continues from it, in another process too.
        """

    def resume(self, text: str) -> Poller:
        """Resumes a wait from a poller's text. The time since the text was written counts as waited."""

    def close(self) -> None:
        """Ends every call of this client, in every thread, with ClosedError, and refuses new ones.

        Its batches send no more messages. This waits for the responses to their messages in flight, for at most each batch's grace.
        Leaving a with statement does the same.
        """

    def _close(self, cancel: CancelToken) -> bool:
        """close() for agentjob.aio: the token ends the wait. Returns whether no message is in flight any more."""

    def _abort(self) -> None:
        """Ends the grace of its batches, for agentjob.aio: messages without a response are unknown."""

    def _send_and_poll(
        self,
        job_id: str,
        prompt: str,
        *,
        timeout: float | None = 1800.0,
        min_interval: float = 2.0,
        max_interval: float = 60.0,
        lateness: float = 0.15,
        settle: float = 10.0,
        cancel: CancelToken | None = None,
    ) -> Poller:
        """send_message, and the wait for its result as a Poller: for agentjob.aio and the command line."""

    def _call_token(self, timeout: float | None = None, *, delivers: bool = False) -> CancelToken:
        """A token for one call, whose time starts now, before the call queues for a thread: for agentjob.aio."""

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
    """The records of a job as they change; see Client.watch."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Job: ...

@final
class Batch(Iterator[BatchOutcome]):
    """A batch of messages that are being sent; see Client.send_all.

    Iterating returns the outcome of each message, those of earlier runs first, and ends when every message has one. The batch
    runs on threads of its own, whether the program iterates or not. Ctrl-C while it waits for an outcome, and an exception from
    on_update, stop it: requests in flight still get their responses, and iterating again returns the remaining outcomes.

    Close the batch, or use it or its client in a with statement: that waits for the responses to messages in flight, for at most
    grace. A batch that is garbage collected before its end stops and waits for them in the background; the interpreter waits for
    that before it exits. Only one thread at a time may iterate. Any thread may call progress() and stop().
    """

    def __iter__(self) -> Self: ...
    def __next__(self) -> BatchOutcome: ...
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
        """close() for agentjob.aio: the token ends the wait."""

    def _abort(self) -> None:
        """Ends the grace, for agentjob.aio: messages without a response are unknown."""

    @property
    def finished(self) -> bool:
        """Whether no more outcomes will come: every message has one, or the batch was stopped, was closed or failed."""

    def progress(self) -> BatchProgress:
        """The batch's progress. It does not wait."""

    def stop(self) -> None:
        """Sends no more messages. Requests in flight still get their responses, for at most grace; then the batch is finished.

        Any thread may call it; it does not wait. Iterating returns the remaining outcomes first. The same items and journal resume
        the batch.
        """

    def close(self) -> None:
        """Stops the batch, and waits for the responses to its messages in flight, for at most grace. Then it is finished, and
        another run may use its journal. Outcomes that the program did not receive are in the journal."""

@final
class Poller:
    """A wait whose loop the program runs; see Client.poller."""

    def poll(self, *, timeout: float | None = None, cancel: CancelToken | None = None) -> Job | None:
        """Polls the job once, now. Returns its last record when the job is done, None when it is not.

        timeout: total seconds of this poll instead of the client's. cancel: a token that can end it. A poll that fails for a
        transient reason is counted and returns None. Raises WaitTimeoutError once the wait has timed out.
        """

    def _call_token(self) -> CancelToken: ...
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

    def reset(self, config: str = "{}") -> None:
        """Starts over with another configuration (JSON); connections stay open."""

    def stop(self) -> None:
        """Stops listening and closes every connection."""

def read_batch_list(content: bytes, name: str, format: str | None = None) -> list[dict[str, Any]]:
    """The messages in a list's content, as dicts with job_id, prompt, line and, where an item has one, key.

    name is what errors call the list; format is "jsonl" or "csv", or None for what the name suggests. Raises
    InvalidArgumentError, which names the first wrong line.
    """

def batch_status(journal: str | PathLike[str]) -> BatchStatus:
    """The status of a batch, from its journal, whether a run is active or not: its progress, and the messages that were rejected or
    may have arrived. It sends nothing and writes nothing.

    Raises JournalError: the file cannot be read, is damaged, or is not a journal.
    """

def block_signals() -> None:
    """Blocks every signal but the thread's own faults on the calling thread, for a thread of agentjob.aio."""

def add_note(exception: BaseException, delivery: str, /) -> None:
    """Adds a message's verdict to an exception that the core did not raise, as its `delivery` and as a note."""

def error_kinds() -> list[str]:
    """The kinds of all errors, for the test that each has a class."""

def escape(text: str, /) -> str:
    """A text from outside, with control and invisible characters escaped, for a terminal or a log."""

def serve_emulator(args: list[str]) -> int:
    """Runs the emulator as a command, until a signal ends it. Returns its exit status."""
