"""A Celery task that sends a message at most once, however often Celery runs it.

    from agentjob.engines.celery import AgentJobTask

    @app.task(base=AgentJobTask, bind=True, store="postgresql://USER@HOST/DATABASE")
    def follow_up(self, job_id, prompt):
        return self.send_message(job_id, prompt, wait=True)

While the job works, no worker slot is held: each poll is a retry of the task.
"""

from __future__ import annotations

import json
import re
import time
from functools import cached_property
from os import PathLike
from typing import Any, Dict, NoReturn, Optional, Union

from celery import Task
from celery.exceptions import Reject
from kombu.exceptions import OperationalError

from .. import _native
from .._native import Client, Poller
from .._once import lookup
from ..errors import Error
from ..once import Once, Store
from ..types import Job
from ._common import MAX_FAILURES, begun_wait, check_wait_options, checked, refused, send_without_waiting

#: The header of the task's message that carries the state of its steps, by their keys, from one retry to the next, as JSON.
HEADER = "agentjob"
#: The longest pause until a retry, in seconds: a broker with a visibility timeout delivers a task a second time if it is due later than that.
LONGEST = 600.0
DEATH = re.compile("x-(first-|last-)?death")


class AgentJobTask(Task):
    """The base of a task that sends messages. Its settings are class attributes, or arguments of `@app.task(…)`.

    store: where the steps are, for all workers; see agentjob.once.Once. A path must be absolute. It has no default.
    rate: at most this many messages, over all workers: "100/h". Default: no limit.
    max_failures: how many failures in a row to retry: with pauses that double from 1 s up to 5 minutes. Default: 20, about an hour.

    It is acknowledged late (`acks_late`, `reject_on_worker_lost`), so that the task of a worker that dies runs again.
    """

    store: Union[Store, str, PathLike[str], None] = None
    rate: Optional[str] = None
    max_failures: int = MAX_FAILURES
    acks_late = True
    reject_on_worker_lost = True

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if getattr(cls, "autoretry_for", None):
            raise refused(f"task {cls.name!r} has autoretry_for", "Leave it out: send_message retries what a retry helps against.")

    def make_client(self) -> Client:
        """The client of the tasks of a process. A subclass may give it other settings than those of the environment."""
        return Client()

    @cached_property
    def once(self) -> Once:
        """The steps of this task."""
        if self.store is None:
            raise refused(f"task {self.name!r} has no store", 'Give it one: @app.task(base=AgentJobTask, bind=True, store="…").')
        return checked(Once(self.make_client(), self.store, rate=self.rate))

    def send_message(self, job_id: str, prompt: str, *, key: Optional[str] = None, wait: bool = False, **wait_options: Any) -> Job:
        """Sends a message at most once, and returns the job's record. Call it first in a task: retries run the task from its start.

        key: names the message; see Once.send_message. Default: the task's id, which is the same in each retry.
        wait: returns the job's last record when it is done, instead of the one right after the message was accepted. While it works, the
            task is retried for each poll, and so no slot is held.
        wait_options: those of Once.wait: timeout, min_interval, max_interval, lateness, settle, check, headers. The message has the headers, too.

        Raises celery.exceptions.Retry, which you must not catch: Celery runs the task again. It does so after what passes by itself: a message
        that was not sent, a rate limit, a busy job, a store that can't be used. Every other error is raised: what may have arrived is never sent
        again until you resolve() the step. In a task that runs eagerly or is called directly, this waits, and retries nothing.
        """
        request = self.request
        if key is None:
            key = request.id
        if key is None:
            raise refused("key is missing", "A task that is called directly has no id: give it a key.")
        once, holds_slot = self.once, request.called_directly or request.is_eager
        options = check_wait_options(once.client, wait_options)
        headers, check = options.get("headers"), wait_options.get("check", False)
        steps: Dict[str, Any] = json.loads(request.get(HEADER) or "{}")
        text, failures = steps.get(key) or (None, 0)
        # A message that was accepted doesn't expire.
        unexpired: Dict[str, None] = {}
        try:
            if holds_slot:
                job = once.send_message(key, job_id, prompt, headers=headers)
                return once.wait(key, **wait_options) if wait else job
            job = send_without_waiting(once, key, job_id, prompt, headers)
            unexpired = {"expires": None}
            if not wait:
                return job
            step, poller = begun_wait(once, key, text, options)
            if not isinstance(poller, Poller):
                return lookup.checked(poller, check)
            if text is not None and poller.due_in == 0:
                poller.poll()
            if poller.done and poller.job is not None:
                record = _native.stored_wait(once.client, poller)[0]
                return lookup.checked(lookup.finished(once.store, step, poller.job, record), check)
        except Error as error:
            retry = None if holds_slot else _native.step_retry(error, failures, self.max_failures)
            if retry is None:
                raise
            unexpired = {"expires": None} if error.delivery == "accepted" else unexpired
            self._run_again(retry[0], {**steps, key: (text, retry[1])}, exc=error, **unexpired)
        self._run_again(poller.due_in, {**steps, key: (str(poller), 0)}, **unexpired)

    def _run_again(self, pause: float, steps: Dict[str, Any], **options: Any) -> NoReturn:
        request = self.request
        # Without those of RabbitMQ, which it would take for a loop of the message.
        headers = {name: value for name, value in (request.headers or {}).items() if not DEATH.match(name)}
        # One text, because brokers limit the names of what is in a header.
        headers[HEADER] = json.dumps(steps)
        try:
            # Celery's own limit counts polls, too.
            raise self.retry(countdown=min(pause, LONGEST), max_retries=request.retries + 1, headers=headers, **options)
        except Reject as rejected:
            if not isinstance(rejected.reason, (OperationalError, OSError)):
                raise rejected.reason from None
            # The broker is away: the task must stay in the queue.
            time.sleep(1)
            raise Reject(rejected.reason, requeue=True) from rejected
