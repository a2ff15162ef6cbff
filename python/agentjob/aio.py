"""agentjob for asyncio, trio and anyio: `AsyncClient` has the methods of `agentjob.Client` as coroutines.

    import asyncio
    from agentjob.aio import AsyncClient

    async def main():
        async with AsyncClient() as client:
            job = await client.send_and_wait("job_123", "Also cover the error cases")
            print(job["status"], job["prLink"])

    asyncio.run(main())

Each request in flight takes a thread, up to `max_threads` (128). Further requests queue, and their `timeout` includes that time: a
call that times out in the queue raises RequestTimeoutError, and its message was not sent. The threads block every signal, and end
after a second without a request. A wait takes no thread between its polls, so thousands may run at once. A batch has threads of
its own.

Cancelling a task ends its call within 100 ms, except for a batch that is just starting, which reads its items and its journal
first. Cancelling does not take a message back: the cancellation carries the delivery verdict in its `delivery` attribute and in a
note (shown by Python 3.11 and later). Catch it in the coroutine that sends, because event loops may raise another one in its place, as
`asyncio.gather(return_exceptions=True)` does, or none, as a TaskGroup. So the logger `agentjob` gets the verdict, too.
"""

from __future__ import annotations

from functools import partial
from os import PathLike
from types import TracebackType
from typing import Any, AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Optional, TypeVar, Union

from . import _native, _wait
from ._aio.batch import AsyncBatch, close_and_wait
from ._aio.call import delivering, pause, run
from ._aio.message import INFO, Message
from ._aio.poller import AsyncPoller
from ._aio.threads import MAX_THREADS, Threads
from ._aio.watch import AsyncWatch
from ._native import CancelToken, Client, Poller
from .errors import invalid_argument
from .types import BatchItem, BatchUpdate, Event, Job, ResponseMeta, WaitTimeout

__all__ = ["AsyncBatch", "AsyncClient", "AsyncPoller", "AsyncWatch"]

T = TypeVar("T")
#: Called with each record that changed; what it returns is awaited if it can be.
OnUpdate = Callable[[Job], object]
#: Called with the metadata of a success, in the same way.
OnMeta = Callable[[ResponseMeta], object]


