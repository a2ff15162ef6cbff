"""The shapes of what agentjob hands out, for type checkers and readers. They exist at runtime, too."""

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
    "Event",
    "Job",
    "PauseReason",
    "PollEvent",
    "RetryEvent",
    "Source",
]

# One Literal for each: stubtest does not know an alias of a Literal with several values when it sees one.
Delivery = Union[Literal["not_sent"], Literal["rejected"], Literal["unknown"], Literal["accepted"]]
"""What became of a message whose call failed: send it again; mend it first; look at the job first; do not send it again."""


class Source(TypedDict):
    """What a job works on."""

    repository: Optional[str]
    """The repository, usually its full URL."""
    ref: Optional[str]
    """The ref, usually a branch."""


class Job(TypedDict):
    """A job's record. These keys are always there, None where the service left them out; keys that it adds are kept."""

    id: str
    status: str
    """active; completed, archived or failed, which are terminal; or a word that is newer than this version."""
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
    """A request failed and is made again."""

    event: Literal["retry"]
    operation: Literal["send_message", "get_job", "create_job"]
    job_id: str
    attempt: int
    """The number of the request that failed."""
    delay: float
    """Seconds until the next one."""
    reason: str


class PollEvent(TypedDict):
    """A wait looked at its job."""

    event: Literal["poll"]
    job_id: str
    polls: int
    """How often the wait has looked."""
    status: Optional[str]
    """The job's status, when it could be read."""
    reason: Optional[str]
    """Why it could not be read."""
    elapsed: float
    """Seconds that the wait has lasted."""
    next: Optional[float]
    """Seconds until it looks again; None when it is over."""


Event = Union[AttemptEvent, RetryEvent, PollEvent]
"""What on_event is called with."""


class _Message(TypedDict):
    """What every item has."""

    job_id: str
    prompt: str


class BatchItem(_Message, total=False):
    """One message of a batch."""

    key: Optional[str]
    """A name that is this item's own in the batch: it is known by it wherever it stands. Without one it is known by its content
    and its place."""
    line: Optional[int]
    """The line of the file that it is from: errors name it."""


class BatchOutcome(TypedDict):
    """What became of one message of a batch."""

    item: int
    """The item's place in the list, from 1."""
    line: Optional[int]
    """The line that was given with it."""
    key: str
    """The item's own key, or the one that was derived from its content and place."""
    job_id: str
    delivery: Union[Literal["accepted"], Literal["rejected"], Literal["unknown"]]
    job: Optional[Job]
    """The job's last record: the answer to the message or, with wait, what the wait saw last."""
    error: Optional[Error]
    """Why the message was rejected or may have arrived, or, for an accepted one, why its record or its job's end was not seen."""
    earlier: bool
    """Whether an earlier run of the journal found it out."""


# One Literal for each, as above.
PauseReason = Union[Literal["rate_limit"], Literal["service_failure"]]
"""Why nothing is sent: the project's allowance is used up (429); the service cannot be reached, or fails."""


class BatchPause(TypedDict):
    """Nothing is sent now."""

    reason: PauseReason
    seconds: float
    """For how long yet."""


class BatchProgress(TypedDict):
    """How far a batch is. What earlier runs of the journal did counts."""

    items: int
    accepted: int
    rejected: int
    unknown: int
    left: int
    """How many are still to be sent, those under way included."""
    sending: int
    """How many are under way."""
    waiting: int
    """How many jobs are waited for."""
    done: int
    """How many outcomes are final; with wait an accepted message's is final with its job's end."""
    pause: Optional[BatchPause]
    finishes_in: Optional[float]
    """In how many seconds the last message is sent, at this pace; None as long as there is no pace."""


class BatchAcceptedUpdate(TypedDict):
    """A message was accepted, and its job is waited for: its outcome comes later."""

    event: Literal["accepted"]
    item: int
    job_id: str
    job: Optional[Job]
    """The answer to the message; None if it could not be read."""
    progress: BatchProgress


class BatchJobUpdate(TypedDict):
    """A job that is waited for has another record than before."""

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
    """Messages are sent again after a pause."""

    event: Literal["resumed"]
    progress: BatchProgress


class BatchRecoveredUpdate(TypedDict):
    """The journal's end was damaged, and is passed over. It comes before all else; messages that may have been sent by what it said
    are reported as unknown."""

    event: Literal["recovered"]
    dropped_bytes: int
    """How many bytes are passed over."""
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
    """Its place in the list, from 1."""
    job_id: str
    reason: Optional[str]
    """Why it was rejected, or why it is unknown whether it arrived; None if its run ended before it recorded an outcome."""


class BatchStatus(TypedDict):
    """What a journal says of its batch."""

    progress: BatchProgress
    running: bool
    """Whether a run is on."""
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
    """How many damaged bytes runs have passed over, or the next run will."""
    unknown: List[BatchStatusItem]
    """The messages of which nobody knows whether they arrived: look at their jobs."""
    rejected: List[BatchStatusItem]
    """The messages that the service refused."""
