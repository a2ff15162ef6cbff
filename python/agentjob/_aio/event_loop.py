"""The event loops that agentjob.aio runs on: asyncio and trio, and so anyio."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
from concurrent.futures import Future
from functools import partial
from typing import Any, Awaitable, Callable, Protocol, TypeVar

#: Ends a sleep, from any thread.
Wake = Callable[[], None]
Call = TypeVar("Call", bound=Callable[..., Awaitable[Any]])
#: Coroutine functions that trio protects from Ctrl-C.
_protected: dict[Any, Any] = {}


async def wait_for(loop: Loop, future: Future[Any], seconds: float | None) -> None:
    """Waits for a thread's work, for at most this many seconds. Cancelling this does not cancel the work."""
    await loop.sleep(seconds, lambda wake: future.add_done_callback(lambda _: wake()))


class Loop(Protocol):
    """What a call needs of an event loop."""

    #: The exceptions that cancel a task.
    cancelled: tuple[type[BaseException], ...]

    def protected(self, call: Call) -> Call:
        """A coroutine function into which Ctrl-C is raised only while it sleeps."""

    async def sleep(self, seconds: float | None, arm: Callable[[Wake], object]) -> None:
        """Sleeps for this many seconds, or until the function that `arm` gets is called. None: no limit."""

    async def outlast(self, future: Future[Any]) -> None:
        """Waits for a thread's work that is about to end, even if this is cancelled."""

    def later(self, seconds: float, call: Callable[[], None]) -> object:
        """Calls a function after this many seconds."""

    def is_closed(self) -> bool:
        """Whether the loop was closed, perhaps while a call was in flight."""


class _Asyncio:
    cancelled: tuple[type[BaseException], ...] = (asyncio.CancelledError,)

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def protected(self, call: Call) -> Call:
        return call

    async def sleep(self, seconds: float | None, arm: Callable[[Wake], object]) -> None:
        woken: asyncio.Future[None] = self._loop.create_future()
        timer = None if seconds is None else self._loop.call_later(seconds, _end, woken)
        arm(partial(_from_any_thread, partial(self._loop.call_soon_threadsafe, _end, woken)))
        try:
            await woken
        finally:
            if timer is not None:
                timer.cancel()

    async def outlast(self, future: Future[Any]) -> None:
        # anyio cancels a task repeatedly, so check each time whether the work has ended.
        while not future.done():
            with contextlib.suppress(asyncio.CancelledError):
                await wait_for(self, future, None)

    def later(self, seconds: float, call: Callable[[], None]) -> object:
        return self._loop.call_later(seconds, call)

    def is_closed(self) -> bool:
        return self._loop.is_closed()


class _Trio:
    def __init__(self, trio: Any) -> None:
        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        #: trio raises Ctrl-C in the main task, wherever that waits.
        self.cancelled: tuple[type[BaseException], ...] = (trio.Cancelled, KeyboardInterrupt)

    def protected(self, call: Call) -> Call:
        # Ctrl-C must not interrupt the code around a sleep: between the moment in which trio's Event knows the task and the moment
        # in which the task sleeps, it would leave the task in the Event, whose set() would then wake it from another sleep, a second
        # time for that one: trio.TrioInternalError. Protected code gets it while it sleeps.
        if call not in _protected:
            _protected[call] = self._trio.lowlevel.enable_ki_protection(call)
        made: Call = _protected[call]
        return made

    async def sleep(self, seconds: float | None, arm: Callable[[Wake], object]) -> None:
        await self.protected(_Trio._sleep)(self, seconds, arm)

    async def _sleep(self, seconds: float | None, arm: Callable[[Wake], object]) -> None:
        woken = self._trio.Event()
        arm(partial(_from_any_thread, partial(self._token.run_sync_soon, woken.set)))
        with self._trio.move_on_after(math.inf if seconds is None else seconds):
            await woken.wait()

    async def outlast(self, future: Future[Any]) -> None:
        with self._trio.CancelScope(shield=True):
            await wait_for(self, future, None)

    def later(self, seconds: float, call: Callable[[], None]) -> object:
        async def wait() -> None:
            try:
                await self._trio.sleep(seconds)
            finally:  # also when the loop ends first
                call()

        return self._trio.lowlevel.spawn_system_task(wait)

    def is_closed(self) -> bool:
        return False  # it ends its tasks, and with them their calls, before it ends


def is_cancellation(error: BaseException) -> bool:
    """Whether it ends a coroutine from outside: its loop's cancellation, or its close(), perhaps after the loop's end."""
    trio = sys.modules.get("trio")
    return isinstance(error, (asyncio.CancelledError, GeneratorExit)) or (trio is not None and isinstance(error, trio.Cancelled))


def running_loop() -> Loop:
    return _Trio(sys.modules["trio"]) if in_trio() else _Asyncio()


def in_trio() -> bool:
    trio = sys.modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()
    except (RuntimeError, AttributeError):  # not inside trio, or trio is still being imported
        return False
    return True


def _from_any_thread(call: Callable[[], object]) -> None:
    """Calls into an event loop, unless the loop is closed."""
    with contextlib.suppress(RuntimeError):
        call()


def _end(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
