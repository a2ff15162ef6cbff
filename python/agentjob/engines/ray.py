"""An actor for Ray that sends messages at most once, however often Ray runs its methods.

    from agentjob.engines.ray import AgentJobs

    jobs = AgentJobs.remote(agentjob.Client(), "postgresql://USER@HOST/DATABASE", rate="100/h")
    ray.get(jobs.send_message.remote(key, job_id, prompt, wait=True))

One actor follows a thousand jobs at a time, in one process and without a CPU of the cluster.
"""

from __future__ import annotations

import asyncio
from functools import partial
from os import PathLike
from typing import Any, Awaitable, Callable, Optional, Union

import ray

from .. import _native
from .._aio.message import Message
from .._native import Client
from ..aio import AsyncClient
from ..errors import Error
from ..once import AsyncOnce, Store
from ..types import Job
from ._common import MAX_FAILURES, check_wait_options, checked, send_without_waiting


class AgentJobsActor:
    """The class of the actor AgentJobs, for subclasses. It sends messages, each at most once, and follows their jobs.

    client: its settings; the key is taken from the environment of the actor.
    store, rate: see agentjob.once.Once. A path must be absolute.
    """

    def __init__(self, client: Client, store: Union[Store, str, PathLike[str]], rate: Optional[str] = None) -> None:
        self.client: Client = client
        self.once: AsyncOnce = checked(AsyncOnce(AsyncClient.of(client), store, rate=rate))

    async def send_message(
        self, key: str, job_id: str, prompt: str, *, wait: bool = False, max_failures: int = MAX_FAILURES, **wait_options: Any
    ) -> Job:
        """Sends a step's message at most once, and returns the job's record.

        key, job_id, prompt: see Once.send_message.
        wait: waits until the job is done, and returns its last record.
        max_failures: how many failures in a row to retry, with pauses that double from 1 s up to 5 minutes: a message that was not sent, a
            busy job, a store that can't be used. Default: 20, about an hour. A rate limit is waited for, however long it lasts.
        wait_options: those of Once.wait: timeout, min_interval, max_interval, lateness, settle, check, headers. The message has the headers, too.

        Raises what Once.send_message and Once.wait raise and a retry doesn't help against, as a ray.exceptions.RayTaskError that is of that
        class, too. What may have arrived is never sent again until you resolve() the step.
        """
        headers = check_wait_options(self.client, wait_options).get("headers")
        send = partial(send_without_waiting, self.once._once, key, job_id, prompt, headers)
        job = await _patiently(lambda: self.once.client._run(send, delivers=Message("send_message", job_id)), max_failures)
        return await _patiently(lambda: self.once.wait(key, **wait_options), max_failures) if wait else job


#: The actor. Ray starts it again when its process or its node dies, and runs the calls in flight again; it takes no CPU. All of that, and its name,
#: can be changed with `AgentJobs.options(…)`.
AgentJobs: Any = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(AgentJobsActor)


async def _patiently(call: Callable[[], Awaitable[Job]], max_failures: int) -> Job:
    failures = 0
    while True:
        try:
            return await call()
        except Error as error:
            retry = _native.step_retry(error, failures, max_failures)
            if retry is None:
                raise
        seconds, failures = retry
        await asyncio.sleep(seconds)
