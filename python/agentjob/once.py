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

from functools import partial
from typing import Any, AsyncGenerator, Callable, Generator, Iterable, List, Mapping, Optional, Tuple, TypeVar, Union

from . import _native
from ._aio.batch import close_and_wait
from ._aio.call import run
from ._aio.message import Message as _Message
from ._aio.poller import AsyncPoller
from ._aio.threads import Threads
from ._native import CancelToken, Client, Poller
from ._once import lookup
from ._once.calls import Message
from ._once.lookup import Where
from ._once.postgresql import PostgreSQLStore
from ._once.run import Run, list_run
from ._once.sqlite import SQLiteStore
from ._once.store import PATIENCE, Step, StepOutcome, Store, StoreBusyError, Taker, Throttled
from .aio import AsyncClient, OnMeta, OnUpdate, _check, _notify, _without
from .types import BatchItem, BatchOutcome, Job, Resolution, ResponseMeta, StepRecord, StepState, WaitTimeout

__all__ = ["AsyncOnce", "Once", "PostgreSQLStore", "SQLiteStore", "Step", "StepOutcome", "Store", "StoreBusyError", "Taker", "Throttled"]

T = TypeVar("T")


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
        self.store: Store = lookup.opened(store)

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
        poller: Optional[str] = None,
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

        poller: the text of a poller of this step, to continue its wait, and not the one that began when the message was accepted.

        The other arguments are those of Client.wait, and so are the errors. The settle time counts from when the message was accepted, in
        whatever process; the timeout from now. InvalidArgumentError, too: there is no such step, or its message was not accepted. If the
        job gets other messages meanwhile, the result may be theirs: send a job's next message after this. If the store can't be used then,
        the job is returned, but not recorded, and a later call polls it again.
        """
        options = _without(locals(), "self", "key", "check", "poller")
        _check(check, on_update, meta)
        step, text = lookup.followed(self.client, self.store, key, poller)
        job = lookup.result(self.client, step, _without(options, "on_update", "meta", "cancel"))
        if job is None:
            job, record = _native.wait_step(self.client, step.job_id, text, **options)
            job = lookup.finished(self.store, step, job, record)
        elif on_update is not None:
            on_update(job)
        return lookup.checked(job, check)

    def poller(
        self,
        key: str,
        *,
        timeout: WaitTimeout = "client",
        min_interval: Optional[float] = None,
        max_interval: Optional[float] = None,
        lateness: Optional[float] = None,
        settle: Optional[float] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Poller:
        """The wait for an accepted step's result, whose loop an engine runs: see Client.poller. Client.resume(str(poller)) continues it in any
        process. When it is done, wait(key, poller=str(poller)) records the result. The arguments and the errors are those of wait().
        """
        options = _without(locals(), "self", "key")
        step = lookup.accepted(self.store, key)
        return _native.resume_step(self.client, step.job_id, step.poller, **options)

    def send_all(
        self,
        items: Iterable[Union[BatchItem, Tuple[str, str, str]]],
        *,
        concurrency: int = 4,
        wait: bool = False,
        timeout: WaitTimeout = "client",
        min_interval: Optional[float] = None,
        max_interval: Optional[float] = None,
        lateness: Optional[float] = None,
        settle: Optional[float] = None,
        max_outage: float = 3600.0,
        max_busy: float = 3600.0,
        grace: float = 5.0,
        cancel: Optional[CancelToken] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Generator[BatchOutcome, None, None]:
        """Sends the messages of a list, each at most once, in any number of processes and on any number of machines that run it with one
        store at the same time: `for outcome in once.send_all(items): …`. Each of them gets every outcome.

        items: mappings or tuples as for Client.send_all. Each needs a key, by which the store knows its message. All are checked before the
            first is sent.
        concurrency: how many messages this process has in flight at once, 1 to 64. No two for one job, in all processes.
        wait, timeout, min_interval, max_interval, lateness, settle, max_outage, max_busy, grace, cancel, headers: those of Client.send_all.

        The messages are sent while the iterator is open, also between two outcomes. It begins with the first one that is asked for. Its end,
        its close(), Ctrl-C and an exception send no more, and wait up to `grace` for the responses to the messages in flight. Run the list
        again to continue: what was accepted, rejected, or may have arrived is not sent again. send_message() sends a rejected message
        again, and resolve() decides about an unknown one.

        Raises InvalidArgumentError, which names the item, before anything is sent. The iterator raises what stopped the run, last; also
        StoreError, and InvalidArgumentError: a key has another message.

        >>> once = agentjob.once.Once(client, database)
        >>> items = [("job_demo", "Write tests", "night/tests"), ("job_busy", "Write docs", "night/docs")]
        >>> [outcome["delivery"] for outcome in once.send_all(items)]
        ['accepted', 'accepted']
        >>> [outcome["earlier"] for outcome in once.send_all(items)]  # sends nothing
        [True, True]
        """
        return self._run(**_without(locals(), "self")).iterate()

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
        return [lookup.record(step) for step in lookup.found(self.store, keys, state)]

    def _run(self, **options: Any) -> Run:
        return list_run(self.client, self.store, self._pace, **options)


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
        poller: Optional[str] = None,
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
        options = _without(locals(), "self", "key", "check", "poller", "on_update", "meta")
        _check(check, on_update, meta)
        step, text = await self._stored(partial(lookup.followed, self.client._client, self.store, key, poller))
        job = lookup.result(self.client._client, step, options)
        if job is not None:
            await _notify(on_update, job)
            return lookup.checked(job, check)
        resumed = _native.resume_step(self.client._client, step.job_id, text, **options)
        job = await self.client._follow(resumed, False, on_update, meta)
        record = _native.stored_wait(self.client._client, resumed)[0]
        return lookup.checked(await self._stored(partial(lookup.finished, self.store, step, job, record)), check)

    async def poller(
        self,
        key: str,
        *,
        timeout: WaitTimeout = "client",
        min_interval: Optional[float] = None,
        max_interval: Optional[float] = None,
        lateness: Optional[float] = None,
        settle: Optional[float] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> AsyncPoller:
        """The wait for an accepted step's result, whose loop an engine runs; see Once.poller and AsyncClient.poller."""
        poller = await self._stored(partial(self._once.poller, **_without(locals(), "self")))
        return AsyncPoller(self.client._poll, poller)

    async def send_all(
        self,
        items: Iterable[Union[BatchItem, Tuple[str, str, str]]],
        *,
        concurrency: int = 4,
        wait: bool = False,
        timeout: WaitTimeout = "client",
        min_interval: Optional[float] = None,
        max_interval: Optional[float] = None,
        lateness: Optional[float] = None,
        settle: Optional[float] = None,
        max_outage: float = 3600.0,
        max_busy: float = 3600.0,
        grace: float = 5.0,
        headers: Optional[Mapping[str, str]] = None,
    ) -> AsyncGenerator[BatchOutcome, None]:
        """Sends the messages of a list, beside other workers; see Once.send_all: `async for outcome in once.send_all(items): …`. Only then are
        the items read, on a thread. Its aclose(), which `contextlib.aclosing` calls, waits up to `grace` for the responses to the messages in
        flight; so does a task that is cancelled while it waits for an outcome."""
        options = _without(locals(), "self")
        # Its own, because it needs a thread for hours; the client's threads are for requests.
        threads, token = Threads(), CancelToken()
        try:
            work = await run(threads, partial(self._once._run, **options), token)
            try:
                await run(threads, work.begin, token)
                while True:
                    outcome = await run(threads, partial(work.next, token), token)
                    if outcome is None:
                        break
                    yield outcome
            except GeneratorExit:
                # This may wait only when the exception has been handled.
                pass
            except BaseException:
                await close_and_wait(threads, work)
                raise
            await close_and_wait(threads, work)
        finally:
            threads.close()

    async def resolve(self, key: str, resolution: Resolution) -> None:
        """Decides about a step whose message may have arrived; see Once.resolve."""
        await self._stored(partial(self._once.resolve, key, resolution))

    async def steps(self, keys: Optional[Iterable[str]] = None, *, state: Optional[StepState] = None) -> List[StepRecord]:
        """The steps that the store has; see Once.steps."""
        return await self._stored(partial(self._once.steps, keys, state=state))

    async def _stored(self, call: Callable[[], T]) -> T:
        # Without the time of a call, whose end would execute it on the loop's thread.
        return await run(self.client._threads, call, CancelToken())
