"""What the threads of a run of Once.send_all do: send a message of the list, poll a job, and ask the store what other workers did."""

from __future__ import annotations

import queue
import random
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any, Callable, List, Mapping, Optional, Tuple, Union

from .. import _native
from .._native import CancelToken, Client
from ..errors import Error, NotFoundError, StoreError, WaitTimeoutError
from ..types import BatchOutcome, Job
from .calls import ASKS, PAUSES, Message, finished
from .pauses import Pauses
from .store import PATIENCE, Step, Store, StoreBusyError, Throttled
from .worklist import Chain, Worklist

#: The longest time until a thread checks again whether there is something to do, in seconds.
TICK = 0.5
#: How often the store is asked what other workers did, at most, in seconds; and the largest part of the time that this takes.
LOOKS, LOOKS_COST = 1.0, 0.02
#: A job to which another worker sent is polled less and less often, in case that worker is gone: this is the longest pause, in seconds.
POLLS_FOR_OTHERS = 30.0
#: The errors of a poll that each other poll would have, too.
ENDS_ALL = ("authentication", "permission_denied", "redirect", "tls", "closed", "cancelled", "internal")

#: What a thread does next, if there is something, or how long it may wait until it asks again.
Task = Union[Callable[[], None], float]


class Worker:
    """Works a list off beside others. wait_options: those of a wait, and the headers. shortest_pause: between two polls."""

    def __init__(
        self,
        client: Client,
        store: Store,
        pace: Tuple[str, Optional[int], Optional[float]],
        work: Worklist,
        pauses: Pauses,
        wait_options: Mapping[str, Any],
        shortest_pause: float,
    ) -> None:
        self.client, self.store, self.pace = client, store, pace
        self.wait_options, self.shortest_pause = wait_options, shortest_pause
        self.headers: Optional[Mapping[str, str]] = wait_options["headers"]
        #: None: there are no more.
        self.outcomes: queue.SimpleQueue[Optional[BatchOutcome]] = queue.SimpleQueue()
        #: Ends the polls, and the messages.
        self.polls, self.sends = CancelToken(), CancelToken()
        self.lock = threading.RLock()
        self.for_senders, self.for_pollers = threading.Condition(self.lock), threading.Condition(self.lock)
        # What follows is under that lock.
        self.list, self.pauses = work, pauses
        self.sending = 0
        #: When the run was ended, and what raised.
        self.ended_at: Optional[float] = None
        self.error: Optional[BaseException] = None
        #: Other workers are here. When the store is asked next what they did, and whether it is being asked.
        self.has_others, self.looks_from, self.is_looking = False, 0.0, False

    def begin(self) -> None:
        """Asks the store what it has of the list."""
        keys = self.list.keys
        self.list.begin(self.store.get(keys, None, PATIENCE) if keys else [])
        self.has_others = self.list.has_others()
        self.deliver()

    def end(self, error: Optional[BaseException]) -> None:
        """Nothing more is sent or polled."""
        with self.lock:
            if self.ended_at is None:
                self.ended_at, self.error = time.monotonic(), error
                self.polls.cancel()
                self.for_senders.notify_all()
                self.for_pollers.notify_all()

    def next_send(self, now: float) -> Task:
        """What a thread that sends does next."""
        pause = self.pauses.next(now, self.sending)
        chain = self.list.next() if pause is None else None
        if chain is None:
            return pause or TICK
        self.sending += 1
        return partial(self._send, chain, self.pauses.failures > 0)

    def next_poll(self, now: float) -> Task:
        """What a thread that polls does next."""
        if self.has_others and not self.is_looking and now >= self.looks_from:
            self.is_looking = True
            return self._look
        chain, state, pause = self.list.next_due(now)
        return pause if chain is None else partial(self._poll, chain, state)

    def deliver(self) -> None:
        """Hands out the outcomes that there are."""
        for outcome in self.list.ended:
            self.outcomes.put(outcome)
        self.list.ended.clear()

    def _look(self) -> None:
        """Asks the store what other workers did."""
        with self.lock:
            elsewhere, ahead = self.list.elsewhere(), self.list.ahead()
        steps: Optional[List[Step]] = None
        began = time.monotonic()
        with suppress(StoreBusyError):
            steps = self.store.get(list(dict.fromkeys(elsewhere + ahead)), None, PATIENCE)
        ended = time.monotonic()
        with self.lock:
            if steps is not None:
                self.list.know(elsewhere + ahead, ahead, steps)
            self.has_others = self.list.has_others()
            self.looks_from, self.is_looking = ended + max(LOOKS, (ended - began) / LOOKS_COST), False
            self.deliver()
            self.for_senders.notify()

    def _send(self, chain: Chain, is_probe: bool) -> None:
        item = chain.items[0]
        message = Message(self.client, self.store, self.pace, (item.key, item.job_id, item.prompt), None, self.headers, True)
        taken: Union[Step, Throttled, None] = None
        error: Optional[Exception] = None
        try:
            if not is_probe or self._service_works(item.job_id):
                taken = message.attempt(self.client._call_token(delivers=True, cancel=self.sends))
        except StoreBusyError:
            pass
        except Exception as raised:
            error = raised
        with self.lock:
            self.sending -= 1
            self._sent(chain, message, taken, error, time.monotonic())
            self.deliver()
            self.for_senders.notify()
            self.for_pollers.notify()

    def _sent(
        self, chain: Chain, message: Message, taken: Union[Step, Throttled, None], error: Optional[Exception], now: float
    ) -> None:
        if error is None and not message.outcome:
            return self._not_taken(chain, taken, now)
        step = message.step
        if not isinstance(error, (Error, type(None))) or isinstance(error, StoreError) or step is None or step.owner != message.owner:
            # The store can't be used, or a person has decided about the step meanwhile.
            return self.end(error)
        _, poller, scope = message.outcome[0]
        if error is None or scope in ("item", "job"):
            self._resume()
        elif scope == "rate_limit":
            # For how long, the store says.
            self.pauses.pause(now)
        elif scope == "service":
            self._failed(error, now)
        else:
            _native.note(error, "the list was stopped; run it again to continue")
            self.end(error)
        if step.state != "not_sent" or error is None:
            return self.list.sent(chain, step, None if poller is None else poller.job, error)
        if scope != "job":
            return self.list.put_back(chain)
        left = self.list.refused(chain, error, self.shortest_pause, now)
        if left is not None:
            options = {**self.wait_options, "timeout": max(left, 0.001), "settle": 0.0}
            chain.poller = self.client.poller(message.job_id, **options)
        return None

    def _not_taken(self, chain: Chain, taken: Union[Step, Throttled, None], now: float) -> None:
        """It was not sent: it may not be yet, or another worker has it."""
        if isinstance(taken, Throttled):
            self.pauses.pause(now + min(max(taken.seconds, PAUSES[0]), ASKS))
        if not isinstance(taken, Step):
            return self.list.put_back(chain)
        self.list.found(chain, taken)
        # That worker is here, so this one continues elsewhere.
        self.list.continue_from(random.random())
        self.has_others = True
        return None

    def _resume(self) -> None:
        if self.pauses.responded():
            self.for_senders.notify_all()

    def _service_works(self, job_id: str) -> bool:
        """A poll shows it, and delivers nothing."""
        try:
            self.client.get_job(job_id, headers=self.headers, cancel=self.sends)
        except NotFoundError:
            pass
        except Error as error:
            with self.lock:
                self._failed(error, time.monotonic())
            return False
        return True

    def _failed(self, error: Error, now: float) -> None:
        outage = self.pauses.failed(now, random.random())
        if outage is not None:
            _native.note(error, f"the list was stopped after an outage of {outage:.0f} s (max_outage); run it again to continue")
            self.end(error)

    def _poll(self, chain: Chain, state: str) -> None:
        step, poller = chain.items[0].step, chain.poller
        job: Optional[Job] = None
        error: Optional[Error] = None
        is_due = poller is not None
        if poller is None:
            assert step is not None
            poller = _native.resume_step(self.client, step.job_id, step.poller, **self.wait_options)
            is_due = poller.due_in <= 0
        try:
            job = poller.poll(cancel=self.polls) if is_due else None
        except Error as raised:
            error = raised
        if job is not None and state == "working" and step is not None:
            record = _native.stored_wait(self.client, poller)[0]
            # Before another message to the job can leave.
            job = job if record is None else finished(self.store, step, job, record)
        with self.lock:
            chain.poller = poller
            self._polled(chain, state, job, error, time.monotonic())
            self.deliver()
            self.for_senders.notify()
            self.for_pollers.notify()

    def _polled(self, chain: Chain, state: str, job: Optional[Job], error: Optional[Error], now: float) -> None:
        poller = chain.poller
        assert poller is not None
        if job is None and error is None:
            pause = poller.due_in
            if state == "working" and not chain.items[0].is_own:
                # The worker that sent it polls it, too, and its result may be in the store before.
                self.has_others = True
                longest = self.wait_options["max_interval"] or POLLS_FOR_OTHERS
                pause = max(pause, min(2.0 ** min(poller.polls, 16), POLLS_FOR_OTHERS, longest))
            return self.list.wait(chain, state, now + pause)
        if error is not None and error.kind in ENDS_ALL:
            return self.end(error)
        if state == "busy":
            # If the poll failed for good, the message shows why.
            chain.was_too_busy = isinstance(error, WaitTimeoutError)
            return self.list.put_back(chain)
        if error is not None:
            error.delivery = "accepted"
            job = error.job
        return self.list.finished(chain, job, error)
