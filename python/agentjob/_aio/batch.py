"""A batch for agentjob.aio."""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from functools import partial
from types import TracebackType
from typing import Any, Awaitable, Callable, Iterable, Literal, Optional, Protocol

from .._native import Batch, BatchItems, CancelToken
from ..types import BatchOutcome, BatchProgress, BatchUpdate
from .call import run
from .event_loop import in_trio
from .threads import Threads


class Closing(Protocol):
    """A batch, a client with its batches, or a run of a shared list."""

    def _close(self, token: CancelToken, /) -> None:
        """Closes it, and waits for the responses in flight. The token ends the grace."""


class AsyncBatch:
    """A batch of messages that are being sent; see AsyncClient.send_all.

    Iterating asynchronously returns the outcome of each message, those of earlier runs first. Close the batch, or use it or its
    client in an `async with` statement: that waits for the responses to messages in flight, for at most grace, even in a task or
    scope that is cancelled. Without that, a batch that is dropped before its end has them reported as unknown by the next run.
    """

    def __init__(
        self, items: Iterable[Any], begin: Callable[[BatchItems], Batch], notify: Callable[[BatchUpdate], Awaitable[None]]
    ) -> None:
        self._given = items
        self._items: BatchItems | None = None
        self._begin = begin
        self._notify = notify
        self._batch: Batch | None = None
        self._closed = False
        self._in_use = False
        #: Events that were taken from the batch and not delivered yet, so that a cancellation loses no event.
        self._pending: deque[tuple[bool, Any]] = deque()
        #: Its own, because it needs a thread for hours; the client's threads are for requests.
        self._threads = Threads()

    def __repr__(self) -> str:
        return "<Async" + (repr(self._batch)[1:] if self._batch is not None else "Batch>")

    def __len__(self) -> int:
        """How many messages the batch has; 0 before it has started."""
        return 0 if self._batch is None else len(self._batch)

    def __bool__(self) -> Literal[True]:
        return True

    def __aiter__(self) -> AsyncBatch:
        return self

    async def __anext__(self) -> BatchOutcome:
        self._claim()
        try:
            while True:
                while self._pending:
                    is_outcome, record = self._pending.popleft()
                    if is_outcome:
                        outcome: BatchOutcome = record
                        return outcome
                    await self._notify(record)
                if self.finished:
                    self._threads.close()
                    raise StopAsyncIteration
                await self._run(self._fill)
        except StopAsyncIteration:
            raise
        except BaseException:
            self.stop()
            raise
        finally:
            self._in_use = False

    async def __aenter__(self) -> AsyncBatch:
        self._claim()
        try:
            await self._run(self._open)
            if self._batch is None and self._pending:
                await self._notify(self._pending.popleft()[1])
                await self._run(self._open)
        except BaseException:
            # Python calls no __aexit__ for a statement that was not entered, and the batch may be sending already.
            self._in_use = False
            await self.aclose()
            raise
        self._in_use = False
        return self

    async def __aexit__(
        self, exc_type: Optional[type[BaseException]], exc: Optional[BaseException], traceback: Optional[TracebackType], /
    ) -> None:
        await self.aclose()

    @property
    def finished(self) -> bool:
        """Whether no more outcomes will come: every message has one, or the batch was stopped, was closed or failed."""
        return not self._pending and (self._closed if self._batch is None else self._batch.finished)

    def progress(self) -> BatchProgress:
        """The batch's progress; all zero before it has started. It does not wait."""
        if self._batch is not None:
            return self._batch.progress()
        counts = ("items", "accepted", "rejected", "unknown", "left", "sending", "waiting", "busy", "done", "failed", "dropped")
        none = {name: 0 for name in counts}
        return {**none, "pause": None, "finishes_in": None}  # type: ignore[typeddict-item]

    def stop(self) -> None:
        """Sends no more messages. Requests in flight still get their responses, for at most grace; then the batch is finished. It
        does not wait."""
        self._closed = True
        if self._batch is not None:
            self._batch.stop()

    async def aclose(self) -> None:
        """Stops the batch, and waits for the responses to its messages in flight, for at most grace. Then it is finished, and
        another run may use its journal. Cancelling this ends the grace; if it runs because of a cancellation, a second one does."""
        self.stop()
        self._claim()
        self._pending.clear()
        try:
            if self._batch is not None:
                await close_and_wait(self._threads, self._batch)
        finally:
            self._threads.close()
            self._in_use = False

    def _claim(self) -> None:
        if self._in_use:
            raise RuntimeError("this batch is already in use")
        self._in_use = True

    async def _run(self, work: Callable[[CancelToken], None]) -> None:
        token = CancelToken()
        await run(self._threads, partial(work, token), token)

    # These run on the batch's own thread.

    def _open(self, token: CancelToken) -> None:
        """Begins the batch. Repeated messages come first: then only the update about them is pending, and the next call begins the
        batch."""
        if self._batch is None and not self._closed:
            try:
                if self._items is None:
                    self._items = BatchItems(self._given)
                    repeated = self._items.repeated()
                    if repeated is not None:
                        self._pending.append((False, repeated))
                        return
                self._batch = self._begin(self._items)
            except BaseException:
                self._closed = True
                raise
            if self._closed or token.cancelled:
                self._batch.stop()

    def _fill(self, token: CancelToken) -> None:
        self._open(token)
        if self._batch is not None:
            self._pending.extend(self._batch._next_events(token))


async def close_and_wait(threads: Threads, closing: Closing) -> None:
    """Closes what sends messages, and waits for the responses in flight, for at most the grace.

    While a cancellation is handled, the wait is shielded from it, because the grace limits it; another cancellation ends the grace.
    A coroutine that is being closed must not wait, which ends the grace, too.
    """
    raised = sys.exc_info()[1]
    if isinstance(raised, GeneratorExit):
        return _end_grace(closing)
    is_cancelled = raised is not None and not isinstance(raised, Exception)
    token = CancelToken()
    try:
        with _shield() if is_cancelled else contextlib.nullcontext():
            await run(threads, partial(closing._close, token), token)
    except BaseException:
        # The wait may not have started.
        _end_grace(closing)
        raise


def _end_grace(closing: Closing) -> None:
    token = CancelToken()
    token.cancel()
    closing._close(token)


def _shield() -> contextlib.AbstractContextManager[Any]:
    """Keeps a cancelled scope from cancelling the body repeatedly, as trio and anyio do."""
    library = sys.modules.get("trio" if in_trio() else "anyio")
    scope: Any = getattr(library, "CancelScope", None)  # None without the library, or while it is being imported
    shield: contextlib.AbstractContextManager[Any] = contextlib.nullcontext() if scope is None else scope(shield=True)
    return shield
