"""An actor for Ray that sends messages at most once, however often Ray runs its methods.

    from agentjob.engines.ray import AgentJobs

    jobs = AgentJobs.remote(agentjob.Client(), "postgresql://USER@HOST/DATABASE", rate="100/h")
    ray.get(jobs.send_message.remote(key, job_id, prompt, wait=True))

One actor follows a thousand jobs at a time, in one process and without a CPU of the cluster.
"""

from __future__ import annotations

import asyncio
from os import PathLike
from typing import Any, Optional, Union

import ray

from .._native import Client
from ..aio import AsyncClient
from ..errors import Error
from ..once import AsyncOnce, Store
from ..types import Job
from ._common import MAX_FAILURES, pause_after, poller_options


@ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)
class AgentJobs:
    """Sends messages, each at most once, and follows their jobs.

    client: its settings; the key is taken from the environment of the actor.
    store, rate: see agentjob.once.Once.

    Ray starts the actor again when its process or its node dies, and runs the calls in flight again (`max_restarts`, `max_task_retries`). It
    takes no CPU (`num_cpus=0`). All of that, and its name, can be changed with `AgentJobs.options(…)`.
    """

    def __init__(self, client: Client, store: Union[Store, str, PathLike[str]], rate: Optional[str] = None) -> None:
        self.client = client
        self.once = AsyncOnce(AsyncClient.of(client), store, rate=rate)

    async def send_message(
        self, key: str, job_id: str, prompt: str, *, wait: bool = False, max_failures: int = MAX_FAILURES, **wait_options: Any
    ) -> Job:
        """Sends a step's message at most once, and returns the job's record.

        key, job_id, prompt: see Once.send_message.
        wait: waits until the job is done, and returns its last record.
        max_failures: how many failures in a row to retry, with pauses that double from 1 s up to 5 minutes: a message that was not sent, a
            busy job, a store that can't be used. Default: 20, about an hour. A rate limit is waited for, however long it lasts.
        wait_options: those of Once.wait: timeout, min_interval, max_interval, lateness, settle, check, headers.

        Raises what Once.send_message and Once.wait raise and a retry doesn't help against, as a ray.exceptions.RayTaskError that is of that
        class, too. What may have arrived is never sent again until you resolve() the step.
        """
        poller_options(self.client, wait_options)
        failures = 0
        while True:
            try:
                job = await self.once.send_message(key, job_id, prompt)
                return await self.once.wait(key, **wait_options) if wait else job
            except Error as error:
                pause, failures = pause_after(error, failures, max_failures)
            await asyncio.sleep(pause)

