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
    "call_token",
    "escape",
    "read_batch_list",
    "send_and_poll",
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

        base_url: where the service is, https://…; plain http only to this machine (AGENTJOB_BASE_URL). Required.
        api_key: the key (AGENTJOB_API_KEY). Required, here or as api_key_file.
        api_key_file: a file that holds the key alone (AGENTJOB_API_KEY_FILE). It may be a pipe, which is waited for 60 s at
            most. A file of this user's that others may read or write is refused, like OpenSSH's private keys.
        project_id: the project of the jobs (AGENTJOB_PROJECT_ID). Required.
        timeout: total seconds of one call: connecting, retries and pauses included. 60 (AGENTJOB_TIMEOUT).
        connect_timeout: seconds to connect: name lookup, TCP, proxy and TLS together. 10.
        max_retries: how often a failed request is made again, where that cannot deliver a message twice. 2; at most 100.
        max_retry_after: the longest Retry-After, in seconds, that a call waits for by itself. 60; may be 0.
        max_prompt_bytes: the longest prompt, in bytes of UTF-8. 4 MiB.
        max_response_bytes: the longest answer. 8 MiB.
        ca_file: a PEM file of authorities to trust besides the platform's (AGENTJOB_CA_FILE).
        proxy: http://[user:password@]host:port, instead of the environment's.
        trust_env: whether HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY count.
        allow_plaintext: whether plain http may go to another machine, which shows the network the key.
        allow_shared_key_file: whether the key's file may be one that other users can read or write, as the secrets of
            containers are (AGENTJOB_ALLOW_SHARED_KEY_FILE, 1 or 0). False.
        user_agent_suffix: what to put behind agentjob/<version> in the User-Agent header.
        on_event: called with each attempt, retry and poll, on the calling thread; never with the key, a prompt or a body.
            What it raises ends the call.

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

        The arguments are the class's own. To close one of the two closes both.

        Raises InvalidArgumentError, which names the setting, or TypeError.
        """

    def send_message(self, job_id: str, prompt: str, *, timeout: float | None = None, cancel: CancelToken | None = None) -> Job:
        """Sends a follow-up instruction to a job, and returns the job's record, which may still be the previous one.

        timeout: total seconds of this call instead of the client's.
        cancel: a token that can end it.

        A message is never sent twice. Every error says in `delivery` what became of it: not_sent (send it again), rejected
        (mend it first), unknown (look at the job first), accepted (do not send it again).
        """

    def get_job(self, job_id: str, *, timeout: float | None = None, cancel: CancelToken | None = None) -> Job:
        """Asks for a job's record.

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

        timeout: seconds to wait; None is for ever.
        min_interval, max_interval: the shortest and the longest pause between two looks, in seconds.
        lateness: how late the end may be noticed, as a part of the time waited so far.
        settle: for how many seconds after a message of this client a finished job may still show its previous result.
        check: raise JobFailedError if the job failed.
        on_update: called with the record whenever it changed, the first one too. What it raises ends the wait.
        cancel: a token that can end the wait.

        A poll that fails for a passing reason (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record)
        never ends a wait.

        Raises WaitTimeoutError, with the last record in `job`, when the time is over.
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

        Each step blocks until there is a record. The options are wait's. After an error there are no more.
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
        """Sends many messages, each at most once, and keeps the place in a file: `for outcome in client.send_all(…): …`.

        Run it again with the same items and journal, and it goes on where it was, however the last run ended: accepted and
        rejected messages are not sent again, nor is one of which nobody knows whether it arrived.

        items: mappings with job_id, prompt and, if they like, key (a name that is the item's own) and line (the line of a file
            that it is from: errors name it); or tuples (job_id, prompt) and (job_id, prompt, key). All are checked before one
            is sent.
        journal: the file that keeps the batch's place. One that exists is gone on with. It holds no prompt and no key.
        concurrency: how many messages are under way at once, 1 to 64. Never two for one job.
        rate: at most so many messages in any span of time, over all runs: "100/h", "2/s", "30/min", "500/d".
        wait: follow each accepted message until its job is done.
        timeout, min_interval, max_interval, lateness, settle: those of wait, for each job; without wait=True they are not used.
        resend_unknown: send those again of which an earlier run does not know whether they arrived. Those that did are worked
            on twice, so look at their jobs first.
        max_outage: for how many seconds it goes on while no message is answered: no connection, timeouts, 5xx.
        grace: for how many seconds the answers to messages in flight are awaited when the batch ends early, however it ends; may be 0.
        on_update: called for what happens between two outcomes, on the thread that iterates. What it raises stops the batch.
            The client's on_event hears nothing of a batch.
        cancel: a token that stops it; then CancelledError comes last.

        A 429 holds the whole batch back until the service allows more; trouble on the way does, too, longer each time. A message
        that is rejected or lost is an outcome, not an exception.

        Raises InvalidArgumentError, which names the item, and JournalError: it cannot be opened or written, is damaged, or another
        run has it. The iterator raises what stopped the batch, last.
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
        """A wait in steps, for programs that own their loop: sleep poller.due_in seconds, then poller.poll().

        The options are wait's. str(poller) holds where the wait stands; resume() goes on from it, also elsewhere.
        """

    def resume(self, text: str) -> Poller:
        """Goes on with a wait in steps from a poller's text. The time since it was written counts as waited."""

    def close(self) -> None:
        """Ends every call of this client, in every thread, with ClosedError, and refuses new ones.

        Its batches send nothing more, but the answers to their messages in flight are awaited here, for at most each batch's
        grace. Leaving a with statement does the same.
        """

    def _close(self, cancel: CancelToken) -> bool:
        """close() for agentjob.aio: the token ends the waiting. Returns whether no message is in flight any more."""

    def _abort(self) -> None:
        """Ends the grace of its batches, for agentjob.aio: what has no answer yet is unknown."""

    def __copy__(self) -> Client:
        """Itself: a client is immutable, and safe to share."""

    def __deepcopy__(self, memo: Any, /) -> Client:
        """Itself."""

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        """What it pickles as: its settings without the key, which is read where it is unpickled. TypeError if it was given
        its key, or a proxy with a password."""

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
        """How often one call makes a failed request again."""

