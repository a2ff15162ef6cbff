"""A function for Dask that sends a message at most once, however often Dask runs it.

    from agentjob.engines.dask import send_message

    future = cluster.submit(send_message, once, key, job_id, prompt, wait=True, key=key)

While it waits, it has left the worker's thread pool, so no slot of the worker is held.
"""

from __future__ import annotations

import time
from typing import Any

from distributed import get_worker, secede

from ..errors import Error
from ..once import Once
from ..types import Job
from ._common import MAX_FAILURES, pause_after, poller_options, shared


def send_message(
    once: Once, key: str, job_id: str, prompt: str, *, wait: bool = False, max_failures: int = MAX_FAILURES, **wait_options: Any
) -> Job:
    """Sends a step's message at most once, on whichever workers Dask runs it, and returns the job's record.

    once: the steps. Its client takes the key from the environment of the worker; its store must be the same on all workers.
    key, job_id, prompt: see Once.send_message.
    wait: waits until the job is done, and returns its last record.
    max_failures: how many failures in a row to retry, with pauses that double from 1 s up to 5 minutes: a message that was not sent, a busy
        job, a store that can't be used. Default: 20, about an hour. A rate limit is waited for, however long it lasts.
    wait_options: those of Once.wait: timeout, min_interval, max_interval, lateness, settle, check, headers.

    Raises what Once.send_message and Once.wait raise and a retry doesn't help against. What may have arrived is never sent again until you
    resolve() the step. Outside of a worker it works, too.
    """
    once = shared(once)
    poller_options(once.client, wait_options)
    failures, has_slot = 0, True
    while True:
        try:
            job = once.send_message(key, job_id, prompt)
            if not wait:
                return job
            has_slot = has_slot and _leave_slot()
            return once.wait(key, **wait_options)
        except Error as error:
            pause, failures = pause_after(error, failures, max_failures)
        has_slot = has_slot and _leave_slot()
        time.sleep(pause)


def _leave_slot() -> bool:
    """Leaves the worker's thread pool. Returns whether a slot is held afterwards."""
    try:
        get_worker()
    except ValueError:  # not in a worker
        return False
    secede()
    return False
