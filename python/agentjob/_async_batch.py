"""Many messages for agentjob.aio."""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from functools import partial
from types import TracebackType
from typing import Any, Awaitable, Callable

from . import _tasks
from ._native import Batch, CancelToken, Client
from .types import BatchOutcome, BatchProgress, BatchUpdate


class AsyncBatch:
    """Many messages at work; see AsyncClient.send_all.

    As an asynchronous iterator it answers the outcome of each message, those of earlier runs first. Close it, or use it in an
    `async with` statement, or its client; leaving that awaits the answers to its messages in flight, for at most grace, also in a
    task or scope that is cancelled. One that is let go of before its end stops by itself, like a Batch.
    """

    def __init__(self, begin: Callable[[], Batch], tell: Callable[[BatchUpdate], Awaitable[None]]) -> None:
        self._begin = begin
        self._tell = tell
        self._batch: Batch | None = None
        self._closed = False
        self._stepping = False
        #: What was taken from the batch and not heard yet, so that a cancellation loses none of it.
        self._told: deque[tuple[bool, Any]] = deque()
        #: Its own, for it needs one for hours, and a client's are for requests.
        self._threads = _tasks.Threads()

    def __repr__(self) -> str:
        return "<Async" + (repr(self._batch)[1:] if self._batch is not None else "Batch>")

    def __aiter__(self) -> AsyncBatch:
        return self

    async def __anext__(self) -> BatchOutcome:
        self._hold()
        try:
            while True:
                while self._told:
                    is_outcome, record = self._told.popleft()
                    if is_outcome:
                        outcome: BatchOutcome = record
                        return outcome
                    await self._tell(record)
                if self.over:
                    self._threads.close()
                    raise StopAsyncIteration
                await self._run(self._fill)
        except StopAsyncIteration:
            raise
        except BaseException:
            self.stop()
            raise
        finally:
            self._stepping = False

    async def __aenter__(self) -> AsyncBatch:
        self._hold()
        try:
            await self._run(self._open)
        finally:
            self._stepping = False
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        await self.aclose()

    @property
    def over(self) -> bool:
        """Whether there is nothing more to come: every message had its outcome, the batch was stopped, failed, or was closed."""
        return not self._told and (self._closed if self._batch is None else self._batch.over)

    def progress(self) -> BatchProgress:
        """How far the batch is; all zero before it has begun. It does not wait."""
        if self._batch is not None:
            return self._batch.progress()
        none = {name: 0 for name in ("items", "accepted", "rejected", "unknown", "left", "sending", "waiting", "done")}
        return {**none, "pause": None, "finishes_in": None}  # type: ignore[typeddict-item]

    def stop(self) -> None:
        """Sends nothing more. What is under way has its answer, for at most grace; then the batch is over. It does not wait."""
        self._closed = True
        if self._batch is not None:
            self._batch.stop()

    async def aclose(self) -> None:
        """Stops the batch, and waits for the answers to its messages in flight, for at most grace. Then it is over, and its journal
        is free for another run. To cancel this leaves the rest of the grace to the background; in the wake of a first cancellation
        it ends the grace, too."""
        self.stop()
        self._hold()
        self._told.clear()
        try:
            if self._batch is not None:
                await leave(self._threads, self._batch)
        finally:
            self._threads.close()
            self._stepping = False

    def _hold(self) -> None:
        if self._stepping:
            raise RuntimeError("this batch is at work already")
        self._stepping = True

    async def _run(self, work: Callable[[CancelToken], None]) -> None:
        token = CancelToken()
        await _tasks.run(self._threads, partial(work, token), token, False)

    # These run on the batch's own thread.

    def _open(self, token: CancelToken) -> None:
        if self._batch is None and not self._closed:
            try:
                self._batch = self._begin()
            except BaseException:
                self._closed = True
                raise
            if self._closed or token.cancelled:
                self._batch.stop()

    def _fill(self, token: CancelToken) -> None:
        self._open(token)
        if self._batch is not None:
            self._told.extend(self._batch._take(token))


async def leave(threads: _tasks.Threads, leaving: Batch | Client) -> None:
    """Closes a batch, or a client with its batches, that is stopped, and waits for the answers in flight, at most their grace.

    In the wake of a cancellation the wait is shielded from it, for the grace bounds it; another cancellation ends the grace. A
    coroutine that is thrown away must not wait: then they are awaited in the background.
    """
    raised = sys.exc_info()[1]
    if isinstance(raised, GeneratorExit):
        return
    again = raised is not None and not isinstance(raised, Exception)
    token = CancelToken()
    try:
        with _shield() if again else contextlib.nullcontext():
            await _tasks.run(threads, partial(leaving._close, token), token, False)
    except BaseException:
        if again:
            leaving._abort()
        # The wait may not have begun.
        leaving._close(cancelled())
        raise


def _shield() -> contextlib.AbstractContextManager[Any]:
    """Keeps a scope that was cancelled from cancelling the body again and again, as trio and anyio do."""
    library = sys.modules.get("trio" if _tasks._in_trio() else "anyio")
    scope: Any = getattr(library, "CancelScope", None)  # there is none without the library, or while it is imported
    shield: contextlib.AbstractContextManager[Any] = contextlib.nullcontext() if scope is None else scope(shield=True)
    return shield


def cancelled() -> CancelToken:
    """A token that lets nothing wait."""
    token = CancelToken()
    token.cancel()
    return token
