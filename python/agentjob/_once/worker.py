"""What the threads of a run of Once.send_all do: send a message of the list, poll a job, and ask the store what other workers did."""

from __future__ import annotations

import queue
import random
import threading
import time
from functools import partial
from typing import Any, Callable, Mapping, Optional, Tuple, Union

from .. import _native
from .._native import CancelToken, Client, ListBreaker, Poller
from ..errors import Error, WaitTimeoutError
from ..types import BatchOutcome, Job
from .calls import ASKS, PAUSES, Message, recorded_result, stored_result
from .chain import Chain
from .store import PATIENCE, Step, Store, StoreBusyError, Throttled
from .worklist import Worklist

#: The longest time until a thread checks again whether there is something to do, in seconds.
TICK = 0.5
#: How often the store is asked what other workers did, at most, in seconds; and the largest part of the time that this takes.
CHECKS, CHECKS_COST = 1.0, 0.02
#: A job to which another worker sent is polled less and less often, in case that worker is gone: this is the longest pause, in seconds.
POLLS_FOR_OTHERS = 30.0

#: What a thread does next, if there is something, or how long it may wait until it asks again.
Task = Union[Callable[[], None], float]


class Worker:
    """Works a list off beside others. wait_options: those of a wait, and the headers. shortest_pause: between two polls. max_outage: for how
    many seconds the service may fail."""

    def __init__(
        self,
        client: Client,
        store: Store,
        pace: Tuple[str, Optional[int], Optional[float]],
        work: Worklist,
        wait_options: Mapping[str, Any],
        shortest_pause: float,
        max_outage: float,
    ) -> None:
        self.client, self.store, self.pace = client, store, pace
        self.wait_options, self.shortest_pause, self.max_outage = wait_options, shortest_pause, max_outage
        self.headers: Optional[Mapping[str, str]] = wait_options["headers"]
        #: None: there are no more.
        self.outcomes: queue.SimpleQueue[Optional[BatchOutcome]] = queue.SimpleQueue()
        #: Ends the polls, and the messages.
        self.polls, self.sends = CancelToken(), CancelToken()
        self.lock = threading.RLock()
        self.for_senders, self.for_pollers = threading.Condition(self.lock), threading.Condition(self.lock)
        # What follows is under that lock.
        self.work, self.breaker = work, ListBreaker()
        self.sending = 0
        #: When the store may let messages leave again, and whether one asks alone until then.
        self.paced_until, self.is_paced = 0.0, False
        #: When the run was ended, and what raised.
        self.ended_at: Optional[float] = None
        self.error: Optional[BaseException] = None
        #: Since when the store is busy, and the service's last failure.
        self.busy_since: Optional[float] = None
        self.failure: Optional[Error] = None
        #: It has continued elsewhere since it met another worker. When the store is asked next what others did, and whether it is being asked.
        self.has_moved = self.is_checking = False
        self.checks_from = 0.0

    def begin(self) -> None:
        """Asks the store what it has of the list."""
        keys = self.work.keys
        self.work.begin(self.store.get(keys, None, PATIENCE) if keys else [])
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
        if not self.work.has_ready():
            return TICK
        if now < self.paced_until or (self.is_paced and self.sending):
            return max(self.paced_until - now, 0.0) or TICK
        pause, is_probe = self.breaker.admit(now, self.sending)
        if pause is not None:
            return pause or TICK
        self.sending += 1
        return partial(self._send, self.work.next(), is_probe)

    def next_poll(self, now: float) -> Task:
        """What a thread that polls does next."""
        held = self.work.next_held()
        if held is not None:
            return partial(self._end_held, held)
        if self.work.has_others and not self.is_checking and now >= self.checks_from:
            self.is_checking = True
            return self._check_others
        chain, state, pause = self.work.next_due(now)
        return pause if chain is None else partial(self._poll, chain, state)

    def deliver(self) -> None:
        """Hands out the outcomes that there are."""
        for outcome in self.work.outcomes:
            self.outcomes.put(outcome)
        self.work.outcomes.clear()

    def _done(self) -> None:
        self.deliver()
        self.for_senders.notify()
        self.for_pollers.notify()

    def _check_others(self) -> None:
        """Asks the store what other workers did."""
        began = time.monotonic()
        with self.lock:
            check = self.work.check()
        steps = self.store.get(check.elsewhere + check.ahead, None, PATIENCE)
        with self.lock:
            self.work.update(check, steps)
            ended = time.monotonic()
            self.checks_from = ended + max(CHECKS, (ended - began) / CHECKS_COST)
            self.is_checking = self.has_moved = False
            self._done()

    def _end_held(self, chain: Chain) -> None:
        # Meanwhile, others may have sent them.
        steps = self.store.get([item.key for item in chain.items], None, PATIENCE)
        with self.lock:
            self.work.end_held(chain, steps)
            self._done()

    def _send(self, chain: Chain, is_probe: bool) -> None:
        item = chain.items[0]
        about = (item.key, item.job_id, item.prompt)
        message = Message(self.client, self.store, self.pace, about, None, self.headers, takes_rejected=False)
        taken: Union[Step, Throttled, None] = None
        error: Optional[Exception] = None
        try:
            works = not is_probe or self._service_works(item.job_id)
            if works and self.ended_at is None:
                taken = message.attempt(self.client._call_token(delivers=True, cancel=self.sends))
        except Exception as raised:
            error = raised
        with self.lock:
            self.sending -= 1
            self._sent(chain, message, taken, error, is_probe, time.monotonic())
            self._done()

    def _sent(
        self,
        chain: Chain,
        message: Message,
        taken: Union[Step, Throttled, None],
        error: Optional[Exception],
        is_probe: bool,
        now: float,
    ) -> None:
        step = message.step
        if isinstance(error, StoreBusyError) and not message.outcome:
            self.busy_since = self.busy_since or now
            return self.work.put_back(chain) if now < self.busy_since + PATIENCE else self.end(error)
        self.busy_since = None
        if error is None and not message.outcome:
            return self._not_taken(chain, taken, is_probe, now)
        if not message.outcome:
            # The store can't be used, or the call was ended.
            return self.end(error)
        delivery, poller, scope = message.outcome[0]
        job = None if poller is None else poller.job
        if step is None:
            # The store has no outcome, so the run says it.
            self.work.sent_once(chain, delivery, job, message.not_recorded(error))
            return self.end(error)
        if not isinstance(error, (Error, type(None))):
            return self.end(error)
        if self.is_paced:
            self.is_paced = False
            self.for_senders.notify_all()
        if error is None or scope in ("item", "job"):
            self._responded()
        elif scope == "rate_limit":
            # For how long, the store says.
            self.breaker.rate_limited(now)
        elif scope == "service":
            self._failed(error, now)
        else:
            _native.note(error, "the list was stopped; run it again to continue")
            self.end(error)
        if step.owner != message.owner:
            return self._decided(chain, step, delivery, job, error)
        if step.state != "not_sent" or error is None:
            return self.work.sent(chain, step, job, error)
        return self._refused(chain, error, now) if scope == "job" else self.work.put_back(chain)

    def _not_taken(self, chain: Chain, taken: Union[Step, Throttled, None], is_probe: bool, now: float) -> None:
        """It was not sent: it may not be yet, or another worker has it."""
        if isinstance(taken, Throttled):
            if is_probe:
                # A poll showed that the service works.
                self._responded()
            self.paced_until, self.is_paced = now + min(max(taken.seconds, PAUSES[0]), ASKS), True
        if not isinstance(taken, Step):
            return self.work.put_back(chain)
        self.work.found(chain, taken)
        if not self.has_moved:
            # That worker is here, so this one continues elsewhere.
            self.work.continue_from(random.random())
        self.has_moved = True
        return None

    def _refused(self, chain: Chain, error: Error, now: float) -> None:
        """Its job is busy, and is polled until it isn't."""
        job_id = chain.items[0].job_id
        left = self.work.refused(chain, error, self.shortest_pause, now)
        if left is not None:
            chain.poller = self.client.poller(job_id, **{**self.wait_options, "timeout": max(left, 0.001), "settle": 0.0})

    def _decided(self, chain: Chain, step: Step, delivery: str, job: Optional[Job], error: Optional[Error]) -> None:
        """A person has decided about the step meanwhile, because its lease was over."""
        if delivery != "accepted":
            return self.work.decided(chain, step)
        if error is None:
            return self.work.sent(chain, step, job, None)
        # It was decided otherwise, which the error says.
        return self.work.sent_once(chain, delivery, job, error)

    def _responded(self) -> None:
        if self.breaker.responded():
            self.for_senders.notify_all()

    def _service_works(self, job_id: str) -> bool:
        """A poll shows it, and delivers nothing."""
        poller = self.client.poller(job_id, headers=self.headers)
        try:
            poller.poll(cancel=self.polls)
        except Error as error:
            if _native.ends_every_poll(error):
                raise
            # It is about this job.
            return True
        if poller.job is not None:
            return True
        with self.lock:
            assert self.failure is not None
            self._failed(self.failure, time.monotonic())
        return False

    def _failed(self, error: Error, now: float) -> None:
        """The service failed, or can't be reached."""
        self.failure = error
        outage = self.breaker.failed(now)
        if outage >= self.max_outage:
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
            is_done = is_due and poller.poll(cancel=self.polls) is not None
        except Error as raised:
            is_done, error = True, raised
            if _native.ends_every_poll(error):
                return self.end(error)
        if is_done and state == "working" and step is not None:
            job, error = self._result(step, poller, error)
        with self.lock:
            chain.poller = poller
            if is_done:
                self._polled(chain, state, job, error)
            else:
                self._poll_again(chain, state)
            self._done()

    def _result(self, step: Step, poller: Poller, error: Optional[Error]) -> Tuple[Optional[Job], Optional[Error]]:
        """The result that counts, or why there is none."""
        record = _native.stored_wait(self.client, poller)[0]
        if error is None and poller.job is not None and record is not None:
            # Recorded before another message to the job can leave.
            return recorded_result(self.store, step, poller.job, record), None
        for known in self.store.get([step.key], None, PATIENCE):
            if known.result is not None:
                # Another worker saw it, and may have sent the job's next message.
                return stored_result(known), None
        assert error is not None
        error.delivery = "accepted"
        return error.job, error

    def _poll_again(self, chain: Chain, state: str) -> None:
        poller = chain.poller
        assert poller is not None
        pause = poller.due_in
        if state == "working" and not chain.items[0].is_sent_here:
            # The worker that sent it polls it, too, and its result may be in the store before.
            longest = self.wait_options["max_interval"] or POLLS_FOR_OTHERS
            pause = max(pause, min(2.0 ** min(poller.polls, 16), POLLS_FOR_OTHERS, longest))
        self.work.wait(chain, state, time.monotonic() + pause)

    def _polled(self, chain: Chain, state: str, job: Optional[Job], error: Optional[Error]) -> None:
        if state == "working":
            return self.work.ended(chain, "accepted", job, error)
        # If the poll failed for good, the message shows why.
        chain.was_too_busy = isinstance(error, WaitTimeoutError)
        return self.work.put_back(chain)
