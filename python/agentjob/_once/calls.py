"""The calls of agentjob.once.Once: take the step, send, record the outcome. tests/model/steps.pml is this protocol."""

from __future__ import annotations

import os
import time
from typing import Callable, Iterator, List, Mapping, Optional, Tuple, TypeVar, Union

from .. import _native
from .._native import CancelToken, Client, Poller
from ..errors import Error, InvalidArgumentError, RateLimitError, RequestTimeoutError, StepInFlightError, StoreError
from ..types import Job
from .store import Step, StepOutcome, Store, StoreBusyError, Taker, Throttled, may_be_taken

T = TypeVar("T")
#: How much longer a lease is than the call's own time: for the response's last bytes, and to record the outcome.
MARGIN = 30.0
#: The shortest and the longest pause between two checks whether another worker has the outcome.
PAUSES = (0.02, 0.5)
#: What part of the client's timeout a call that has waited for a rate or a pause must have left to send: with less, its message would often
#: be unknown.
LEFT = 0.25
#: The longest time until a call asks again whether its message may be sent: a pause may have been ended by hand.
ASKS = 5.0
#: How long a statement waits for those of other workers, before the call checks its token and its time; and for how long a call tries to
#: record its outcome, which has to end within the margin.
SLICE, SETTLES = 0.2, 20.0


