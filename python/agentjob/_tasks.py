"""How agentjob.aio runs a call that blocks: on a thread for the length of one request, beside asyncio or trio.

A task that is cancelled takes its call along: the call's token is cancelled, which the thread hears within 100 ms, and only then
does the cancellation go on, with a note of what became of the message. So no thread works for nobody, and nobody has to guess.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import sys
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Awaitable, Callable, TypeVar

from . import _native

T = TypeVar("T")

#: Requests of one client under way at once; more of them wait for their turn.
MAX_THREADS = 32
#: After so many seconds without a request the threads are let go.
IDLE_SECONDS = 1.0


class Threads:
    """What a client and those with its connections share beside their connections: the threads that come with the first request
    and go when there is none, and the waits that pause."""

    def __init__(self) -> None:
        #: What wakes each wait that pauses.
        self.sleepers: set[Callable[[], None]] = set()
        self.forget()
        _everyones.add(self)

    def forget(self) -> None:
        """A forked child has the executor, but not its threads, and the lock and trio's limiter as its parent held them."""
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._limiter: Any = None
        self._busy = 0
        self._used = 0

    def submit(self, work: Callable[[], T]) -> Future[T]:
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="agentjob")
            self._busy += 1
            self._used += 1
            return self._executor.submit(work)

    def done(self, loop: asyncio.AbstractEventLoop) -> None:
        """A call is over. Its loop looks after the threads a while later."""
        with self._lock:
            self._busy -= 1
            if self._busy > 0:
                return
        try:
            loop.call_later(IDLE_SECONDS, self._rest, self._used)
        except RuntimeError:  # the loop is closed
            self._rest(self._used)

    def _rest(self, used: int) -> None:
        if self._used == used:
            self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)

    def close(self) -> None:
        self._let_go()
        for wake in list(self.sleepers):
            wake()

    def trio_limiter(self, trio: Any) -> Any:
        if self._limiter is None:
            self._limiter = trio.CapacityLimiter(MAX_THREADS)
        return self._limiter


_everyones: weakref.WeakSet[Threads] = weakref.WeakSet()


def _forget_all() -> None:
    for threads in _everyones:
        threads.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def run(threads: Threads, work: Callable[[], T], token: _native.CancelToken, delivers: bool) -> Awaitable[T]:
    """Runs `work`, which heeds `token`, beside whichever event loop is running."""
    work = partial(contextvars.copy_context().run, work)
    if _in_trio():
        return _beside_trio(threads, work, token, delivers)
    return _beside_asyncio(threads, work, token, delivers)


async def pause(threads: Threads, seconds: float) -> None:
    """Sleeps, until the client is closed at most."""
    if _in_trio():
        trio = sys.modules["trio"]
        event, loop = trio.Event(), trio.lowlevel.current_trio_token()
        alarm: Callable[[], None] = partial(_from_anywhere, partial(loop.run_sync_soon, event.set))
        threads.sleepers.add(alarm)
        try:
            with trio.move_on_after(seconds):
                await event.wait()
        finally:
            threads.sleepers.discard(alarm)
    else:
        loop = asyncio.get_running_loop()
        woken, wake = _alarm(loop)
        threads.sleepers.add(wake)
        timer = loop.call_later(seconds, _end, woken)
        try:
            await woken
        finally:
            timer.cancel()
            threads.sleepers.discard(wake)


def _in_trio() -> bool:
    trio = sys.modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()
    except (RuntimeError, AttributeError):  # not in it, or not whole yet
        return False
    return True


def _from_anywhere(say: Callable[[], object]) -> None:
    """Speaks to an event loop that may be gone, and then there is nobody to speak to."""
    with contextlib.suppress(RuntimeError):
        say()


def _alarm(loop: asyncio.AbstractEventLoop) -> tuple[asyncio.Future[None], Callable[[], None]]:
    """A future, and what ends it from any thread."""
    woken: asyncio.Future[None] = loop.create_future()
    return woken, partial(_from_anywhere, partial(loop.call_soon_threadsafe, _end, woken))


def _end(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


async def _over(future: Future[Any], loop: asyncio.AbstractEventLoop) -> None:
    """Waits for a thread's work, and takes nothing of it along when it is cancelled itself."""
    woken, wake = _alarm(loop)
    future.add_done_callback(lambda _: wake())
    await woken


async def _beside_asyncio(threads: Threads, work: Callable[[], T], token: _native.CancelToken, delivers: bool) -> T:
    # The loop first: without one nothing is begun.
    loop = asyncio.get_running_loop()
    future = threads.submit(work)
    try:
        await _over(future, loop)
    except asyncio.CancelledError as cancelled:
        token.cancel()
        # One that still waits for its turn never begins.
        future.cancel()
        while not future.done():
            try:
                await _over(future, loop)
            except asyncio.CancelledError:
                pass  # it is over in a moment, and then the first cancellation goes on
        _note(cancelled, future, delivers)
        raise
    except BaseException:
        # The coroutine was thrown away, perhaps with its loop.
        token.cancel()
        future.cancel()
        raise
    finally:
        threads.done(loop)
    return future.result()


async def _beside_trio(threads: Threads, work: Callable[[], T], token: _native.CancelToken, delivers: bool) -> T:
    trio: Any = sys.modules["trio"]
    limiter, turn = threads.trio_limiter(trio), object()
    future: Future[T] = Future()
    try:
        await limiter.acquire_on_behalf_of(turn)
    except trio.Cancelled as cancelled:
        future.cancel()
        _note(cancelled, future, delivers)
        raise
    try:
        task, loop = trio.lowlevel.current_task(), trio.lowlevel.current_trio_token()
        raise_cancel: Callable[[], None] | None = None

        def begin() -> None:
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)

        def ended(_: object) -> None:
            _from_anywhere(lambda: loop.run_sync_soon(trio.lowlevel.reschedule, task))

        def abort(raising: Callable[[], None]) -> Any:
            nonlocal raise_cancel
            raise_cancel = raising
            token.cancel()
            return trio.lowlevel.Abort.FAILED

        trio.lowlevel.start_thread_soon(begin, ended)
        await trio.lowlevel.wait_task_rescheduled(abort)
    finally:
        limiter.release_on_behalf_of(turn)
    if raise_cancel is not None:
        try:
            raise_cancel()
        except BaseException as cancelled:
            _note(cancelled, future, delivers)
            raise
    return future.result()


def _note(cancelled: BaseException, future: Future[Any], delivers: bool) -> None:
    """Says under a cancellation what became of the message."""
    if not delivers:
        return
    error = None if future.cancelled() else future.exception()
    verdict: str | None = getattr(error, "delivery", None)
    if error is None:
        verdict = "not_sent" if future.cancelled() else "accepted"
    if verdict is not None:
        _native.add_note(cancelled, verdict)
