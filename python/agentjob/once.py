"""A step that sends its message at most once, however often a workflow engine runs it, on whichever worker.

    import agentjob
    from agentjob.once import Once

    once = Once(agentjob.Client(), "steps.db")
    once.send_message("nightly-2026-11-26/tests", "job_123", "Add the missing tests")
    job = once.wait("nightly-2026-11-26/tests")

The first argument is the step's key, which names the message: one of your own that is the same whenever the step runs again, and that no other
message has. Call it again, after a crash or from another worker, and it returns what is known: the accepted message's record, without
sending. A message that was not sent or was rejected is sent again. One that may have arrived is never sent again on its own: the call
raises, until you `resolve` the step.

The steps are in a store, which all workers share: the file of an SQLite database, for those of one machine, or a PostgreSQL database.
"""

from __future__ import annotations

import contextlib
import re
from functools import partial
from os import PathLike
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, TypeVar, Union

from . import _native
from ._aio.message import Message as _Message
from ._native import CancelToken, Client
from ._once.calls import Message, read, unknown
from ._once.postgresql import PostgreSQLStore
from ._once.sqlite import SQLiteStore
from ._once.store import PATIENCE, Step, StepOutcome, Store, StoreBusyError, Taker, Throttled
from .aio import AsyncClient, OnMeta, OnUpdate, _check, _notify, _without
from .errors import InvalidArgumentError, StoreError, job_failed
from .types import Job, Resolution, ResponseMeta, StepRecord, StepState, WaitTimeout

__all__ = ["AsyncOnce", "Once", "PostgreSQLStore", "SQLiteStore", "Step", "StepOutcome", "Store", "StoreBusyError", "Taker", "Throttled"]

T = TypeVar("T")
#: A store, the path of an SQLite database, or the URL of a PostgreSQL database.
Where = Union[Store, str, PathLike[str]]


