"""A function for Dask that sends a message at most once, however often Dask runs it.

    from agentjob.engines.dask import send_message

    future = cluster.submit(send_message, once, key, job_id, prompt, wait=True, key=key)

While it waits, it has left the worker's thread pool, so no slot of the worker is held.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from distributed import get_worker, secede

from ..once import Once
from ..types import Job
from ._common import MAX_FAILURES, check_wait_options, checked, patiently, send_without_waiting, shared


def send_message(
    once: Once, key: str, job_id: str, prompt: str, *, wait: bool = False, max_failures: int = MAX_FAILURES, **wait_options: Any
) -> Job:
    """Sends a step's message at most once, on whichever workers Dask runs it, and returns the job's record. Outside of a worker it works, too.

    once: the steps. Its client takes the key from the environment of the worker; its store must be the same on all workers.
    key, job_id, prompt: see Once.send_message.
    wait: waits until the job is done, and returns its last record.
    max_failures: how many failures in a row to retry, with pauses that double from 1 s up to 5 minutes: a message that was not sent, a busy
        job, a store that can't be used. Default: 20, about an hour. A rate limit is waited for, however long it lasts.
    wait_options: those of Once.wait: timeout, min_interval, max_interval, lateness, settle, check, headers. The message has the headers, too.

    Raises what Once.send_message and Once.wait raise and a retry doesn't help against. What may have arrived is never sent again until you
    resolve() the step. Dask can't stop a function that runs: it sends its message although its future was cancelled.
    """
    slot = _Slot()
    if slot.is_held:
        once = shared(checked(once))
    headers = check_wait_options(once.client, wait_options).get("headers")
    job = patiently(lambda: send_without_waiting(once, key, job_id, prompt, headers), max_failures, slot.sleep)
    if wait:
        slot.leave()
        job = patiently(lambda: once.wait(key, **wait_options), max_failures, slot.sleep)
    return job


class _Slot:
    """The place in a worker's thread pool of the function that runs in this thread, if it runs in one."""

    def __init__(self) -> None:
        try:
            get_worker()
        except ValueError:
            self.is_held = False
        else:
            self.is_held = True

    def leave(self) -> None:
        if self.is_held:
            self.is_held = False
            # The function has left it before, or runs in no thread of the pool.
            with suppress(KeyError, AttributeError):
                secede()

    def sleep(self, seconds: float) -> None:
        self.leave()
        time.sleep(seconds)
