"""What a store of steps is. It keeps rows, and says which step may be taken; all else is decided in `calls` and in the core."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Protocol, Sequence, Tuple

from ..errors import StoreError
from ..types import Resolution, StepState

#: The version of the table. An earlier one is brought up to it, a later one is refused.
VERSION = 2
#: A lease is at most 7 days and 30 s, a pause at most a day. What is later comes from a clock that was set back, and does not count.
LATEST_LEASE, LATEST_PAUSE = "8 days", "2 days"
#: For how long a step's earlier messages may count: the longest span of a rate.
LONGEST_SPAN = "1 day"
#: How long a statement may wait for those of other workers, in seconds, outside a call that has a time of its own.
PATIENCE = 30.0


class Step(NamedTuple):
    """A step as a store has it."""

    key: str
    job_id: str
    message: str
    """The digest of the message: the job, the prompt, the project and the service."""
    state: StepState
    sends: int
    """How many calls have taken it to send it."""
    may_have_arrived: bool
    """It is to be sent again, or was, although it may have arrived before."""
    owner: Optional[str]
    """The call that took it last; None after a decision, until a call takes it again."""
    failure: Optional[str]
    """Why it was not accepted, as JSON."""
    record: Optional[str]
    """The job's record of the response to the message, as JSON."""
    poller: Optional[str]
    """The wait for the message's result, as it began."""
    result: Optional[str]
    """The job's last record, as JSON, once a wait has ended."""
    decision: Optional[Resolution]
    """What a person decided about it last."""
    taken_at: Optional[str]
    """When it was last taken to be sent, ISO 8601."""
    changed_at: Optional[str]
    """When its outcome was recorded or decided, ISO 8601."""


class Taker(NamedTuple):
    """The call that takes a step to send it."""

    owner: str
    """Names it: different for each message that leaves, also of one call."""
    lease: float
    """For how many seconds it has the step."""
    scope: str
    """Whose messages its rate and its pauses are about: those of a project of a service."""
    messages: Optional[int]
    """Its rate: at most so many messages …"""
    span: Optional[float]
    """… in any span of so many seconds, at most a day. None, both: it has no rate."""
    takes_rejected: bool = True
    """It also takes a step that was rejected."""


class Throttled(NamedTuple):
    """Why no message may be sent now."""

    reason: str
    """"rate", or "pause": the service returned 429 to a call."""
    seconds: float
    """For how long, unless a message that is being sent does not leave."""


def may_be_taken(step: Step, message: str, takes_rejected: bool) -> bool:
    """It has this message, which certainly did not arrive, or of which a person decided that it is sent in any case."""
    resend = step.state == "unknown" and step.decision == "resend" and step.owner is None
    return step.message == message and (step.state == "not_sent" or (step.state == "rejected" and takes_rejected) or resend)


class StepOutcome(NamedTuple):
    """How a call that sends a step's message ended."""

    state: str
    """The delivery."""
    failure: Optional[str] = None
    """Why it was not accepted, as JSON."""
    record: Optional[str] = None
    """The job's record of the response, as JSON."""
    poller: Optional[str] = None
    """The wait for the message's result."""
    pause: Optional[float] = None
    """For how many seconds from now no message of the step's scope may be sent."""
    again: bool = False
    """It was rejected for a reason that passes: it becomes `not_sent`, but counts for the rate."""


class StoreBusyError(StoreError):
    """Other workers' statements took longer than this one could wait. Nothing was changed."""


class Store(Protocol):
    """Keeps the steps of `agentjob.once.Once`, for any number of workers: threads, forked processes, programs. What a method changes is one
    atomic and durable statement; what it returns is the step as it is after that, or None if there is none.

    Whatever fails raises StoreError. Those that have a `patience` wait at most so many seconds for other workers' statements, and then raise
    StoreBusyError: nothing was changed. A lease is measured by one clock for all workers, which should count time in which machines sleep. A
    step that is `sending` and whose lease is over reads as `unknown`.
    """

    def take(self, key: str, job_id: str, message: str, taker: Taker, patience: float, /) -> Tuple[Optional[Step], Optional[Throttled]]:
        """Takes a step to send it: makes it `sending`, by this taker, for the time of its lease. Only if it is new; or if it has this
        message and is `not_sent`, `rejected` if the taker takes that, or `unknown` with the decision `resend` and without an owner. It has
        no result any more.

        And only if neither the pause of an outcome nor the taker's rate forbids it. All sends of the scope count for the rate, also
        those of takers without one: from the take until a span after the outcome was recorded, or after the end of the lease, if none
        was. The outcome `not_sent` does not count. If a step that may be taken is not taken, the second value says why; None: nothing forbids it
        any more."""

    def settle(self, key: str, owner: str, outcome: StepOutcome, patience: float, /) -> Optional[Step]:
        """Records the outcome of a step that is this owner's, and `sending` or `unknown`: also if its lease is over. A resend that was
        `rejected` or `not_sent` leaves it `unknown`. One that was rejected for a reason that passes (`again`) becomes `not_sent`."""

    def resolve(self, step: Step, state: str, resolution: Resolution, /) -> Optional[Step]:
        """Records a decision about a step that is `unknown`; or `not_sent` and without an owner, because that was decided. Unless it
        was taken again or decided since it was read: that is about another message. Then it has this state and no owner, and `may_have_arrived` if the decision is `resend`."""

    def finish(self, step: Step, result: str, /) -> Optional[str]:
        """Records the last record of an accepted step's job, unless there is one: the worker that records it may send the job's next message
        then. Returns the one that counts. None: the step was taken again since, or is gone; or another one of this job and scope that may
        have arrived was taken later, so the record may show its result."""

    def get(self, keys: Optional[Sequence[str]], state: Optional[StepState], patience: float, /) -> List[Step]:
        """These steps, or all, in this state, or in any, in the order of their keys; with one query."""