@final
class CancelToken:
    """Ends calls from another thread: give it to a call as cancel=token, then token.cancel().

    The call sees it within 100 ms wherever it is, and raises CancelledError, which says in `delivery` what became of the
    message. A token stays cancelled; take a new one for the next call.
    """

    def __new__(cls) -> Self: ...
    def cancel(self) -> None:
        """Ends every call that was given this token, now and later."""

    @property
    def cancelled(self) -> bool:
        """Whether cancel() was called."""

    @property
    def _left(self) -> float | None: ...

@final
class Watch(Iterator[Job]):
    """The records of a job as they change; see Client.watch."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Job: ...

@final
class Batch(Iterator[BatchOutcome]):
    """Many messages at work; see Client.send_all.

    As an iterator it answers the outcome of each message, those of earlier runs first, and ends when every message has one. It
    works in threads of its own, whether somebody iterates or not. Ctrl-C in a step, and what on_update raises, stop it: what is
    under way has its answer, and whoever goes on iterating has the rest of the outcomes.

    Close it, or use it in a with statement, or its client; leaving that awaits the answers to its messages in flight, for at most
    grace. One that is let go of before its end stops, and they are awaited in the background; the program's end waits for that.
    Only one thread at a time may iterate; progress() and stop() are for every thread.
    """

    def __iter__(self) -> Self: ...
    def __next__(self) -> BatchOutcome: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def __reduce__(self) -> NoReturn:
        """TypeError: its threads and its journal's lock are this process's."""

    def step(self, timeout: float | None = None) -> BatchOutcome | None:
        """The next outcome, or None if there is none within timeout seconds, or the batch is over: `over` tells which.

        timeout: None waits as long as it takes; 0 does not wait.
        """

    def _take(self, cancel: CancelToken) -> list[tuple[bool, Any]]:
        """What agentjob.aio takes: outcomes and updates as (is_outcome, dict)."""

    def _close(self, cancel: CancelToken) -> None:
        """close() for agentjob.aio: the token ends the waiting."""

    def _abort(self) -> None:
        """Ends the grace, for agentjob.aio: what has no answer yet is unknown."""

    @property
    def over(self) -> bool:
        """Whether there is nothing more to come: every message had its outcome, the batch was stopped, failed, or was closed."""

    def progress(self) -> BatchProgress:
        """How far the batch is. It does not wait."""

    def stop(self) -> None:
        """Sends nothing more. What is under way has its answer, for at most grace; then the batch is over.

        From any thread, at once. Whoever iterates has the remaining outcomes first. The same items and journal go on with it.
        """

    def close(self) -> None:
        """Stops the batch, and waits until what is under way has its answer, for at most grace. Then it is over, and its journal
        is free for another run. Outcomes that were not heard are in the journal."""

@final
class Poller:
    """A wait in steps; see Client.poller."""

    def poll(self, *, timeout: float | None = None, cancel: CancelToken | None = None) -> Job | None:
        """Looks at the job once, now. Returns its last record when the job is done, None when it is not.

        timeout: total seconds of this look instead of the client's. A look that fails for a passing reason is counted and
        returns None. Raises WaitTimeoutError once the wait's time is over.
        """

    def _call_token(self) -> CancelToken: ...
    @property
    def job_id(self) -> str:
        """The job that is waited for."""

    @property
    def due_in(self) -> float:
        """Seconds until the next look is due; 0 when it is due now or the job is done."""

    @property
    def job(self) -> Job | None:
        """The last record that was seen by this poller."""

    @property
    def done(self) -> bool:
        """Whether the job is done."""

    @property
    def changed(self) -> bool:
        """Whether the last look showed a record that differs from the one before it."""

    @property
    def polls(self) -> int:
        """How many looks were made."""

    @property
    def elapsed(self) -> float:
        """Seconds that the wait has lasted, over all processes."""

    def to_text(self) -> str:
        """Where the wait stands, as a short text for Client.resume. It holds no secret."""

@final
class Emulator:
    """The stand-in of the service; `agentjob.testing.Emulator` is its face."""

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
        """Every message that was really processed."""

    def requests(self) -> dict[str, Any]:
        """Every request that began."""

    def reset(self, config: str = "{}") -> None:
        """Starts everything again with another configuration (JSON); connections stay."""

    def stop(self) -> None:
        """Stops listening and ends every connection."""

def read_batch_list(content: bytes, name: str, format: str | None = None) -> list[dict[str, Any]]:
    """The messages in a list's content, as dicts with job_id, prompt, line and, where an item has one, key.

    name is what errors call the list; format is "jsonl" or "csv", or None for what the name suggests. Raises
    InvalidArgumentError with one sentence that names the first wrong line.
    """

def batch_status(journal: str | PathLike[str]) -> BatchStatus:
    """What a journal says of its batch, whether a run is on or not: how far it is, and which messages were rejected or may have
    arrived. It sends nothing and writes nothing.

    Raises JournalError: the journal cannot be read, is damaged, or is none.
    """

def block_signals() -> None:
    """Blocks every signal on the calling thread but its own faults, for a thread of agentjob.aio."""

def call_token(client: Client, timeout: float | None = None, *, delivers: bool = False) -> CancelToken:
    """A token for one call of the client, whose time begins now, before it queues for a thread: for agentjob.aio."""

def add_note(exception: BaseException, delivery: str, /) -> None:
    """Says at an exception what became of a message, in its `delivery` and in a note: for what the core did not raise."""

def escape(text: str, /) -> str:
    """A text from outside as a terminal may have it: what steers one, or is not seen, is written as escapes."""

def send_and_poll(
    client: Client,
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
    """Client.send_message, and the wait for its result in steps: what agentjob.aio and the command line stand on."""

def serve_emulator(args: list[str]) -> int:
    """Runs the emulator as a command, until a signal ends it. Returns its exit status."""
