"""The types of the dicts that agentjob returns and takes. They exist at runtime, too."""

from typing import Any, List, Literal, Optional, Union

from ._event_types import AttemptEvent, Event, PausedEvent, PollEvent, ResponseEvent, ResponseMeta, ResumedEvent, RetryEvent, Timings
from ._typed_dict import TypedDict
from .errors import Error

__all__ = [
    "AttemptEvent",
    "BatchAcceptedUpdate",
    "BatchItem",
    "BatchBusyUpdate",
    "BatchJobUpdate",
    "BatchOutcome",
    "BatchPause",
    "BatchPausedUpdate",
    "BatchProgress",
    "BatchRepeatedUpdate",
    "BatchResumedUpdate",
    "BatchStatus",
    "BatchStatusItem",
    "BatchUpdate",
    "Delivery",
    "ErrorDict",
    "Event",
    "Job",
    "PauseReason",
    "PausedEvent",
    "PollEvent",
    "ResponseEvent",
    "ResponseMeta",
    "ResumedEvent",
    "Resolution",
    "RetryEvent",
    "Source",
    "StepRecord",
    "StepState",
    "Timings",
    "WaitTimeout",
]

# A union of Literals: stubtest does not recognize an alias of a Literal with several values.
Delivery = Union[Literal["not_sent"], Literal["rejected"], Literal["unknown"], Literal["accepted"]]
"""What happened to a message whose call failed: send it again; fix the cause first; check the job first; do not send it again."""


WaitTimeout = Union[float, Literal["client"], None]
"""How long a wait lasts at most: seconds; "client", the client's own wait_timeout; or None, no limit."""


class Source(TypedDict):
    """What a job works on."""

    repository: Optional[str]
    """The repository, usually its full URL."""
    ref: Optional[str]
    """The ref, usually a branch."""


class Job(TypedDict):
    """A job's record. These keys are always there, None where the service left them out. Keys that the service adds are kept."""

    id: str
    status: str
    """active; completed, archived or failed, which are terminal; or a status that this version does not know."""
    source: Source
    """Without fields if the service sent no object."""
    model: Optional[str]
    prLink: Optional[str]
    """The pull request: None while the job is active, and None when no file changed."""
    createdAt: Optional[str]
    """ISO 8601."""
    archivedAt: Optional[str]
    """ISO 8601."""


class ErrorDict(TypedDict):
    """What Error.to_dict() returns; the keys are the error's attributes."""

    kind: str
    message: str
    reason: str
    hint: Optional[str]
    delivery: Optional[Delivery]
    http_status: Optional[int]
    retry_after: Optional[float]
    request_id: Optional[str]
    body: Optional[str]
    attempts: int
    elapsed: float
    job: Optional[Job]
    item: Optional[int]
    line: Optional[int]


class _Message(TypedDict):
    """What every item has."""

    job_id: str
    prompt: str


class BatchItem(_Message, total=False):
    """One message of a batch."""

    key: Optional[str]
    """A name that is unique in the batch, and identifies the item wherever it is in the list. An item without a key is identified
    by its content and its position."""
    line: Optional[int]
    """The line of the file that it comes from, for errors."""
    extra: Any
    """Metadata of your own: any value that `json` can write, at most 4096 bytes of JSON. The item's outcome has it again. It is neither
    sent nor written to the journal."""


class BatchOutcome(TypedDict):
    """The outcome of one message of a batch."""

    item: int
    """The item's position in the list, from 1."""
    line: Optional[int]
    """The line that was given with it."""
    key: str
    """The item's own key, or one derived from its content and position."""
    job_id: str
    delivery: Union[Literal["accepted"], Literal["rejected"], Literal["unknown"], Literal["not_sent"]]
    """not_sent: this run holds the message back because of an earlier one to its job; the error says which. A later run sends it."""
    job: Optional[Job]
    """The job's last record: the response to the message or, with wait, the last one that the wait read, or None
    if that may show the result of another message."""
    error: Optional[Error]
    """Why the message was rejected, was held back or may have arrived; for an accepted one, why its record or its job's end could not be read."""
    earlier: bool
    """Whether the outcome is of an earlier run of the journal; in a list of Once.send_all, of an earlier run or of another worker."""
    extra: Any
    """The item's `extra` in the list of this run, as `json` reads it again; None if it has none."""


# As above.
PauseReason = Union[Literal["rate_limit"], Literal["service_failure"]]
"""Why nothing is sent: the project's hourly limit is used up (429); the service cannot be reached, or fails."""


class BatchPause(TypedDict):
    """The batch is paused: nothing is sent now."""

    reason: PauseReason
    seconds: float
    """How long the pause still lasts."""


class BatchProgress(TypedDict):
    """The progress of a batch, earlier runs of the journal included."""

    items: int
    accepted: int
    rejected: int
    unknown: int
    left: int
    """How many are still to be sent, those in flight included."""
    sending: int
    """How many are in flight."""
    waiting: int
    """How many jobs the batch waits for."""
    busy: int
    """How many messages wait because their job is busy (409); they are among those left."""
    done: int
    """How many outcomes are final; with wait, an accepted message's outcome is final when its job is done. Dropped ones count."""
    failed: int
    """How many of the jobs that were waited for failed."""
    dropped: int
    """How many messages batch_drop took out: no run sends them."""
    pause: Optional[BatchPause]
    finishes_in: Optional[float]
    """Seconds until the last message is sent, at the current pace; None while that is not known."""


