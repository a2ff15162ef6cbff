"""One blocking call of agentjob.aio, on a thread, beside asyncio or trio.

A call's timeout includes the time that it queues for a thread. If it times out in the queue, it leaves the queue and raises the
core's own error: no request was made. When a task is cancelled, so is its call's token; the thread notices within 100 ms, and then
the cancellation continues, with a note of the message's delivery verdict, which is logged, too. So no thread works for a caller that
is gone, and the verdict is always known.
"""

from __future__ import annotations

import contextvars
import functools
from concurrent.futures import Future
from typing import Any, Awaitable, Callable, TypeVar

from .. import _native
from ..errors import _VERDICTS
from .event_loop import Loop, Wake, running_loop, wait_for
from .message import Message
from .threads import Threads

T = TypeVar("T")


def delivering(*names: str) -> Callable[[type[T]], type[T]]:
    """Gives the coroutine methods `names` of a class the verdict of what Python itself refuses: a TypeError because an argument is
    missing, unexpected or surplus has `delivery`, "not_sent". It decorates the class, so that for type checkers, which cannot tell
    what a decorated method is, the methods stay what their signatures say."""

    def decorate(cls: type[T]) -> type[T]:
        for name in names:
            setattr(cls, name, _delivering(getattr(cls, name)))
        return cls

    return decorate


def _delivering(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(method)
    async def call(*arguments: Any, **named: Any) -> Any:
        try:
            coroutine = method(*arguments, **named)
        except TypeError as error:
            _note(error, "not_sent")
            raise
        return await coroutine

    return call


async def run(threads: Threads, work: Callable[[], T], token: _native.CancelToken, delivers: Message | None = None) -> T:
    """Runs `work` on a thread, beside the running event loop. Cancelling `token` must end `work`. If the token is of one call, the
    call's timeout is the token's. delivers: the message that `work` delivers."""
    # First: without a running loop nothing starts.
    loop = running_loop()
    return await loop.protected(_run)(loop, threads, work, token, delivers)


async def _run(
    loop: Loop, threads: Threads, work: Callable[[], T], token: _native.CancelToken, delivers: Message | None
) -> T:
    context = contextvars.copy_context()
    try:
        future = threads.submit(lambda: context.run(work), token, loop.is_closed)
    except RuntimeError as error:  # the system has no thread left
        _note(error, "not_sent" if delivers else None)
        raise
    try:
        remaining = token._remaining
        await wait_for(loop, future, remaining)
        while not future.done():
            remaining = token._remaining
            if remaining == 0.0:
                if future.cancel():
                    return context.run(work)  # it ends at once, because it has timed out
                remaining = None  # a thread has it, and ends it in time
            await wait_for(loop, future, remaining)
    except loop.cancelled as cancelled:
        token.cancel()
        # If it is still in the queue, it never starts.
        future.cancel()
        await loop.outlast(future)
        if delivers is not None:
            verdict, record = _known(future)
            delivers.ended(cancelled, verdict, record=record)
        raise
    except BaseException:
        # The coroutine was closed, perhaps with its loop.
        token.cancel()
        future.cancel()
        raise
    finally:
        threads.done(token, loop.later)
    return future.result()


async def pause(threads: Threads, seconds: float) -> None:
    """Sleeps. Closing the client ends the sleep."""
    armed: list[Wake] = []

    def arm(wake: Wake) -> None:
        armed.append(wake)
        threads.sleepers.add(wake)

    try:
        await running_loop().sleep(seconds, arm)
    finally:
        threads.sleepers.difference_update(armed)


def _known(future: Future[Any]) -> tuple[str, Any]:
    """The delivery verdict of a call that has ended, and what it returned or would have."""
    if future.cancelled():
        return "not_sent", None
    error = future.exception()
    if error is None:
        return "accepted", future.result()
    # What a call noted stands in the exception itself; one whose class has a `delivery` of its own may have kept that.
    noted = getattr(error, "__dict__", {})
    verdict = noted.get("delivery")
    return verdict if verdict and verdict in _VERDICTS else "unknown", noted.get("job")


def _note(error: BaseException, verdict: str | None) -> None:
    """Adds the message's verdict to an exception that the call itself did not raise."""
    if verdict is not None:
        _native.add_note(error, verdict)
