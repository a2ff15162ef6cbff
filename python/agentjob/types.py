"""The shapes of what agentjob hands out, for type checkers and readers. They exist at runtime, too."""

from typing import Literal, Optional, TypedDict, Union

__all__ = ["AttemptEvent", "Delivery", "Event", "Job", "PollEvent", "RetryEvent", "Source"]

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