class Once:
    """Sends each step's message at most once. It may be used from any number of threads and, with one store, from any number of processes.

    client: whose settings the calls have; `timeout` is the total time of send_message, waiting for other workers included.
    store: where the steps are, for all workers: the path of an SQLite database; `postgresql://…`, the URL of a PostgreSQL database; or a
        Store.
    rate: at most this many messages in any such span of time, over all workers of the store: "100/h", "2/s", "30/min", "500/d".
        Default: no limit.

    Every method raises StoreError if the store can't be used. That of send_message has a `delivery`: whether the message had left by then.
    """

    def __init__(self, client: Client, store: Where, *, rate: Optional[str] = None) -> None:
        if not isinstance(client, Client):
            raise TypeError(f"client must be an agentjob.Client, not {type(client).__name__}")
        self.client: Client = client
        self._pace = _native.step_pace(client, rate)
        self.store: Store = _opened(store)

    def __repr__(self) -> str:
        return f"Once({self.client!r}, {self.store!r})"

    def send_message(
        self,
        key: str,
        job_id: str,
        prompt: str,
        *,
        meta: Optional[Callable[[ResponseMeta], object]] = None,
        headers: Optional[Mapping[str, str]] = None,
        cancel: Optional[CancelToken] = None,
    ) -> Job:
        """Sends a step's message, or returns the record of the job if it was accepted before. Of such a record the store has the id, the
        status, the times and the pull request.

        key: names the message: 1 to 1024 bytes, without control characters, and without white space or invisible characters around it.
        meta, headers, cancel: see Client.send_message; meta is called only if this call sends.

        Raises what Client.send_message raises. `delivery` says what to do: `not_sent` and `rejected`, call it again; `unknown`, check the
        job, then resolve() the step: until then every call raises, and none sends. If another worker is sending it, this waits for its
        outcome, and raises StepInFlightError if that does not come within the client's timeout: call it again. If the rate is used up,
        or a 429 pauses all workers, this waits; if that would leave less than a quarter of the client's timeout, it raises RateLimitError:
        `not_sent`, with `retry_after`. InvalidArgumentError, too: the key has another message. If it was accepted and the store has no record, the
        job is read.

        >>> once = agentjob.once.Once(client, database)
        >>> once.send_message("night/tests", "job_demo", "Write tests")["id"]
        'job_demo'
        >>> once.send_message("night/tests", "job_demo", "Write tests")["id"]  # sends nothing
        'job_demo'
        """
        token = self.client._call_token(delivers=True, cancel=cancel)
        return Message(self.client, self.store, self._pace, (key, job_id, prompt), meta, headers).send(token)

    def wait(
        self,
        key: str,
        *,
        timeout: WaitTimeout = "client",
        min_interval: Optional[float] = None,
        max_interval: Optional[float] = None,
        lateness: Optional[float] = None,
        settle: Optional[float] = None,
        check: bool = False,
        on_update: Optional[Callable[[Job], object]] = None,
        meta: Optional[Callable[[ResponseMeta], object]] = None,
        headers: Optional[Mapping[str, str]] = None,
        cancel: Optional[CancelToken] = None,
    ) -> Job:
        """Waits for the result of an accepted step, in any process, and returns the job's last record. Later calls return it from the
        store.

        The arguments are those of Client.wait, and so are the errors. The settle time counts from when the message was accepted, in
        whatever process; the timeout from now. InvalidArgumentError, too: there is no such step, or its message was not accepted. If the
        job gets other messages meanwhile, the result may be theirs: send a job's next message after this.
        """
        options = _without(locals(), "self", "key", "check")
        _check(check, on_update, meta)
        step = _accepted(self.store, key)
        job = _result(self.client, step, _without(options, "on_update", "meta", "cancel"))
        if job is None:
            job, record = _native.wait_step(self.client, step.job_id, step.poller, **options)
            self._finish(step, record)
        elif on_update is not None:
            on_update(job)
        return _checked(job, check)

    def resolve(self, key: str, resolution: Resolution) -> None:
        """Decides about a step whose message may have arrived. Check the job first.

        resolution: "arrived", it counts as accepted; "not_arrived", the next send_message sends it; "resend", that is still unknown,
            and the next send_message sends it anyway: if it did arrive, the agent works twice. Until it does, these two can be
            changed.

        Raises InvalidArgumentError: the step is not unknown, or there is none.
        """
        state = _native.resolved_step(resolution)
        _native.check_step_key(key)
        steps = self.store.get([key], None, PATIENCE)
        step = self.store.resolve(steps[0], state, resolution) if steps else None
        if step is None or step.owner is not None or step.decision != resolution:
            raise _native.unresolvable_step(key, "" if step is None else step.state)

    def steps(self, keys: Optional[Iterable[str]] = None, *, state: Optional[StepState] = None) -> List[StepRecord]:
        """The steps that the store has, in the order of their keys: these, or all; in this state, or in any. One query, also for
        100,000 keys.

        >>> agentjob.once.Once(client, database).steps(state="unknown")
        []
        """
        if isinstance(keys, str):
            raise TypeError("keys must be an iterable of str, not str")
        wanted = None if keys is None else list(keys)
        for key in wanted or ():
            _native.check_step_key(key)
        if state not in (None, "sending", "accepted", "rejected", "not_sent", "unknown"):
            reason, hint = f"state is {state!r}", "Give sending, accepted, rejected, not_sent or unknown."
            raise InvalidArgumentError(f"{reason}. {hint}", {"reason": reason, "hint": hint, "delivery": None})
        return [_record(step) for step in self.store.get(wanted, state, PATIENCE)]

    def _finish(self, step: Step, record: Optional[str]) -> None:
        if record is not None:
            # Without it the next wait polls the job once more.
            with contextlib.suppress(StoreError):
                self.store.finish(step, record)