@delivering("send_message", "create_job", "send_and_wait")
class AsyncClient:
    """`agentjob.Client` for asyncio and trio: the same settings, methods and errors.

    `max_threads`, from 1 to 1024, limits the requests in flight at once, of this client and of those that share its connections.
    `on_event` is called on the thread that makes the request; for a poll that timed out in the queue, on the event loop's thread.
    `on_update` and `meta` are called on the event loop's thread, and awaited if they return an awaitable.

    >>> async def follow_up(*prompts):
    ...     async with agentjob.aio.AsyncClient.of(client) as service:
    ...         new = [await service.create_job(prompt) for prompt in prompts]
    ...         jobs = await asyncio.gather(*(service.wait(job["id"], min_interval=0.02) for job in new))
    ...         return [job["status"] for job in jobs]
    >>> asyncio.run(follow_up("Write tests", "Write docs", "Write both"))
    ['completed', 'completed', 'completed']
    """

    def __init__(
        self,
        *,
        base_url: Optional[str] = None,
        api_key: Union[str, Callable[[], str], None] = None,
        api_key_file: Union[str, PathLike[str], None] = None,
        project_id: Optional[str] = None,
        timeout: Optional[float] = None,
        connect_timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
        max_retry_after: Optional[float] = None,
        max_prompt_bytes: Optional[int] = None,
        max_response_bytes: Optional[int] = None,
        wait_timeout: Optional[float] = None,
        min_interval: Optional[float] = None,
        max_interval: Optional[float] = None,
        lateness: Optional[float] = None,
        settle: Optional[float] = None,
        ca_file: Union[str, PathLike[str], None] = None,
        client_cert: Union[str, PathLike[str], None] = None,
        client_key: Union[str, PathLike[str], None] = None,
        proxy: Optional[str] = None,
        trust_env: bool = True,
        allow_plaintext: bool = False,
        allow_shared_key_file: Optional[bool] = None,
        user_agent_suffix: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        on_event: Optional[Callable[[Event], object]] = None,
        max_threads: int = MAX_THREADS,
    ) -> None:
        settings = _without(locals(), "self", "max_threads")
        threads = _threads(max_threads)
        self._begin(Client(**settings), threads)

    def _begin(self, client: Client, threads: Threads) -> None:
        self._client = client
        self._threads = threads

    @classmethod
    def of(cls, client: Client, *, max_threads: int = MAX_THREADS) -> AsyncClient:
        """An AsyncClient that shares a Client's connections and settings. Closing either closes both."""
        if not isinstance(client, Client):
            raise TypeError(f"client must be an agentjob.Client, not {type(client).__name__}")
        return cls._of_client(client, _threads(max_threads))

    @classmethod
    def _of_client(cls, client: Client, threads: Threads) -> AsyncClient:
        made = cls.__new__(cls)
        made._begin(client, threads)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self).of, max_threads=self._threads.most), (self._client,)

    def __repr__(self) -> str:
        return "Async" + repr(self._client)

    async def __aenter__(self) -> AsyncClient:
        self._client.__enter__()  # raises ClosedError if it was closed
        return self

    async def __aexit__(
        self, exc_type: Optional[type[BaseException]], exc: Optional[BaseException], traceback: Optional[TracebackType], /
    ) -> None:
        await self.aclose()

    @property
    def closed(self) -> bool:
        """Whether the client was closed."""
        return self._client.closed

    @property
    def base_url(self) -> str:
        """The base URL, without a slash at its end."""
        return self._client.base_url

    @property
    def project_id(self) -> str:
        """The project."""
        return self._client.project_id

    @property
    def timeout(self) -> float:
        """The total seconds of one call."""
        return self._client.timeout

    @property
    def max_retries(self) -> int:
        """How often one call retries a failed request."""
        return self._client.max_retries

    def close(self) -> None:
        """Ends every call of this client with ClosedError, also a wait that pauses, and refuses new ones. It does not block: a loop
        over a batch still gets the responses to its messages in flight. aclose(), and leaving `async with`, wait for them."""
        self._client._stop()
        self._threads.close()

    async def aclose(self) -> None:
        """Closes it, and waits for the responses to its batches' messages in flight, for at most their grace."""
        in_flight = self._client._stop()
        self._threads.close()
        if in_flight:
            threads = Threads()
            try:
                await close_and_wait(threads, self._client)
            finally:
                threads.close()

    def with_options(
        self,
        *,
        timeout: Optional[float] = None,
        connect_timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
        max_retry_after: Optional[float] = None,
        max_prompt_bytes: Optional[int] = None,
        max_response_bytes: Optional[int] = None,
        wait_timeout: Optional[float] = None,
        min_interval: Optional[float] = None,
        max_interval: Optional[float] = None,
        lateness: Optional[float] = None,
        settle: Optional[float] = None,
        headers: Optional[Mapping[str, str]] = None,
        on_event: Optional[Callable[[Event], object]] = None,
    ) -> AsyncClient:
        """A client with the same connections and other settings; see Client.with_options."""
        changed = self._client.with_options(**_without(locals(), "self"))
        return self._of_client(changed, self._threads)

    async def send_message(
        self,
        job_id: str,
        prompt: str,
        *,
        timeout: Optional[float] = None,
        meta: Optional[OnMeta] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Job:
        """Sends a follow-up instruction to a job, and returns the job's record; see Client.send_message.

        timeout: total seconds of this call instead of the client's. headers: request headers, which win over the client's.
        meta: called with the response's metadata when the call succeeds, on the event loop's thread, and awaited if it returns an
            awaitable.
        """
        send = partial(self._client.send_message, job_id, prompt, timeout=timeout, headers=headers)
        return await self._run(send, timeout, delivers=Message("send_message", job_id), meta=meta)

    async def get_job(
        self,
        job_id: str,
        *,
        timeout: Optional[float] = None,
        meta: Optional[OnMeta] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Job:
        """Asks for a job's record; see Client.get_job. The options are send_message's."""
        return await self._run(partial(self._client.get_job, job_id, timeout=timeout, headers=headers), timeout, meta=meta)

    async def create_job(
        self,
        prompt: str,
        *,
        timeout: Optional[float] = None,
        meta: Optional[OnMeta] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Job:
        """Creates a job, and returns its record; see Client.create_job. The options are send_message's."""
        create = partial(self._client.create_job, prompt, timeout=timeout, headers=headers)
        created = partial(self._client._add_new_job, headers=headers)
        return await self._run(create, timeout, delivers=Message("create_job", created=created), meta=meta)

    async def wait(
        self,
        job_id: str,
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
        """Waits until a job is completed, archived or failed, and returns its last record.

        The options are those of Client.wait: all are seconds, except lateness, a fraction of the time waited so far. Between two
        polls the wait takes no thread, and can be cancelled at once.
        """
        arguments = _without(locals(), "self", "check", "on_update", "meta")
        _check(check, on_update, meta)
        poller = self._client.poller(**arguments)
        return await self._follow(poller, check, on_update, meta)

    async def send_and_wait(
        self,
        job_id: str,
        prompt: str,
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
        """Sends a message and waits for its result: send_message, then wait, with wait's options.

        timeout is the wait's; the message itself has the client's. Once the message was accepted, every error says so in
        `delivery`.
        """
        arguments = _without(locals(), "self", "check", "on_update", "meta")
        _check(check, on_update, meta, delivers=True)
        send = partial(self._client._send_and_poll, **arguments)
        message = Message("send_message", job_id)
        poller = await self._run(send, delivers=message, meta=meta)
        try:
            return await self._follow(poller, check, on_update, meta)
        except BaseException as error:
            # Also to a cancellation, which is usual in a wait, and so no warning, and to what on_update raised.
            message.ended(error, "accepted", INFO)
            raise

    def watch(
        self,
        job_id: str,
        *,
        timeout: WaitTimeout = "client",
        min_interval: Optional[float] = None,
        max_interval: Optional[float] = None,
        lateness: Optional[float] = None,
        settle: Optional[float] = None,
        meta: Optional[OnMeta] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> AsyncWatch:
        """The records of a job as they change, the last one terminal: async for job in client.watch("job_123"): ...

        The options are wait's. After an error there are no more. A loop that may end early should be inside
        `async with client.watch("job_123") as watch:`, or call watch.aclose().
        """
        poller = self._client.poller(**_without(locals(), "self", "meta"))
        _check(False, None, meta)
        return AsyncWatch(self._changes(poller, meta))

    async def _changes(self, poller: Poller, meta: Optional[OnMeta]) -> AsyncGenerator[Job, None]:
        for job in _wait.records(poller):
            if job is None:
                await self._pause_and_poll(poller, meta)
            else:
                yield job
        if not poller.changed and poller.job is not None:
            yield poller.job  # the same record as before, but only now it counts as the last one

    def send_all(
        self,
        items: Iterable[Union[BatchItem, tuple[str, str], tuple[str, str, Optional[str]]]],
        *,
        journal: Union[str, PathLike[str]],
        concurrency: int = 4,
        rate: Optional[str] = None,
        wait: bool = False,
        timeout: WaitTimeout = "client",
        min_interval: Optional[float] = None,
        max_interval: Optional[float] = None,
        lateness: Optional[float] = None,
        settle: Optional[float] = None,
        resend_unknown: bool = False,
        retry_prompts: Optional[Iterable[str]] = None,
        max_outage: float = 3600.0,
        max_busy: float = 3600.0,
        grace: float = 5.0,
        on_update: Optional[Callable[[BatchUpdate], object]] = None,
        cancel: Optional[CancelToken] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> AsyncBatch:
        """Sends many messages, each at most once: async for outcome in client.send_all(items, journal=...): ...

        The arguments are those of Client.send_all. The batch starts with the first iteration, or with `async with`; only then are
        the items read, on a thread, and a wrong item refused. on_update is called on the event loop's thread, and awaited if it
        returns an awaitable. Cancelling a task that waits for an outcome stops the batch; leaving `async with` then waits for the
        responses to its messages in flight, for at most grace.

        >>> async def send(*prompts):
        ...     items = [("job_demo", prompt) for prompt in prompts]
        ...     async with agentjob.aio.AsyncClient.of(client).send_all(items, journal=journal) as batch:
        ...         return [outcome["delivery"] async for outcome in batch]
        >>> asyncio.run(send("Write tests", "Write docs"))
        ['accepted', 'accepted']
        """
        begin = partial(self._client.send_all, **_without(locals(), "self", "items", "on_update"))
        _check(False, on_update)
        return AsyncBatch(items, begin, partial(_notify, on_update))

    def poller(
        self,
        job_id: str,
        *,
        timeout: WaitTimeout = "client",
        min_interval: Optional[float] = None,
        max_interval: Optional[float] = None,
        lateness: Optional[float] = None,
        settle: Optional[float] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> AsyncPoller:
        """A wait whose loop the program runs: sleep poller.due_in seconds, then await poller.poll(), until it is done.

        The options are wait's. str(poller) is the wait's state; resume() continues from it, in another process too.
        """
        return AsyncPoller(self._poll, self._client.poller(**_without(locals(), "self")))

    def resume(self, text: str, *, headers: Optional[Mapping[str, str]] = None) -> AsyncPoller:
        """Resumes a wait from a poller's text. The time since the text was written counts as waited. The text has no headers: give
        them again."""
        return AsyncPoller(self._poll, self._client.resume(text, headers=headers))

    async def _follow(self, poller: Poller, check: bool, on_update: Optional[OnUpdate], meta: Optional[OnMeta]) -> Job:
        for job in _wait.records(poller):
            if job is None:
                await self._pause_and_poll(poller, meta)
            else:
                await _notify(on_update, job)
        last = poller.job  # a new dict: on_update may have changed the one that it got
        assert last is not None
        if check and last["status"] == "failed":
            raise _native.job_failed(last["id"], last)
        return last

    async def _pause_and_poll(self, poller: Poller, meta: Optional[OnMeta]) -> None:
        if not self._client.closed:
            await pause(self._threads, poller.due_in)
        await self._poll(poller, meta)

    async def _poll(self, poller: Poller, meta: Optional[OnMeta] = None) -> Optional[Job]:
        return await self._made(poller.poll, poller._call_token(), None, meta)

    async def _run(
        self, call: Callable[..., T], timeout: Optional[float] = None, delivers: Optional[Message] = None, meta: Optional[OnMeta] = None
    ) -> T:
        return await self._made(call, self._client._call_token(timeout, delivers=delivers is not None), delivers, meta)

    async def _made(self, call: Callable[..., T], token: CancelToken, delivers: Optional[Message], meta: Optional[OnMeta]) -> T:
        _check(False, None, meta, delivers=delivers is not None)
        if meta is None:
            return await run(self._threads, partial(call, cancel=token), token, delivers)
        seen: list[ResponseMeta] = []
        result = await run(self._threads, partial(call, cancel=token, meta=seen.append), token, delivers)
        try:
            for one in seen:
                await _notify(meta, one)
        except BaseException as error:
            if delivers is not None:
                delivers.ended(error, "accepted", record=result)
            raise
        return result


def _without(arguments: dict[str, Any], *names: str) -> dict[str, Any]:
    """The arguments of a method but for some, for the native client. Each method's signature says what it takes, because editors and
    type checkers show that better than `**options`; this keeps the names from being written again for the call."""
    return {name: argument for name, argument in arguments.items() if name not in names}


def _threads(most: object) -> Threads:
    if not isinstance(most, int) or isinstance(most, bool):
        raise TypeError(f"max_threads must be a whole number, not {type(most).__name__}")
    if not 1 <= most <= 1024:
        raise invalid_argument(f"max_threads is {most}", "Give a number from 1 to 1024.")
    return Threads(most)


def _check(
    check: object,
    on_update: Optional[Callable[..., object]],
    meta: Optional[OnMeta] = None,
    *,
    delivers: bool = False,
) -> None:
    """Checks the arguments that the native client does not get."""
    wrong = None if isinstance(check, bool) else f"check must be True or False, not {type(check).__name__}"
    functions: tuple[tuple[str, Optional[Callable[..., object]]], ...] = (("on_update", on_update), ("meta", meta))
    for name, function in functions:
        if wrong is None and function is not None and not callable(function):
            wrong = f"{name} must be callable, not {type(function).__name__}"
    if wrong is not None:
        error = TypeError(wrong)
        if delivers:
            _native.add_note(error, "not_sent")
        raise error


async def _notify(on_update: Optional[Callable[[T], object]], update: T) -> None:
    if on_update is not None:
        result = on_update(update)
        if isinstance(result, Awaitable):
            await result
