"""How agentjob.aio runs a call that blocks: on a thread for the length of one request, beside asyncio or trio.

A task that is cancelled takes its call along: the call's token is cancelled, which the thread hears within 100 ms, and only then
does the cancellation go on, with a note of what became of the message. So no thread works for nobody, and nobody has to guess.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Awaitable, Callable, TypeVar

from . import _native
from .errors import Error

T = TypeVar("T")

#: Requests of one client under way at once; more of them wait for their turn.
MAX_THREADS = 32
#: After so many seconds without a request the threads are let go.
IDLE_SECONDS = 1.0


class Threads:
    """A client's threads for asyncio: they come with the first request and go when there is none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._pid = 0
        self._busy = 0
        self._used = 0

    def submit(self, work: Callable[[], T]) -> Future[T]:
        with self._lock:
            # A forked child has the executor, but not its threads.
            if self._executor is None or self._pid != os.getpid():
                self._executor = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="agentjob")
                self._pid, self._busy = os.getpid(), 0
            self._busy += 1
            self._used += 1
            return self._executor.submit(work)

    def done(self) -> None:
        """A call is over. Said on the event loop, which looks after the threads a while later."""
        with self._lock:
            self._busy -= 1
            if self._busy == 0:
                asyncio.get_running_loop().call_later(IDLE_SECONDS, self._rest, self._used)

    def _rest(self, used: int) -> None:
        if self._used == used:
            self.close()

    def close(self) -> None:
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)


def run(threads: Threads, work: Callable[[], T], token: _native.CancelToken, delivers: bool) -> Awaitable[T]:
    """Runs `work`, which heeds `token`, beside whichever event loop is running."""
    if _in_trio():
        return _beside_trio(work, token, delivers)
    return _beside_asyncio(threads, work, token, delivers)


async def sleep(seconds: float) -> None:
    if _in_trio():
        await sys.modules["trio"].sleep(seconds)
    else:
        await asyncio.sleep(seconds)


def _in_trio() -> bool:
    trio = sys.modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


async def _beside_asyncio(threads: Threads, work: Callable[[], T], token: _native.CancelToken, delivers: bool) -> T:
    future = threads.submit(work)
    waiter = asyncio.wrap_future(future)
    try:
        return await asyncio.shield(waiter)
    except asyncio.CancelledError as cancelled:
        token.cancel()
        # One that still waits for its turn never begins.
        if not future.cancel():
            while not waiter.done():
                try:
                    await asyncio.wait([waiter])
                except asyncio.CancelledError:
                    pass  # it is over in a moment, and then the first cancellation goes on
        _note(cancelled, future, delivers)
        raise
    finally:
        threads.done()


async def _beside_trio(work: Callable[[], T], token: _native.CancelToken, delivers: bool) -> T:
    trio: Any = sys.modules["trio"]
    async with trio.to_thread.current_default_thread_limiter():
        task, loop = trio.lowlevel.current_task(), trio.lowlevel.current_trio_token()
        future: Future[T] = Future()
        raise_cancel: Callable[[], None] | None = None

        def begin() -> None:
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)

        def ended(_: object) -> None:
            loop.run_sync_soon(trio.lowlevel.reschedule, task)

        def abort(raising: Callable[[], None]) -> Any:
            nonlocal raise_cancel
            raise_cancel = raising
            token.cancel()
            return trio.lowlevel.Abort.FAILED

        trio.lowlevel.start_thread_soon(begin, ended)
        await trio.lowlevel.wait_task_rescheduled(abort)
    if raise_cancel is not None:
        try:
            raise_cancel()
        except BaseException as cancelled:
            _note(cancelled, future, delivers)
            raise
    return future.result()


def _note(cancelled: BaseException, future: Future[Any], delivers: bool) -> None:
    """Says under a cancellation what became of the message."""
    verdict: str | None = "not_sent"
    if not future.cancelled():
        error = future.exception()
        verdict = "accepted" if error is None else error.delivery if isinstance(error, Error) else None
    if delivers and verdict is not None:
        _native.add_note(cancelled, verdict)
