"""How agentjob.aio runs a call that blocks: on a thread for the length of one request, beside asyncio or trio.

A call's time runs while it queues for a thread. One whose time is over in the queue leaves it and ends there and then, with the
core's own error: no request was made. A task that is cancelled takes its call along: the call's token is cancelled, which the
thread hears within 100 ms, and only then does the cancellation go on, with a note of what became of the message. So no thread works
for nobody, and nobody has to guess.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import math
import sys
from concurrent.futures import Future
from functools import partial
from typing import Any, Callable, Protocol, TypeVar

from . import _native
from ._threads import MAX_THREADS, Threads

__all__ = ["MAX_THREADS", "Threads", "pause", "run"]

T = TypeVar("T")
#: Ends a sleep, from any thread.
Wake = Callable[[], None]


async def run(threads: Threads, work: Callable[[], T], token: _native.CancelToken, delivers: bool) -> T:
    """Runs `work`, which heeds `token`, beside whichever event loop is running. A token of one call has that call's time."""
    # The loop first: without one nothing is begun.
    loop = _running_loop()
    context = contextvars.copy_context()
    try:
        future = threads.submit(lambda: context.run(work), token)
    except RuntimeError as error:  # there is no thread to be had
        _note(error, "not_sent" if delivers else None)
        raise
    try:
        await _over(loop, future, token._left)
        while not future.done():
            if token._left == 0.0 and future.cancel():
                return context.run(work)  # it ends at once, for its time is over
            await _over(loop, future, token._left or None)
    except loop.cancelled as cancelled:
        token.cancel()
        # One that still queues never begins.
        future.cancel()
        await loop.outlast(future)
        _note(cancelled, _verdict(future) if delivers else None)
        raise
    except BaseException:
        # The coroutine was thrown away, perhaps with its loop.
        token.cancel()
        future.cancel()
        raise
    finally:
        threads.done(token, loop.later)
    return future.result()


async def pause(threads: Threads, seconds: float) -> None:
    """Sleeps, until the client is closed at most."""
    armed: list[Wake] = []

    def arm(wake: Wake) -> None:
        armed.append(wake)
        threads.sleepers.add(wake)

    try:
        await _running_loop().sleep(seconds, arm)
    finally:
        threads.sleepers.difference_update(armed)


async def _over(loop: Loop, future: Future[Any], seconds: float | None) -> None:
    """Waits for a thread's work, for so long at most, and takes nothing of it along when it is cancelled itself."""
    await loop.sleep(seconds, lambda wake: future.add_done_callback(lambda _: wake()))


class Loop(Protocol):
    """What is needed of an event loop."""

    #: How it tells a task that it is cancelled.
    cancelled: tuple[type[BaseException], ...]

    async def sleep(self, seconds: float | None, arm: Callable[[Wake], object]) -> None:
        """Sleeps for so long at most, or until what it hands to `arm` is called."""

    async def outlast(self, future: Future[Any]) -> None:
        """Waits for a thread's work whose end is near, whoever cancels this."""

    def later(self, seconds: float, call: Callable[[], None]) -> object:
        """Calls this after a while."""


class _Asyncio:
    cancelled: tuple[type[BaseException], ...] = (asyncio.CancelledError,)

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    async def sleep(self, seconds: float | None, arm: Callable[[Wake], object]) -> None:
        woken: asyncio.Future[None] = self._loop.create_future()
        timer = None if seconds is None else self._loop.call_later(seconds, _end, woken)
        arm(partial(_from_anywhere, partial(self._loop.call_soon_threadsafe, _end, woken)))
        try:
            await woken
        finally:
            if timer is not None:
                timer.cancel()

    async def outlast(self, future: Future[Any]) -> None:
        # anyio cancels a task again and again, so nothing is waited for that is over.
        while not future.done():
            with contextlib.suppress(asyncio.CancelledError):
                await _over(self, future, None)

    def later(self, seconds: float, call: Callable[[], None]) -> object:
        return self._loop.call_later(seconds, call)


class _Trio:
    def __init__(self, trio: Any) -> None:
        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        #: Ctrl-C comes to the main task wherever it waits.
        self.cancelled: tuple[type[BaseException], ...] = (trio.Cancelled, KeyboardInterrupt)

    async def sleep(self, seconds: float | None, arm: Callable[[Wake], object]) -> None:
        woken = self._trio.Event()
        arm(partial(_from_anywhere, partial(self._token.run_sync_soon, woken.set)))
        with self._trio.move_on_after(math.inf if seconds is None else seconds):
            await woken.wait()

    async def outlast(self, future: Future[Any]) -> None:
        with self._trio.CancelScope(shield=True):
            await _over(self, future, None)

    def later(self, seconds: float, call: Callable[[], None]) -> object:
        async def wait() -> None:
            try:
                await self._trio.sleep(seconds)
            finally:  # the loop's end comes first
                call()

        return self._trio.lowlevel.spawn_system_task(wait)


def _running_loop() -> Loop:
    return _Trio(sys.modules["trio"]) if _in_trio() else _Asyncio()


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


def _end(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


def _verdict(future: Future[Any]) -> str | None:
    """What became of the message of a call that is over."""
    if future.cancelled():
        return "not_sent"
    error = future.exception()
    return "accepted" if error is None else getattr(error, "delivery", None)


def _note(error: BaseException, verdict: str | None) -> None:
    """Says under what did not come out of the call what became of its message."""
    if verdict is not None:
        _native.add_note(error, verdict)
