"""A wait whose loop the program runs, for agentjob.aio."""

from __future__ import annotations

from typing import Awaitable, Callable, Optional

from .._native import Poller
from ..types import Job, ResponseMeta


class AsyncPoller:
    """A wait whose loop the program runs; see AsyncClient.poller."""

    def __init__(self, poll: Callable[..., Awaitable[Optional[Job]]], poller: Poller) -> None:
        self._poll = poll
        self._poller = poller

    def __repr__(self) -> str:
        return repr(self._poller)

    def __str__(self) -> str:
        return str(self._poller)

    async def poll(self, *, meta: Optional[Callable[[ResponseMeta], object]] = None) -> Optional[Job]:
        """Polls the job once, now. Returns its last record when the job is done, None when it is not; see Poller.poll.

        meta: called with the response's metadata if the poll succeeds, on the event loop's thread, and awaited if it returns an
            awaitable.
        """
        return await self._poll(self._poller, meta)

    @property
    def job_id(self) -> str:
        """The job that is waited for."""
        return self._poller.job_id

    @property
    def due_in(self) -> float:
        """Seconds until the next poll is due; 0 when it is due now or the job is done."""
        return self._poller.due_in

    @property
    def job(self) -> Optional[Job]:
        """The last record that this poller read."""
        return self._poller.job

    @property
    def done(self) -> bool:
        """Whether the job is done."""
        return self._poller.done

    @property
    def changed(self) -> bool:
        """Whether the last poll read a record that differs from the one before it."""
        return self._poller.changed

    @property
    def polls(self) -> int:
        """How many polls the wait has made."""
        return self._poller.polls

    @property
    def elapsed(self) -> float:
        """Seconds that the wait has lasted, over all processes."""
        return self._poller.elapsed

    def to_text(self) -> str:
        """The wait's state as a short text for AsyncClient.resume. It contains no secret."""
        return self._poller.to_text()
