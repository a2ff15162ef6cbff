"""What a store of steps is. A store only keeps rows: what a row means is decided in `calls` and in the core."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Protocol, Sequence

from ..errors import StoreError
from ..types import Resolution, StepState

#: The version of the table. A store of another one is refused.
VERSION = 1
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


class StoreBusyError(StoreError):
    """Other workers' statements took longer than this one could wait. Nothing was changed."""


class Store(Protocol):
    """Keeps the steps of `agentjob.once.Once`, for any number of workers: threads, forked processes, programs. What a method changes is one
    atomic and durable statement; what it returns is the step as it is after that, or None if there is none.

    Whatever fails raises StoreError. Those that have a `patience` wait at most so many seconds for other workers' statements, and then raise
    StoreBusyError: nothing was changed. A lease is measured by one clock for all workers, which should count time in which machines sleep. A
    step that is `sending` and whose lease is over reads as `unknown`.
    """

    def take(self, key: str, job_id: str, message: str, owner: str, lease: float, patience: float, /) -> Optional[Step]:
        """Takes a step to send it: makes it `sending`, by `owner`, for `lease` seconds. Only if it is new; or if it has this message
        and is `rejected`, `not_sent`, or `unknown` with the decision `resend` and without an owner. It has no result any more."""

    def settle(self, key: str, owner: str, outcome: StepOutcome, patience: float, /) -> Optional[Step]:
        """Records the outcome of a step that is this owner's, and `sending` or `unknown`: also if its lease is over. A resend that was
        `rejected` or `not_sent` leaves it `unknown`."""

    def resolve(self, step: Step, state: str, resolution: Resolution, /) -> Optional[Step]:
        """Records a decision about a step that is `unknown`; or `not_sent` and without an owner, because that was decided. Unless it
        was taken again or decided since it was read: that is about another message. Then it has this state and no owner, and `may_have_arrived` if the decision is `resend`."""

    def finish(self, step: Step, result: str, /) -> None:
        """Records the last record of an accepted step's job, unless the step was taken again since."""

    def get(self, keys: Optional[Sequence[str]], state: Optional[StepState], patience: float, /) -> List[Step]:
        """These steps, or all, in this state, or in any, in the order of their keys; with one query."""