class Message:
    """A message that is sent as a step."""

    def __init__(
        self,
        client: Client,
        store: Store,
        pace: Tuple[str, Optional[int], Optional[float]],
        message: Tuple[str, str, str],
        meta: Optional[Callable[..., object]],
        headers: Optional[Mapping[str, str]],
        takes_rejected: bool = True,
        is_patient: bool = True,
    ) -> None:
        self.client, self.store = client, store
        self.key, self.job_id, self.prompt = message
        self.meta, self.headers = meta, headers
        # Checks everything before the store sees it.
        self.digest = _native.step_message(client, *message, meta, headers)
        self.taker = Taker(os.urandom(8).hex(), client.timeout + MARGIN, *pace, takes_rejected)
        #: Waits for a rate, a pause and other workers, within the time of the call.
        self.is_patient = is_patient
        self.pid = os.getpid()
        #: What is known of the message, as long as this call has not sent it.
        self.delivery = "not_sent"
        #: The step may have been taken, and its outcome is not recorded yet.
        self.is_open = False
        #: What the store has of it, once that was recorded; until when that is tried, and why it could not be.
        self.step: Optional[Step] = None
        self.records_until: Optional[float] = None
        self.problem: Optional[Exception] = None
        #: The delivery of the message, the wait for its result, and what its failure affects, once the call to the service has ended.
        self.outcome: List[Tuple[str, Optional[Poller], str]] = []

    def send(self, token: CancelToken) -> Job:
        """Sends it, or returns what is known of it. The token has the time of the call, from before it queued for a thread."""
        retries = 0
        while True:
            try:
                return self._send(token)
            except BaseException as error:
                # Also Ctrl-C, wherever it came.
                pause = self._raised(error)
                if pause is None or not self._may_send_again(pause, retries, token):
                    raise
            retries += 1
            self.outcome.clear()
            self.records_until = None
            # Another owner: the statement that recorded the 429 may be executed once more, and late.
            self.taker = self.taker._replace(owner=os.urandom(8).hex())

    def attempt(self, token: CancelToken) -> Union[Step, Throttled]:
        """Sends it, if it may be sent now. Returns the step as the store has it then, or why it may not. Raises StoreBusyError, too."""
        try:
            step = self._taken(token, False)
            if isinstance(step, Throttled) or not self._has(step):
                self.is_open = False
                return step
            self._post(token)
        except BaseException as error:
            self._raised(error)
            raise
        assert self.step is not None
        return self.step

    def not_recorded(self, error: Optional[BaseException]) -> Error:
        """What the outcome of the message says whose outcome the store doesn't have, because of this."""
        if isinstance(error, Error):
            return error
        delivery, poller, _ = self.outcome[0]
        failure = StoreError(f"step {name(self.key)} becomes unknown, because the outcome could not be recorded: {error}")
        _native.add_note(failure, delivery)
        failure.job = None if poller is None else poller.job
        return failure

    @property
    def owner(self) -> str:
        return self.taker.owner

    def _has(self, step: Step) -> bool:
        return step.state == "sending" and step.owner == self.owner

    def _send(self, token: CancelToken) -> Job:
        while True:
            step = self._taken(token, True)
            if isinstance(step, Throttled):
                self._wait_for_pace(step, token)
                continue
            if self._has(step):
                return self._post(token)
            self.is_open = False
            if step.message != self.digest:
                raise _native.other_message(self.key, step.job_id, self.job_id)
            if step.state in ("accepted", "unknown"):
                self.delivery = step.state
                return self._known(step, token)
            # Another worker is sending it, or was until just now.
            self.delivery = "unknown"
            self._wait_for_other_worker(token)
            self.delivery = "not_sent"

    def _taken(self, token: CancelToken, is_patient: bool) -> Union[Step, Throttled]:
        """Takes the step, if possible, and returns it as it is then, or why it may not be sent now. is_patient: waits while the store is
        busy."""
        while True:
            remaining = token._remaining
            if remaining == 0.0 or token.cancelled or self.client.closed:
                # Nothing is taken: this raises the error of a call that has ended.
                try:
                    self._request(token)
                finally:
                    self.outcome.clear()
            self.is_open = True
            patience = SLICE if remaining is None else min(SLICE, remaining)
            try:
                step, throttled = self.store.take(self.key, self.job_id, self.digest, self.taker, patience)
            except StoreBusyError:
                # Nothing was changed.
                self.is_open = False
                if token._remaining == 0.0 or not is_patient:
                    raise
                continue
            if step is not None and not may_be_taken(step, self.digest, self.taker.takes_rejected):
                return step
            self.is_open = False
            if throttled is not None:
                return throttled
            # It may be taken now.
            time.sleep(PAUSES[0])

    def _wait_for_pace(self, throttled: Throttled, token: CancelToken) -> None:
        """Waits until a message may be sent, unless that leaves too little time to send it."""
        if not self._has_time_after(throttled.seconds, token):
            raise _native.step_throttled(self.key, self.job_id, throttled.reason == "pause", throttled.seconds)
        end = time.monotonic() + min(max(throttled.seconds, PAUSES[0]), ASKS)
        while time.monotonic() < end and not (token.cancelled or self.client.closed):
            time.sleep(max(0.0, min(end - time.monotonic(), PAUSES[1])))

    def _may_send_again(self, pause: float, retries: int, token: CancelToken) -> bool:
        """Whether this call, to which the service returned 429, sends its message again when the pause is over."""
        return _native.may_retry_after(self.client, pause, retries) and self._has_time_after(pause, token)

    def _has_time_after(self, pause: float, token: CancelToken) -> bool:
        remaining = token._remaining
        return self.is_patient and (remaining is None or pause + LEFT * self.client.timeout < remaining)

    def _post(self, token: CancelToken) -> Job:
        self._request(token)
        poller = self.outcome[0][1]
        job = None if poller is None else poller.job
        assert poller is not None and job is not None
        record, wait = _native.stored_wait(self.client, poller)
        if not self._record(StepOutcome("accepted", None, record, wait)):
            assert self.problem is not None
            raise self.problem
        step = self.step
        if step is None or step.state != "accepted" or step.owner not in (self.owner, None):
            why = "it was removed from the store" if step is None else "a person resolved it otherwise, because its lease was over"
            raise StoreError(f"step {name(self.key)}: the message was accepted, but meanwhile {why}. Check the job.")
        return job

    def _request(self, token: CancelToken) -> None:
        if os.getpid() != self.pid:
            raise StoreError(f"step {name(self.key)}: this process was forked during the call, which its parent makes")
        _native.send_step(
            self.outcome, self.client, self.job_id, self.prompt, cancel=token, meta=self.meta, headers=self.headers
        )

    def _raised(self, error: BaseException) -> Optional[float]:
        """Records the outcome of a call that raised, if that was not done, and adds the delivery to the exception. Returns for how long
        a 429 pauses all workers, or None if this call must not send the message again."""
        if os.getpid() != self.pid:
            # A function of the program, such as a signal handler, has forked, and this is the child: the parent records it.
            _native.add_note(error, "unknown")
            return None
        delivery, poller, scope = self.outcome[0] if self.outcome else (self.delivery, None, "item")
        # What the exception says may be about another call, of a function of the program that this one ran.
        _native.add_note(error, delivery)
        if poller is not None and isinstance(error, StoreError):
            error.job = poller.job
        if not self.is_open:
            return None
        record = wait = failure = pause = None
        if poller is not None:
            record, wait = _native.stored_wait(self.client, poller)
        elif delivery == "accepted":
            wait = _native.stored_wait(self.client, _native.resume_step(self.client, self.job_id))[1]
        else:
            failure = _native.stored_failure(self.client, error, delivery, self.headers)
        if isinstance(error, RateLimitError) and delivery == "rejected":
            pause = _native.step_pause(error.retry_after)
        again = not self.taker.takes_rejected and delivery == "rejected" and scope != "item"
        outcome = StepOutcome(delivery, failure, record, wait, pause, again)
        interruption: Optional[BaseException] = None
        while True:
            try:
                is_recorded = self._record(outcome)
                break
            except BaseException as interrupted:
                # Ctrl-C does not keep the outcome from the store. A second one does.
                _native.add_note(interrupted, delivery)
                if interruption is not None or not isinstance(error, Exception):
                    raise
                interruption = interrupted
        if not is_recorded and self.outcome:
            why = f"the outcome could not be recorded, so step {name(self.key)} becomes unknown: {self.problem}"
            _native.note(interruption or error, why)
        if interruption is not None:
            raise interruption
        if not is_recorded:
            return None
        step = self.step
        if self.outcome and (step is None or step.owner != self.owner):
            _native.note(error, f"meanwhile step {name(self.key)} was resolved or removed, because its lease was over: check the job")
        if step is None or step.owner != self.owner:
            return None
        if step.state != "unknown":
            return pause
        if isinstance(error, Error):
            unknown_step = _native.step_error(self.key, self.job_id, failure, step.may_have_arrived)
            for fact in ("body", "retry_after", "attempts", "elapsed"):
                setattr(unknown_step, fact, getattr(error, fact))
            raise unknown_step from error
        _native.note(error, f"step {name(self.key)} is unknown and is not sent again: check the job, then resolve the step")
        return None

    def _record(self, outcome: StepOutcome) -> bool:
        """Records the outcome, and tries that again if a message may have left. Returns whether the store has it."""
        if self.problem is not None:
            return False
        if self.records_until is None:
            self.records_until = time.monotonic() + SETTLES
        for pause in pauses():
            try:
                self.step = self.store.settle(self.key, self.owner, outcome, max(0.0, self.records_until - time.monotonic()))
                break
            except Exception as problem:  # a store of the program's own may raise anything
                if not self.outcome or time.monotonic() + pause >= self.records_until:
                    self.problem = problem
                    return False
                time.sleep(pause)
        self.is_open = False
        return True

    def _known(self, step: Step, token: CancelToken) -> Job:
        """The outcome of a step that was not sent now."""
        if step.state == "unknown":
            raise unknown(step)
        record = step.record
        if record is not None:
            return read(step, lambda: _native.stored_job(record))
        # The response could not be read, or a person decided that it arrived.
        return self.client.get_job(step.job_id, headers=self.headers, cancel=token)

    def _wait_for_other_worker(self, token: CancelToken) -> None:
        """Waits until no other worker is sending it."""
        for pause in pauses():
            remaining = token._remaining
            kind = "timeout" if remaining == 0.0 or not self.is_patient else "closed" if self.client.closed else "cancelled" if token.cancelled else None
            if kind is not None:
                error = _native.step_in_flight(self.key, self.job_id, kind)
                raise StepInFlightError(*error.args) if isinstance(error, RequestTimeoutError) else error
            time.sleep(pause if remaining is None else min(pause, remaining))
            try:
                steps = self.store.get([self.key], None, SLICE)
            except StoreBusyError:
                continue
            if not steps or steps[0].state != "sending":
                return


def unknown(step: Step) -> Error:
    """Why a step's message was not accepted, or may have arrived."""
    return _native.step_error(step.key, step.job_id, step.failure, step.may_have_arrived)


def recorded_result(store: Store, step: Step, job: Job, record: str) -> Optional[Job]:
    """Records the result of a step, and returns the one that counts: another worker may have recorded it before. None: it may be that of a
    later message to the job."""
    counts = store.finish(step, record)
    return job if counts == record else None if counts is None else stored_result(step._replace(result=counts))


def stored_result(step: Step) -> Job:
    """The result that a store has."""
    return read(step, lambda: _native.stored_job(str(step.result)))


def read(step: Step, what: Callable[[], T]) -> T:
    """What is made of a text that the store has."""
    try:
        return what()
    except (InvalidArgumentError, TypeError) as error:
        raise StoreError(f"the row of step {name(step.key)} in the store was changed: {error}") from error


def name(key: str) -> str:
    return f'"{_native.escape(key)}"'


def pauses() -> Iterator[float]:
    pause, longest = PAUSES
    while True:
        yield pause
        pause = min(2 * pause, longest)
