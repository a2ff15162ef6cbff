"""The threads on which agentjob.aio makes its requests, and the queue before them."""

from __future__ import annotations

import os
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Callable, TypeVar

from ._native import block_signals

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

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Does this on a thread, after what queues already. Cancel the future to take it out of the queue."""
        future: Future[T] = Future()
        with self._lock:
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
        return future

    def done(self, later: Callable[[float, Callable[[], None]], object]) -> None:
        """A call is over. `later` looks after the threads when they may have idled long enough."""
        with self._lock:
            self._busy -= 1
            if self._busy > 0:
                return
        rest = partial(self._rest, self._used)
        try:
            later(IDLE_SECONDS, rest)
        except RuntimeError:  # the loop is closed
            rest()

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


def _do(future: Future[T], work: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


_everyones: weakref.WeakSet[Threads] = weakref.WeakSet()


def _forget_all() -> None:
    for threads in _everyones:
        threads.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
