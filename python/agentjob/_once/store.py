"""What a store of steps is. A store only keeps rows: what a row means is decided in `calls` and in the core."""

from __future__ import annotations

from typing import Iterable, List, NamedTuple, NoReturn, Optional, Protocol

from ..errors import StoreError
from ..types import Resolution, StepState

#: The version of the table. A store of a later one is refused.
VERSION = 1


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
    """It is being resent, or was, although it may have arrived before."""
    owner: Optional[str]
    """The call that took it last, or None after a decision."""
    failure: Optional[str]
    """Why it was not accepted, as JSON."""
    record: Optional[str]
    """The job's record of the response to the message, as JSON."""
    poller: Optional[str]
    """The wait for the message's result."""
    result: Optional[str]
    """The job's last record, as JSON, once a wait has ended."""
    decision: Optional[Resolution]
    """What a person decided about it last."""
    taken_at: Optional[str]
    """When it was last taken to be sent, ISO 8601."""
    changed_at: Optional[str]
    """When its outcome was recorded or decided, ISO 8601."""


class Store(Protocol):
    """Keeps the steps of `agentjob.once.Once`, for any number of processes. Each method is one transaction, durable when it returns, and
    raises StoreError. A step whose lease is over reads as `unknown`, for it is."""

    def take(self, key: str, job_id: str, message: str, owner: str, lease: float) -> Step:
        """Takes a step to send it, for `lease` seconds: a new one, one that is `not_sent` or `rejected`, or one that this owner has
        taken already. Returns the step as it is then: taken by `owner`, or as it was."""

    def settle(
        self, key: str, owner: str, state: str, failure: Optional[str], record: Optional[str], poller: Optional[str], /
    ) -> Optional[Step]:
        """Records the outcome of the step that `owner` took, even if its lease is over. A resend that was not accepted leaves it
        unknown. Returns the step as it is then."""

    def resolve(self, key: str, state: str, may_have_arrived: bool, decision: str, /) -> Optional[Step]:
        """Records a decision about an unknown step. Returns the step as it is then; `owner` is None if it was decided."""

    def finish(self, key: str, result: str, /) -> None:
        """Records the last record of an accepted step's job."""

    def get(self, keys: Optional[Iterable[str]], state: Optional[str], /) -> List[Step]:
        """These steps, or all, in this state, or in any, in the order of their keys; with one query."""

    def close(self) -> None:
        """Closes what this process has open. The next call opens it again."""


def refuse_version(name: str, version: object) -> NoReturn:
    raise StoreError(
        f"the store {name} has version {version}, which this agentjob cannot read (it has {VERSION}). Use the agentjob that wrote it, or a later one."
    )
