"""A Celery task that sends a message at most once, however often Celery runs it.

    from agentjob.engines.celery import AgentJobTask

    @app.task(base=AgentJobTask, bind=True, store="postgresql://USER@HOST/DATABASE")
    def follow_up(self, job_id, prompt):
        return self.send_message(job_id, prompt, wait=True)

While the job works, no worker slot is held: each poll is a retry of the task.
"""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from typing import Any, Dict, NoReturn, Optional, Union

from celery import Task

from .._native import Client, Poller
from ..errors import Error
from ..once import Once, Store
from ..types import Job
from ._common import MAX_FAILURES, pause_after, poller_options, refused

#: The header of the task's message that carries its state from one retry to the next.
HEADER = "agentjob"
#: The longest pause until a retry, in seconds: brokers with a visibility timeout deliver a task again whose time is further away.
LONGEST = 600.0


class AgentJobTask(Task):
    """The base of a task that sends a message. Its settings are class attributes, or arguments of `@app.task(…)`.

    store: where the steps are, for all workers; see agentjob.once.Once. It has no default.
    rate: at most this many messages, over all workers: "100/h". Default: no limit.
    max_failures: how many failures in a row to retry: with pauses that double from 1 s up to 5 minutes. Default: 20, about an hour.

    It is acknowledged late (`acks_late`, `reject_on_worker_lost`), so that the task of a worker that dies runs again.
    """

    store: Union[Store, str, PathLike[str], None] = None
    rate: Optional[str] = None
    max_failures: int = MAX_FAILURES
    acks_late = True
    reject_on_worker_lost = True

    def make_client(self) -> Client:
        """The client of the tasks of a process. A subclass may give it other settings than those of the environment."""
        return Client()

    @cached_property
    def once(self) -> Once:
        """The steps of this task."""
        if self.store is None:
            raise refused(f"task {self.name!r} has no store", 'Give it one: @app.task(base=AgentJobTask, bind=True, store="…").')
        return Once(self.make_client(), self.store, rate=self.rate)

    def send_message(self, job_id: str, prompt: str, *, key: Optional[str] = None, wait: bool = False, **wait_options: Any) -> Job:
        """Sends the message at most once, and returns the job's record. Call it once in a task, and first: retries run the task from its start.

        key: names the message; see Once.send_message. Default: the task's id, which is the same in each retry.
        wait: returns the job's last record when it is done, instead of the one right after the message was accepted. While it works, the
            task is retried for each poll, and so no slot is held; in a task that runs eagerly or is called directly, this waits.
        wait_options: those of Once.wait: timeout, min_interval, max_interval, lateness, settle, check, headers.

        Raises celery.exceptions.Retry: the task runs again. What a retry helps against is retried: not_sent, a rate limit, a busy job, a
        store that can't be used. Every other error is raised: what may have arrived is never sent again until you resolve() the step.
        """
        request = self.request
        key = key or request.id
        if key is None:
            raise refused("key is missing", "A task that is called directly has no id: give it a key.")
        carried: Dict[str, Any] = request.get(HEADER) or {}
        text, failures = carried.get("poller"), carried.get("failures", 0)
        options = poller_options(self.once.client, wait_options)
        holds_slot = request.called_directly or request.is_eager
        try:
            if text is None:
                job = self.once.send_message(key, job_id, prompt)
                if not wait:
                    return job
            if holds_slot:
                return self.once.wait(key, **wait_options)
            poller = self._polled(key, text, options)
            if poller.done:
                return self.once.wait(key, **wait_options)
        except Error as error:
            if holds_slot:
                raise
            pause, failures = pause_after(error, failures, self.max_failures)
            self._run_again(pause, text, failures, error)
        self._run_again(poller.due_in, str(poller), 0)

    def _polled(self, key: str, text: Optional[str], options: Dict[str, Any]) -> Poller:
        """The wait, after a poll if that is due."""
        if text is None:
            return self.once.poller(key, **options)
        poller = self.once.client.resume(text, headers=options.get("headers"))
        if poller.due_in == 0:
            poller.poll()
        return poller

    def _run_again(self, pause: float, poller: Optional[str], failures: int, error: Optional[Error] = None) -> NoReturn:
        request = self.request
        headers = {**(request.headers or {}), HEADER: {"poller": poller, "failures": failures}}
        # Celery's own limit counts polls, too.
        raise self.retry(countdown=min(pause, LONGEST), max_retries=request.retries + 1, headers=headers, exc=error)
