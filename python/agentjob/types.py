"""The types of the dicts that agentjob returns and takes. They exist at runtime, too."""

from typing import List, Literal, Optional, TypedDict, Union

from .errors import Error

__all__ = [
    "AttemptEvent",
    "BatchAcceptedUpdate",
    "BatchItem",
    "BatchJobUpdate",
    "BatchOutcome",
    "BatchPause",
    "BatchPausedUpdate",
    "BatchProgress",
    "BatchResumedUpdate",
    "BatchStatus",
    "BatchStatusItem",
    "BatchUpdate",
    "Delivery",
    "ErrorDict",
    "Event",
    "Job",
    "PauseReason",
    "PollEvent",
    "RetryEvent",
    "Source",
]

# A union of Literals: stubtest does not recognize an alias of a Literal with several values.
Delivery = Union[Literal["not_sent"], Literal["rejected"], Literal["unknown"], Literal["accepted"]]
"""What happened to a message whose call failed: send it again; fix the cause first; check the job first; do not send it again."""


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
    model: Optional[str]
    prLink: Optional[str]
    """The pull request: None while the job is active, and None when no file changed."""
    createdAt: Optional[str]
    """ISO 8601."""
    archivedAt: Optional[str]
    """ISO 8601."""


class AttemptEvent(TypedDict):
    """A request is about to be made."""

    event: Literal["attempt"]
    operation: Literal["send_message", "get_job", "create_job"]
    job_id: str
    """Empty for create_job."""
    attempt: int
    """1 for the first request of a call."""


class RetryEvent(TypedDict):
    """A request failed and is retried."""

    event: Literal["retry"]
    operation: Literal["send_message", "get_job", "create_job"]
    job_id: str
    attempt: int
    """The number of the request that failed."""
    delay: float
    """Seconds until the next one."""
    reason: str


class PollEvent(TypedDict):
    """A wait polled its job."""

    event: Literal["poll"]
    job_id: str
    polls: int
    """How many polls the wait has made."""
    status: Optional[str]
    """The job's status, when it could be read."""
    reason: Optional[str]
    """Why it could not be read."""
    elapsed: float
    """Seconds since the wait began."""
    next: Optional[float]
    """Seconds until the next poll; None when the wait has ended."""


Event = Union[AttemptEvent, RetryEvent, PollEvent]
"""What on_event is called with."""


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


class BatchOutcome(TypedDict):
    """The outcome of one message of a batch."""

    item: int
    """The item's position in the list, from 1."""
    line: Optional[int]
    """The line that was given with it."""
    key: str
    """The item's own key, or one derived from its content and position."""
    job_id: str
    delivery: Union[Literal["accepted"], Literal["rejected"], Literal["unknown"]]
    job: Optional[Job]
    """The job's last record: the response to the message or, with wait, the last one that the wait read."""
    error: Optional[Error]
    """Why the message was rejected or may have arrived; for an accepted one, why its record or its job's end could not be read."""
    earlier: bool
    """Whether the outcome is of an earlier run of the journal."""


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
    done: int
    """How many outcomes are final; with wait, an accepted message's outcome is final when its job is done."""
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


class BatchPausedUpdate(TypedDict):
    """Nothing is sent for a while."""

    event: Literal["paused"]
    reason: PauseReason
    pause: float
    """Seconds."""
    error: Error
    """The failure behind it."""
    progress: BatchProgress


class BatchResumedUpdate(TypedDict):
    """Sending continues after a pause."""

    event: Literal["resumed"]
    progress: BatchProgress


class BatchRecoveredUpdate(TypedDict):
    """The end of the journal was damaged, and is skipped. This update comes first. Messages that the damaged part may have recorded
    as sent are reported as unknown."""

    event: Literal["recovered"]
    dropped_bytes: int
    """How many bytes are skipped."""
    journal_line: int
    """The journal's first line, from 1, that cannot be read."""
    unknown: int
    """How many messages are unknown for that reason."""
    progress: BatchProgress


BatchUpdate = Union[BatchAcceptedUpdate, BatchJobUpdate, BatchPausedUpdate, BatchResumedUpdate, BatchRecoveredUpdate]
"""What a batch's on_update is called with."""


class BatchStatusItem(TypedDict):
    """An item of a BatchStatus: its message was rejected, or may have arrived."""

    item: int
    """Its position in the list, from 1."""
    job_id: str
    reason: Optional[str]
    """Why it was rejected, or why it may have arrived; None if its run ended before it recorded a response."""


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
    """How many damaged bytes runs have skipped, or the next run will skip."""
    unknown: List[BatchStatusItem]
    """The messages that may have arrived: check their jobs."""
    rejected: List[BatchStatusItem]
    """The messages that the service refused."""
