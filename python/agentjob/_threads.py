"""The threads on which agentjob.aio makes its requests, and the queue before them."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Callable, TypeVar

from ._native import CancelToken, block_signals

T = TypeVar("T")

#: Requests of one client in flight at once, unless the client says otherwise; more of them queue.
MAX_THREADS = 128
#: After this many seconds without a request the threads end.
IDLE_SECONDS = 1.0


class Threads:
    """What a client and those with its connections share beside their connections: the threads that come with the first request,
    one for each that is in flight at once, and end when there is none; and the waits that pause."""

    def __init__(self, most: int = MAX_THREADS) -> None:
        self.most = most
        #: What wakes each wait that pauses.
        self.sleepers: set[Callable[[], None]] = set()
        self.forget()
        _everyones.add(self)

    def forget(self) -> None:
        """A forked child has the executor, but not its threads, and the lock as its parent held it."""
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._has_thread = False
        self._busy = 0
        self._used = 0
        self._abandoned: set[CancelToken] = set()  # those that nobody waits for once the interpreter ends

    def submit(self, work: Callable[[], T], token: CancelToken) -> Future[T]:
        """Does this, which heeds `token`, on a thread, after what queues already. Cancel the future to take it out of the queue."""
        future: Future[T] = Future()
        abandoned = _is_abandoned_at_exit()
        with self._lock:
            if abandoned and _exiting:
                raise RuntimeError("the interpreter ends: no more requests")
            if self._executor is None:
                # A signal is for the program's own threads: one of them may wait for it with sigwait.
                self._executor = ThreadPoolExecutor(self.most, "agentjob", block_signals)
                self._has_thread = False
            try:
                self._executor.submit(_do, future, work)
                self._has_thread = True
            except RuntimeError:
                # The system has no thread left. One of ours will do it, unless there is none, or the interpreter ends.
                if not self._has_thread or not threading.main_thread().is_alive():
                    future.cancel()
                    raise
            self._busy += 1
            self._used += 1
            if abandoned:
                self._abandoned.add(token)
        return future

    def done(self, token: CancelToken, later: Callable[[float, Callable[[], None]], object]) -> None:
        """A call is over. `later` looks after the threads when they may have idled long enough."""
        with self._lock:
            self._abandoned.discard(token)
            self._busy -= 1
            if self._busy > 0:
                return
        with contextlib.suppress(RuntimeError):  # the loop is closed
            later(IDLE_SECONDS, _SurelyCalled(partial(self._rest, self._used)))

    def _rest(self, used: int) -> None:
        # It may come in the middle of anything, from the garbage collector; who has the lock then has a request.
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
        """Ends the calls whose loops stand still at the interpreter's end, which waits for their threads."""
        with self._lock:
            tokens = list(self._abandoned)
        for token in tokens:
            token.cancel()


class _SurelyCalled:
    """A call for an event loop to make once. A loop that is closed throws away its timers, and then it is made there and then."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def __call__(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()

    __del__ = __call__


def _do(future: Future[T], work: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def _is_abandoned_at_exit() -> bool:
    """Whether the interpreter's end leaves this thread's event loop behind. It waits for all threads but the daemons."""
    thread = threading.current_thread()
    return thread.daemon or thread is threading.main_thread()


_everyones: weakref.WeakSet[Threads] = weakref.WeakSet()


def _forget_all() -> None:
    for threads in _everyones:
        threads.forget()


_exiting = False


def _exit() -> None:
    global _exiting
    _exiting = True
    for threads in list(_everyones):
        threads.exit()


# Before the executors wait for their threads, as they do in the same way. There is no public one, and `atexit` comes after it.
with contextlib.suppress(RuntimeError):  # it ends already
    threading._register_atexit(_exit)  # type: ignore[attr-defined]

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
