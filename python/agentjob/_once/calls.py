"""The calls of agentjob.once.Once: take the step, send, record the outcome. tests/model/steps.pml is this protocol."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Iterator, Mapping, Optional, Tuple

from .. import _native
from .._native import CancelToken, Client, Poller
from ..errors import Error, StoreError
from ..types import Job
from .store import Step, Store

#: How much longer a lease is than the call's own time: for the response's last bytes, and to record the outcome.
MARGIN = 30.0
#: The shortest and the longest pause between two checks whether another worker has the outcome.
PAUSES = (0.02, 0.5)


class Message:
    """A message that is sent as a step."""

    def __init__(
        self,
        client: Client,
        store: Store,
        key: str,
        job_id: str,
        prompt: str,
        headers: Optional[Mapping[str, str]],
    ) -> None:
        #: Checks everything before the store sees it.
        self.digest = _native.step_message(client, key, job_id, prompt)
        self.client, self.store = client, store
        self.key, self.job_id, self.prompt, self.headers = key, job_id, prompt, headers
        self.owner = os.urandom(8).hex()

    def send(self, token: CancelToken, meta: Optional[Callable[..., object]]) -> Job:
        """Sends it, or returns what is known of it. The token's time is the call's, which may have been queued."""
        if token._remaining == 0.0:
            self._post(token, meta)  # it has timed out, which raises
        for pause in pauses():
            step, poller = self._try(token, meta)
            if poller is not None:
                job = poller.job
                assert job is not None
                return job
            if step.message != self.digest:
                raise _native.other_message(self.key, step.job_id, self.job_id)
            if step.state != "sending":
                return known(self.client, step, self.headers, token)
            self._pause(pause, token)
        raise AssertionError("pauses have no end")

    def _try(self, token: CancelToken, meta: Optional[Callable[..., object]]) -> Tuple[Step, Optional[Poller]]:
        """Takes the step, and sends the message if that succeeds. Whatever ends this, the store has the outcome."""
        taken = False
        try:
            step = self.store.take(self.key, self.job_id, self.digest, self.owner, self.client.timeout + MARGIN)
            if step.state != "sending" or step.owner != self.owner:
                return step, None
            taken = True
            poller = self._post(token, meta)
        except BaseException as error:
            delivery = getattr(error, "delivery", None)
            if not isinstance(delivery, str):
                delivery = "unknown" if taken else "not_sent"
                _native.add_note(error, delivery)
            self._failed(error, delivery, taken)
            raise
        record, wait = _native.stored_wait(self.client, poller)
        try:
            settled = self._settle("accepted", None, record, wait)
        except StoreError as error:
            error.delivery, error.job = "accepted", poller.job
            raise
        if settled is None or settled.state != "accepted":
            raise _decided(self.key, poller)
        return settled, poller

    def _post(self, token: CancelToken, meta: Optional[Callable[..., object]]) -> Poller:
        return self.client._send_and_poll(self.job_id, self.prompt, cancel=token, meta=meta, headers=self.headers)

    def _failed(self, error: BaseException, delivery: str, taken: bool) -> None:
        """Records the outcome of a send that raised. `taken`: the step was taken for certain; else it may have been."""
        wait = None
        if delivery == "accepted":
            wait = _native.stored_wait(self.client, _native.resume_step(self.client, self.job_id))[1]
        failure = _native.stored_failure(self.client, error, delivery, self.headers)
        try:
            settled = self._settle(delivery, failure, None, wait)
        except StoreError as problem:
            note(error, f"the outcome could not be recorded, so step {self.key!r} becomes unknown: {problem}")
            return
        if not taken or settled is None or settled.state != "unknown":
            return
        if delivery != "unknown":
            # A resend that did not arrive says nothing about the send before it.
            raise _native.step_error(self.key, self.job_id, failure, True) from error
        note(error, f"step {self.key!r} is unknown and is not sent again: check the job, then resolve the step")

    def _settle(self, state: str, failure: Optional[str], record: Optional[str], wait: Optional[str]) -> Optional[Step]:
        try:
            return self.store.settle(self.key, self.owner, state, failure, record, wait)
        except StoreError:
            raise
        except BaseException:
            # Ctrl-C, at a bad time: the outcome is recorded first.
            self.store.settle(self.key, self.owner, state, failure, record, wait)
            raise

    def _pause(self, pause: float, token: CancelToken) -> None:
        """Waits for another worker's outcome."""
        remaining = token._remaining
        kind = "timeout" if remaining == 0.0 else "closed" if self.client.closed else "cancelled" if token.cancelled else None
        if kind is not None:
            raise _native.step_in_flight(self.key, self.job_id, kind)
        try:
            time.sleep(pause if remaining is None else min(pause, remaining))
        except BaseException as error:  # Ctrl-C
            _native.add_note(error, "unknown")
            raise


def known(client: Client, step: Step, headers: Optional[Mapping[str, str]], cancel: Optional[CancelToken]) -> Job:
    """The outcome of a step that was not sent now."""
    if step.state == "unknown":
        raise _native.step_error(step.key, step.job_id, step.failure, step.may_have_arrived)
    if step.record is not None:
        return _native.stored_job(step.record)
    # The response could not be read, or a person decided that it arrived.
    return client.get_job(step.job_id, headers=headers, cancel=cancel)


def pauses() -> Iterator[float]:
    pause, longest = PAUSES
    while True:
        yield pause
        pause = min(2 * pause, longest)


def note(error: BaseException, text: str) -> None:
    """Python 3.11 and later show notes in tracebacks. Older versions don't, but a program can read them."""
    notes: Any = getattr(error, "__notes__", None)
    error.__notes__ = [*(notes or ()), f"agentjob: {text}"]


def _decided(key: str, poller: Poller) -> Error:
    """The message was accepted, but meanwhile its lease was over, and a person decided that it did not arrive."""
    error = StoreError(
        f"step {_native.escape(key)!r}: the message was accepted, but meanwhile the step was resolved otherwise. Check the job."
    )
    error.delivery, error.job = "accepted", poller.job
    return error
