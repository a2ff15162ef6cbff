"""How agentjob.once opens a store, and what it reads of its steps."""

from __future__ import annotations

import re
import reprlib
from contextlib import suppress
from os import PathLike
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

from .. import _native
from .._native import Client
from ..errors import StoreError, invalid_argument, wrong_store
from ..types import Job, StepRecord, StepState
from .calls import read, recorded_result, stored_result, unknown
from .postgresql import PostgreSQLStore
from .sqlite import SQLiteStore
from .store import PATIENCE, Step, Store

#: A store, the path of an SQLite database, or the URL of a PostgreSQL database.
Where = Union[Store, str, PathLike[str]]


def opened(store: Where) -> Store:
    if isinstance(store, str) and store.startswith(("postgresql://", "postgres://")):
        return PostgreSQLStore(store)
    if isinstance(store, str) and re.search(r"://|\b(host|hostaddr|port|dbname|user|password|service)\s*=", store):
        # It may have a password.
        raise wrong_store("store is neither a path nor the URL of a PostgreSQL database. Give a path, or postgresql://USER@HOST/DATABASE.")
    if isinstance(store, (str, PathLike)):
        return SQLiteStore(store)
    if not callable(getattr(store, "take", None)):
        raise TypeError(f"store must be a path, a URL or a store, not {type(store).__name__}")
    return store


def accepted(store: Store, key: str) -> Step:
    _native.check_step_key(key)
    steps = store.get([key], None, PATIENCE)
    state = steps[0].state if steps else ""
    if state == "unknown":
        raise unknown(steps[0])
    if state != "accepted":
        raise _native.unwaitable_step(key, state)
    return steps[0]


def followed(client: Client, store: Store, key: str, text: Optional[str]) -> Tuple[Step, Optional[str]]:
    """An accepted step, and the wait that is continued: this one, or the one that the store has."""
    step = accepted(store, key)
    if text is not None and client.resume(text).job_id != step.job_id:
        raise invalid_argument(f"poller is not of job {_native.escape(step.job_id)}", "Give the text of a poller of this step.")
    return step, step.poller if text is None else text


def result(client: Client, step: Step, options: Dict[str, Any]) -> Optional[Job]:
    """The result that the store has. The options are checked in any case."""
    if step.result is None:
        return None
    _native.resume_step(client, step.job_id, None, **options)
    return stored_result(step)


def finished(store: Store, step: Step, job: Job, record: Optional[str]) -> Job:
    """Records the result of a step, if the store can be used, and returns the one that counts."""
    if record is not None:
        # Without it the next wait polls the job once more.
        with suppress(StoreError):
            return recorded_result(store, step, job, record) or job
    return job


def checked(job: Job, check: bool) -> Job:
    if check and job["status"] == "failed":
        raise _native.job_failed(job["id"], job)
    return job


def found(store: Store, keys: Optional[Iterable[str]], state: Optional[StepState]) -> List[Step]:
    if isinstance(keys, str):
        raise TypeError("keys must be an iterable of str, not str")
    wanted = None if keys is None else list(keys)
    for key in wanted or ():
        _native.check_step_key(key)
    if state not in (None, "sending", "accepted", "rejected", "not_sent", "unknown"):
        raise invalid_argument(f"state is {reprlib.repr(state)}", "Give sending, accepted, rejected, not_sent or unknown.")
    return store.get(wanted, state, PATIENCE)


def record(step: Step) -> StepRecord:
    stored = step.result or step.record
    failed = step.state == "unknown" or step.failure is not None
    return {
        "key": step.key,
        "job_id": step.job_id,
        "state": step.state,
        "sends": step.sends,
        "error": read(step, lambda: str(unknown(step))) if failed else None,
        "job": None if stored is None else read(step, lambda: _native.stored_job(stored)),
        "decision": step.decision,
        "taken_at": step.taken_at,
        "changed_at": step.changed_at,
    }
