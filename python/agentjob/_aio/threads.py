"""The threads on which agentjob.aio makes its requests, and the queue in front of them."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Callable, TypeVar

from .._native import CancelToken, block_signals

T = TypeVar("T")

#: The default limit of a client's requests in flight at once; further requests queue.
MAX_THREADS = 128
#: After this many seconds without a request the threads end.
IDLE_SECONDS = 1.0


class Threads:
    """What clients share in addition to connections: the waits that pause, and the threads. A thread starts for each request
    in flight at once, and all end when there has been no request for a while."""

    def __init__(self, most: int = MAX_THREADS) -> None:
        self.most = most
        #: What wakes each wait that pauses.
        self.sleepers: set[Callable[[], None]] = set()
        self.forget()
        _instances.add(self)

    def forget(self) -> None:
        """Starts afresh in a forked child, which has the executor without its threads, and the lock in any state."""
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._has_thread = False
        self._busy = 0
        self._used = 0
        #: The calls in flight, and whether no event loop will wait for them when the interpreter exits.
        self._calls: dict[CancelToken, Callable[[], bool]] = {}

    def submit(self, work: Callable[[], T], token: CancelToken, is_closed: Callable[[], bool]) -> Future[T]:
        """Queues `work` for a thread. Cancelling `token` must end `work`. Cancelling the future takes it out of the queue. `is_closed`:
        whether the event loop that waits for it is closed."""
        future: Future[T] = Future()
        abandoned = _is_abandoned_at_exit()
        with self._lock:
            if abandoned and _exiting:
                raise RuntimeError("the interpreter is shutting down: no more requests")
            if self._executor is None:
                # Signals are for the program's own threads: one of them may use sigwait.
                self._executor = ThreadPoolExecutor(self.most, "agentjob", block_signals)
                self._has_thread = False
            try:
                self._executor.submit(_do, future, [work])
                self._has_thread = True
            except RuntimeError:
                # The system has no thread left. A thread of ours runs it later, unless there is none or the interpreter shuts down.
                if not self._has_thread or not threading.main_thread().is_alive():
                    future.cancel()
                    raise
            self._busy += 1
            self._used += 1
            thread = threading.current_thread()
            self._calls[token] = lambda: abandoned or is_closed() or not thread.is_alive()
        return future

    def done(self, token: CancelToken, later: Callable[[float, Callable[[], None]], object]) -> None:
        """A call has ended. `later` schedules a check whether the threads have been idle long enough to end."""
        with self._lock:
            self._calls.pop(token, None)
            self._busy -= 1
            if self._busy > 0:
                return
        with contextlib.suppress(RuntimeError):  # the loop is closed
            later(IDLE_SECONDS, _CalledOnce(partial(self._rest, self._used)))

    def _rest(self, used: int) -> None:
        # The garbage collector may call this at any point. A thread that has locked it is making a request, so nothing is idle.
        if self._used != used or not self._lock.acquire(blocking=False):
            return
        try:
            executor, self._executor = self._executor, None
        finally:
            self._lock.release()
        if executor is not None:
            executor.shutdown(wait=False)

    def close(self) -> None:
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)
        for wake in list(self.sleepers):
            wake()

    def exit(self) -> None:
        """Ends the calls whose event loops have stopped when the interpreter exits, because it waits for their threads."""
        with self._lock:
            calls = list(self._calls.items())
        for token, is_abandoned in calls:
            if is_abandoned():
                token.cancel()


class _CalledOnce:
    """A function for an event loop to call once. A loop that is closed drops its timers, and then it is called at that moment."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def __call__(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()

    __del__ = __call__


def _do(future: Future[T], only: list[Callable[[], T]]) -> None:
    """Does the work in the list, and takes it out: the executor keeps its arguments while this runs, and once the future is done the
    program may expect that nothing refers to what the work was about."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = only.pop()()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def _is_abandoned_at_exit() -> bool:
    """Whether this thread's event loop stops when the interpreter exits, which waits for all threads but daemons."""
    thread = threading.current_thread()
    return thread.daemon or thread is threading.main_thread()


_instances: weakref.WeakSet[Threads] = weakref.WeakSet()


def _forget_all() -> None:
    for threads in _instances:
        threads.forget()


_exiting = False


def _exit() -> None:
    global _exiting
    _exiting = True
    for threads in list(_instances):
        threads.exit()


# Executors wait for their threads in the same way; this must run first. There is no public API for it, and `atexit` is too late.
with contextlib.suppress(RuntimeError):  # it is shutting down already
    threading._register_atexit(_exit)  # type: ignore[attr-defined]

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