class BatchAcceptedUpdate(TypedDict):
    """A message was accepted, and the batch waits for its job: its outcome comes later."""

    event: Literal["accepted"]
    item: int
    job_id: str
    job: Optional[Job]
    """The response to the message; None if it could not be read."""
    progress: BatchProgress


class BatchJobUpdate(TypedDict):
    """The record of a job that the batch waits for has changed."""

    event: Literal["job"]
    item: int
    job_id: str
    job: Job
    progress: BatchProgress


class BatchBusyUpdate(TypedDict):
    """The job of a message is busy (409): it is polled, and the message sent again when the job is no longer active."""

    event: Literal["busy"]
    item: int
    job_id: str
    error: Error
    """The service's refusal."""
    progress: BatchProgress


class BatchPausedUpdate(TypedDict):
    """Nothing is sent for a while."""

    event: Literal["paused"]
    reason: PauseReason
    pause: float
    """Seconds."""
    error: Optional[Error]
    """The failure behind it; None if the pause began in an earlier run."""
    progress: BatchProgress


class BatchResumedUpdate(TypedDict):
    """Sending continues after a pause."""

    event: Literal["resumed"]
    progress: BatchProgress


class BatchRecoveredUpdate(TypedDict):
    """The end of the journal was cut off, as a crash cuts it off, and is skipped. This update comes first. If the cut line still says
    that a message was about to be sent, that message is reported as unknown."""

    event: Literal["recovered"]
    dropped_bytes: int
    """How many bytes are skipped."""
    journal_line: int
    """The journal's line, from 1, that was cut off."""
    unknown: int
    """How many messages are unknown for that reason: 0 or 1."""
    progress: BatchProgress


class BatchRepeatedUpdate(TypedDict):
    """Messages have the same job and the same prompt as one before them; each of them is sent. Client.send_all itself calls on_update
    with it, before anything is sent."""

    event: Literal["repeated"]
    count: int
    """How many messages repeat an earlier one."""
    item: int
    """The position of the first of them in the list, from 1."""
    line: Optional[int]
    first_item: int
    """The position of the message that it repeats."""
    first_line: Optional[int]
    progress: BatchProgress


BatchUpdate = Union[
    BatchAcceptedUpdate,
    BatchJobUpdate,
    BatchBusyUpdate,
    BatchPausedUpdate,
    BatchResumedUpdate,
    BatchRepeatedUpdate,
    BatchRecoveredUpdate,
]
"""What a batch's on_update is called with."""


class BatchDecision(TypedDict):
    """What was decided about an item of a batch."""

    item: int
    """Its position in the last run's list, from 1."""
    key: str
    """Its own key, if the journal could store it, or one derived from its content and position."""
    job_id: str
    decision: Union[
        Literal["arrived"], Literal["not_arrived"], Literal["resend"], Literal["retry"], Literal["drop"]
    ]
    at: str
    """When it was decided, ISO 8601."""


class BatchStatusItem(TypedDict):
    """An item of a BatchStatus: its message was rejected or may have arrived, or its job failed."""

    item: int
    """Its position in the last run's list, from 1."""
    key: str
    """Its own key, if the journal could store it, or one derived from its content and position."""
    job_id: str
    reason: Optional[str]
    """Why it was rejected, or why it may have arrived; None if its run ended before it recorded a response, and for a job that
    failed."""


class BatchStatus(TypedDict):
    """The status of a batch, from its journal."""

    progress: BatchProgress
    running: bool
    """Whether a run is active."""
    pid: int
    """The process of the last run."""
    runs: int
    base_url: str
    project_id: str
    rate: Optional[str]
    """The last run's rate."""
    waits: bool
    """Whether the last run waits for the jobs."""
    began_at: str
    """When the last run began, ISO 8601."""
    written_at: str
    """When the journal was last written, ISO 8601."""
    dropped_bytes: int
    """How many bytes of lines that were cut off runs have skipped, or the next run will skip."""
    unknown: List[BatchStatusItem]
    """The messages that may have arrived: check their jobs."""
    rejected: List[BatchStatusItem]
    """The messages that the service refused."""
    failed: List[BatchStatusItem]
    """The messages whose jobs were waited for and failed."""
    decisions: List[BatchDecision]
    """The last decision about each item that has one."""
    new_prompts: int
    """How many messages the next run needs a prompt for that a decision gave them."""


Resolution = Union[Literal["arrived"], Literal["not_arrived"], Literal["resend"]]
"""Whether a step's message arrived: it did; it didn't, so it is sent; or that is unknown, and it is sent again anyway."""

StepState = Union[Literal["sending"], Literal["accepted"], Literal["rejected"], Literal["not_sent"], Literal["unknown"]]
"""A worker is sending the step's message; or how the last send ended. After a decision: arrived is `accepted`, not_arrived `not_sent`."""


class StepRecord(TypedDict):
    """A step as agentjob.once.Once.steps() returns it."""

    key: str
    job_id: str
    state: StepState
    sends: int
    """How many calls have begun to send it."""
    error: Optional[str]
    """Why it is unknown, or was rejected or not sent."""
    job: Optional[Job]
    """The job's last record that the store has: its id, status, times and pull request."""
    decision: Optional[Resolution]
    """The last decision about it."""
    taken_at: Optional[str]
    """When it was last taken to be sent, ISO 8601."""
    changed_at: Optional[str]
    """When its outcome was recorded or decided, ISO 8601; None while it is sending."""
