"""A run of Once.send_all: the threads that work a list off, and the iterator over its outcomes."""

from __future__ import annotations

import atexit
import os
import queue
import threading
import time
from contextlib import suppress
from typing import Any, Callable, Generator, Iterable, List, Mapping, Optional, Tuple

from .. import _native
from .._native import CancelToken, Client
from ..errors import CancelledError
from ..types import BatchOutcome
from .calls import SETTLES
from .store import Store
from .worker import TICK, Task, Worker
from .worklist import Worklist

#: How often the iterating thread checks whether the run was cancelled, in seconds.
WATCHES = 0.1


def list_run(
    client: Client,
    store: Store,
    pace: Tuple[str, Optional[int], Optional[float]],
    *,
    items: Iterable[object],
    headers: Optional[Mapping[str, str]],
    concurrency: int,
    wait: bool,
    max_outage: float,
    max_busy: float,
    grace: float,
    cancel: Optional[CancelToken] = None,
    **waits: Any,
) -> Run:
    """A run of a list, all of which is checked here."""
    options = {"concurrency": concurrency, "wait": wait, "max_outage": max_outage, "max_busy": max_busy, "grace": grace, "cancel": cancel}
    given, shortest_pause = _native.step_list(client, items, headers, **waits, **options)
    work = Worklist(given, wait, float(max_busy))
    worker = Worker(client, store, pace, work, {**waits, "headers": headers}, shortest_pause, float(max_outage))
    return Run(worker, concurrency, grace, cancel)


class Run:
    """A run, which begins when its first outcome is asked for. concurrency: how many messages are in flight at once. grace: how many seconds
    to wait for their responses when it ends early. cancel: ends it."""

    def __init__(self, worker: Worker, concurrency: int, grace: float, cancel: Optional[CancelToken]) -> None:
        self.worker, self.concurrency, self.grace, self.cancel = worker, concurrency, float(grace), cancel
        self.pid = os.getpid()
        self.threads: List[threading.Thread] = []
        #: How many threads have not ended, under the worker's lock.
        self.running = 0

    def iterate(self) -> Generator[BatchOutcome, None, None]:
        """The outcomes, those of earlier runs and of other workers included."""
        try:
            self.begin()
            while True:
                outcome = self.next(None)
                if outcome is None:
                    return
                yield outcome
        finally:
            self.close()

    def next(self, token: Optional[CancelToken]) -> Optional[BatchOutcome]:
        """Waits for the next outcome. None: there are no more; or the token was cancelled. Raises what ended the run."""
        while token is None or not token.cancelled:
            self._check()
            with suppress(queue.Empty):
                outcome = self.worker.outcomes.get(timeout=WATCHES)
                if outcome is not None:
                    return outcome
                if self.worker.error is not None:
                    raise self.worker.error
                if self.worker.ended_at is not None and self.worker.work.left:
                    raise self._cancelled()
                break
        return None

    def close(self) -> None:
        """Ends the run. The messages in flight have the grace to get their responses; then what is known of them is recorded."""
        self._close(None)

    def _close(self, token: Optional[CancelToken]) -> None:
        """The token ends the grace."""
        atexit.unregister(self.close)
        if os.getpid() != self.pid:
            return
        self.worker.end(None)
        if threading.current_thread() in self.threads:
            # The iterator was collected as garbage there.
            return
        ends = time.monotonic() + self.grace
        try:
            while time.monotonic() < ends and not (token is not None and token.cancelled):
                if self._join(min(WATCHES, ends - time.monotonic())):
                    return
        finally:
            self.worker.sends.cancel()
            self._join(SETTLES + TICK)

    def begin(self) -> None:
        """Starts to send."""
        self._check()
        worker = self.worker
        if worker.ended_at is None:
            worker.begin()
        if not worker.work.open or worker.ended_at is not None:
            return worker.outcomes.put(None)
        atexit.register(self.close)
        senders = min(self.concurrency, worker.work.open)
        # Polls have threads of their own: messages may take long. Without a wait, only busy jobs are polled.
        pollers = senders if worker.work.waits else 1
        # Before they start: the last that ends ends the iteration.
        self.running = senders + pollers
        for work in [(worker.next_send, worker.for_senders)] * senders + [(worker.next_poll, worker.for_pollers)] * pollers:
            self.threads.append(threading.Thread(target=self._work, args=work, name="agentjob-list", daemon=True))
        for thread in self.threads:
            thread.start()

    def _check(self) -> None:
        """What the iterating thread watches."""
        if os.getpid() != self.pid:
            raise RuntimeError("this process was forked: its parent iterates over the list")
        if self.cancel is not None and self.cancel.cancelled:
            self.worker.end(None)
        if self.worker.ended_at is not None and time.monotonic() > self.worker.ended_at + self.grace:
            self.worker.sends.cancel()

    def _cancelled(self) -> CancelledError:
        left = self.worker.work.left
        reason, hint = f"the list was cancelled with {left} message{'' if left == 1 else 's'} left", "Run it again to continue."
        return CancelledError(f"{reason}. {hint}", {"reason": reason, "hint": hint, "delivery": None})

    def _join(self, seconds: float) -> bool:
        """Waits until the threads have ended, and returns whether they have."""
        deadline = time.monotonic() + seconds
        started = [thread for thread in self.threads if thread.ident is not None]
        for thread in started:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in started)

    def _work(self, next_task: Callable[[float], Task], changed: threading.Condition) -> None:
        _native.block_signals()
        try:
            self._do_all(next_task, changed)
        except BaseException as error:
            self.worker.end(error)
        finally:
            with self.worker.lock:
                self.running -= 1
                self.worker.for_senders.notify_all()
                self.worker.for_pollers.notify_all()
                if self.running == 0:
                    self.worker.outcomes.put(None)

    def _do_all(self, next_task: Callable[[float], Task], changed: threading.Condition) -> None:
        while True:
            with self.worker.lock:
                while True:
                    if self.cancel is not None and self.cancel.cancelled:
                        self.worker.end(None)
                    if not self.worker.work.open or self.worker.ended_at is not None:
                        return
                    task = next_task(time.monotonic())
                    if not isinstance(task, float):
                        # There may be more to do.
                        changed.notify()
                        break
                    changed.wait(min(task, TICK))
            task()