class AsyncOnce:
    """Once as coroutines, for asyncio and trio. The store is used on the client's threads.

    client: an AsyncClient. store, rate: as for Once.
    """

    def __init__(self, client: AsyncClient, store: Where, *, rate: Optional[str] = None) -> None:
        if not isinstance(client, AsyncClient):
            raise TypeError(f"client must be an agentjob.aio.AsyncClient, not {type(client).__name__}")
        self.client: AsyncClient = client
        self._once = Once(client._client, store, rate=rate)
        self.store: Store = self._once.store

    def __repr__(self) -> str:
        return "Async" + repr(self._once)

    async def send_message(
        self,
        key: str,
        job_id: str,
        prompt: str,
        *,
        meta: Optional[OnMeta] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Job:
        """Sends a step's message, or returns what is known of it; see Once.send_message. Cancelling the task ends the call, and records
        the outcome."""
        send = partial(self._once.send_message, key, job_id, prompt, headers=headers)
        return await self.client._run(send, delivers=_Message("send_message", job_id), meta=meta)

    async def wait(
        self,
        key: str,
        *,
        timeout: WaitTimeout = "client",
        min_interval: Optional[float] = None,
        max_interval: Optional[float] = None,
        lateness: Optional[float] = None,
        settle: Optional[float] = None,
        check: bool = False,
        on_update: Optional[OnUpdate] = None,
        meta: Optional[OnMeta] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Job:
        """Waits for the result of an accepted step; see Once.wait. Between two polls it takes no thread."""
        options = _without(locals(), "self", "key", "check", "on_update", "meta")
        _check(check, on_update, meta)
        step = await self._stored(partial(_accepted, self.store, key))
        job = _result(self.client._client, step, options)
        if job is not None:
            await _notify(on_update, job)
            return _checked(job, check)
        poller = _native.resume_step(self.client._client, step.job_id, step.poller, **options)
        job = await self.client._follow(poller, False, on_update, meta)
        record = _native.stored_wait(self.client._client, poller)[0]
        await self._stored(partial(self._once._finish, step, record))
        return _checked(job, check)

    async def resolve(self, key: str, resolution: Resolution) -> None:
        """Decides about a step whose message may have arrived; see Once.resolve."""
        await self._stored(partial(self._once.resolve, key, resolution))

    async def steps(self, keys: Optional[Iterable[str]] = None, *, state: Optional[StepState] = None) -> List[StepRecord]:
        """The steps that the store has; see Once.steps."""
        return await self._stored(partial(self._once.steps, keys, state=state))

    async def _stored(self, call: Callable[[], T]) -> T:
        return await self.client._run(lambda cancel: call())


def _opened(store: Where) -> Store:
    if isinstance(store, str) and store.startswith(("postgresql://", "postgres://")):
        return PostgreSQLStore(store)
    if isinstance(store, str) and re.search(r"://|\b(host|hostaddr|port|dbname|user|password|service)\s*=", store):
        # It may have a password.
        raise StoreError("store is neither a path nor the URL of a PostgreSQL database. Give a path, or postgresql://USER@HOST/DATABASE.")
    if isinstance(store, (str, PathLike)):
        return SQLiteStore(store)
    if not callable(getattr(store, "take", None)):
        raise TypeError(f"store must be a path, a URL or a store, not {type(store).__name__}")
    return store


def _accepted(store: Store, key: str) -> Step:
    _native.check_step_key(key)
    steps = store.get([key], None, PATIENCE)
    state = steps[0].state if steps else ""
    if state == "unknown":
        raise unknown(steps[0])
    if state != "accepted":
        raise _native.unwaitable_step(key, state)
    return steps[0]


def _result(client: Client, step: Step, options: Dict[str, Any]) -> Optional[Job]:
    """The result that the store has. The options are checked in any case."""
    result = step.result
    if result is None:
        return None
    _native.resume_step(client, step.job_id, None, **options)
    return read(step, lambda: _native.stored_job(result))


def _checked(job: Job, check: bool) -> Job:
    if check and job["status"] == "failed":
        raise job_failed(_native.escape(job["id"]), job)
    return job


def _record(step: Step) -> StepRecord:
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
