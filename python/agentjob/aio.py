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
note (shown by Python 3.11 and later).
"""

from __future__ import annotations

from functools import partial
from os import PathLike
from types import TracebackType
from typing import Any, AsyncIterator, Awaitable, Callable, Iterable, Mapping, TypeVar

from . import _native, _wait
from ._aio.batch import AsyncBatch, cancelled, close_and_wait
from ._aio.call import pause, run
from ._aio.poller import AsyncPoller
from ._aio.threads import MAX_THREADS, Threads
from ._native import CancelToken, Client, Poller
from .errors import InvalidArgumentError, job_failed
from .types import BatchItem, BatchUpdate, Event, Job

__all__ = ["AsyncBatch", "AsyncClient", "AsyncPoller"]

T = TypeVar("T")
#: Called with each record that changed; what it returns is awaited if it can be.
OnUpdate = Callable[[Job], object]


class AsyncClient:
    """`agentjob.Client` for asyncio and trio: the same settings, methods and errors.

    `max_threads`, from 1 to 1024, limits the requests in flight at once, of this client and of those that share its connections.
    `on_event` is called on the thread that makes the request; for a poll that timed out in the queue, on the event loop's thread.
    `on_update` is called on the event loop's thread, and awaited if it returns an awaitable.

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
        base_url: str | None = None,
        api_key: str | None = None,
        api_key_file: str | PathLike[str] | None = None,
        project_id: str | None = None,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        max_retries: int | None = None,
        max_retry_after: float | None = None,
        max_prompt_bytes: int | None = None,
        max_response_bytes: int | None = None,
        ca_file: str | PathLike[str] | None = None,
        proxy: str | None = None,
        trust_env: bool = True,
        allow_plaintext: bool = False,
        allow_shared_key_file: bool | None = None,
        user_agent_suffix: str | None = None,
        on_event: Callable[[Event], object] | None = None,
        max_threads: int = MAX_THREADS,
    ) -> None:
        threads = _threads(max_threads)
        self._begin(
            Client(
                base_url=base_url,
                api_key=api_key,
                api_key_file=api_key_file,
                project_id=project_id,
                timeout=timeout,
                connect_timeout=connect_timeout,
                max_retries=max_retries,
                max_retry_after=max_retry_after,
                max_prompt_bytes=max_prompt_bytes,
                max_response_bytes=max_response_bytes,
                ca_file=ca_file,
                proxy=proxy,
                trust_env=trust_env,
                allow_plaintext=allow_plaintext,
                allow_shared_key_file=allow_shared_key_file,
                user_agent_suffix=user_agent_suffix,
                on_event=on_event,
            ),
            threads,
        )

    def _begin(self, client: Client, threads: Threads) -> None:
        self._client = client
        self._threads = threads

    @classmethod
    def of(cls, client: Client, *, max_threads: int = MAX_THREADS) -> AsyncClient:
        """An AsyncClient that shares a Client's connections and settings. Closing either closes both."""
        if not isinstance(client, Client):
            raise TypeError(f"client must be an agentjob.Client, not {type(client).__name__}")
        return cls._made(client, _threads(max_threads))

    @classmethod
    def _made(cls, client: Client, threads: Threads) -> AsyncClient:
        made = cls.__new__(cls)
        made._begin(client, threads)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self).of, max_threads=self._threads.most), (self._client,)

    def __repr__(self) -> str:
        return "Async" + repr(self._client)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        self.close()
        if not self._client._close(cancelled()):
            threads = Threads()
            try:
                await close_and_wait(threads, self._client)
            finally:
                threads.close()

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
        """Ends every call of this client with ClosedError, also a wait that pauses, and refuses new ones. It does not block: the
        responses to its batches' messages in flight arrive in the background. Leaving `async with` waits for them."""
        self._client._close(cancelled())
        self._threads.close()

    def with_options(
        self,
        *,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        max_retries: int | None = None,
        max_retry_after: float | None = None,
        max_prompt_bytes: int | None = None,
        max_response_bytes: int | None = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> AsyncClient:
        """A client with the same connections and other settings; see Client.with_options."""
        changed = self._client.with_options(
            timeout=timeout,
            connect_timeout=connect_timeout,
            max_retries=max_retries,
            max_retry_after=max_retry_after,
            max_prompt_bytes=max_prompt_bytes,
            max_response_bytes=max_response_bytes,
            on_event=on_event,
        )
        return self._made(changed, self._threads)

    async def send_message(self, job_id: str, prompt: str, *, timeout: float | None = None) -> Job:
        """Sends a follow-up instruction to a job, and returns the job's record; see Client.send_message.

        timeout: total seconds of this call instead of the client's.
        """
        send = partial(self._client.send_message, job_id, prompt, timeout=timeout)
        return await self._run(send, timeout, delivers=True)

    async def get_job(self, job_id: str, *, timeout: float | None = None) -> Job:
        """Asks for a job's record; see Client.get_job.

        timeout: total seconds of this call instead of the client's.
        """
        return await self._run(partial(self._client.get_job, job_id, timeout=timeout), timeout)

    async def create_job(self, prompt: str, *, timeout: float | None = None) -> Job:
        """Creates a job, and returns its record; see Client.create_job.

        timeout: total seconds of this call instead of the client's.
        """
        create = partial(self._client.create_job, prompt, timeout=timeout)
        return await self._run(create, timeout, delivers=True)

    async def wait(
        self,
        job_id: str,
        *,
        timeout: float | None = 1800.0,
        min_interval: float = 2.0,
        max_interval: float = 60.0,
        lateness: float = 0.15,
        settle: float = 10.0,
        check: bool = False,
        on_update: OnUpdate | None = None,
    ) -> Job:
        """Waits until a job is completed, archived or failed, and returns its last record.

        The options are those of Client.wait: all are seconds, except lateness, a fraction of the time waited so far. Between two
        polls the wait takes no thread, and can be cancelled at once.
        """
        _check(check, on_update)
        poller = self._client.poller(
            job_id,
            timeout=timeout,
            min_interval=min_interval,
            max_interval=max_interval,
            lateness=lateness,
            settle=settle,
        )
        return await self._follow(poller, check, on_update)

    async def send_and_wait(
        self,
        job_id: str,
        prompt: str,
        *,
        timeout: float | None = 1800.0,
        min_interval: float = 2.0,
        max_interval: float = 60.0,
        lateness: float = 0.15,
        settle: float = 10.0,
        check: bool = False,
        on_update: OnUpdate | None = None,
    ) -> Job:
        """Sends a message and waits for its result: send_message, then wait, with wait's options.

        timeout is the wait's; the message itself has the client's. Once the message was accepted, every error says so in
        `delivery`.
        """
        _check(check, on_update)
        send = partial(
            self._client._send_and_poll,
            job_id,
            prompt,
            timeout=timeout,
            min_interval=min_interval,
            max_interval=max_interval,
            lateness=lateness,
            settle=settle,
        )
        poller = await self._run(send, delivers=True)
        try:
            return await self._follow(poller, check, on_update)
        except BaseException as error:
            # Also to a cancellation, and to what on_update raised.
            _native.add_note(error, "accepted")
            raise

    def watch(
        self,
        job_id: str,
        *,
        timeout: float | None = 1800.0,
        min_interval: float = 2.0,
        max_interval: float = 60.0,
        lateness: float = 0.15,
        settle: float = 10.0,
    ) -> AsyncIterator[Job]:
        """The records of a job as they change, the last one terminal: async for job in client.watch("job_123"): ...

        The options are wait's. After an error there are no more.
        """
        poller = self._client.poller(
            job_id,
            timeout=timeout,
            min_interval=min_interval,
            max_interval=max_interval,
            lateness=lateness,
            settle=settle,
        )
        return self._changes(poller)

    async def _changes(self, poller: Poller) -> AsyncIterator[Job]:
        for job in _wait.records(poller):
            if job is None:
                await self._pause_and_poll(poller)
            else:
                yield job
        if not poller.changed and poller.job is not None:
            yield poller.job  # the same record as before, but only now it counts as the last one

    def send_all(
        self,
        items: Iterable[BatchItem | Mapping[str, object] | tuple[str, str] | tuple[str, str, str | None]],
        *,
        journal: str | PathLike[str],
        concurrency: int = 4,
        rate: str | None = None,
        wait: bool = False,
        timeout: float | None = 1800.0,
        min_interval: float = 2.0,
        max_interval: float = 60.0,
        lateness: float = 0.15,
        settle: float = 10.0,
        resend_unknown: bool = False,
        max_outage: float = 3600.0,
        grace: float = 5.0,
        on_update: Callable[[BatchUpdate], object] | None = None,
        cancel: CancelToken | None = None,
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
        _check(False, on_update)
        begin = partial(
            self._client.send_all,
            items,
            journal=journal,
            concurrency=concurrency,
            rate=rate,
            wait=wait,
            timeout=timeout,
            min_interval=min_interval,
            max_interval=max_interval,
            lateness=lateness,
            settle=settle,
            resend_unknown=resend_unknown,
            max_outage=max_outage,
            grace=grace,
            cancel=cancel,
        )
        return AsyncBatch(begin, partial(_notify, on_update))

    def poller(
        self,
        job_id: str,
        *,
        timeout: float | None = 1800.0,
        min_interval: float = 2.0,
        max_interval: float = 60.0,
        lateness: float = 0.15,
        settle: float = 10.0,
    ) -> AsyncPoller:
        """A wait whose loop the program runs: sleep poller.due_in seconds, then await poller.poll(), until it is done.

        The options are wait's. str(poller) is the wait's state; resume() continues from it, in another process too.
        """
        poller = self._client.poller(
            job_id,
            timeout=timeout,
            min_interval=min_interval,
            max_interval=max_interval,
            lateness=lateness,
            settle=settle,
        )
        return AsyncPoller(self._poll, poller)

    def resume(self, text: str) -> AsyncPoller:
        """Resumes a wait from a poller's text. The time since the text was written counts as waited."""
        return AsyncPoller(self._poll, self._client.resume(text))

    async def _follow(self, poller: Poller, check: bool, on_update: OnUpdate | None) -> Job:
        for job in _wait.records(poller):
            if job is None:
                await self._pause_and_poll(poller)
            else:
                await _notify(on_update, job)
        last = poller.job  # a new dict: on_update may have changed the one that it got
        assert last is not None
        if check and last["status"] == "failed":
            raise job_failed(_native.escape(last["id"]), last)
        return last

    async def _pause_and_poll(self, poller: Poller) -> None:
        if not self._client.closed:
            await pause(self._threads, poller.due_in)
        await self._poll(poller)

    async def _poll(self, poller: Poller) -> Job | None:
        token = poller._call_token()
        return await run(self._threads, partial(poller.poll, cancel=token), token, False)

    async def _run(self, call: Callable[..., T], timeout: float | None = None, delivers: bool = False) -> T:
        token = self._client._call_token(timeout, delivers=delivers)
        return await run(self._threads, partial(call, cancel=token), token, delivers)


def _threads(most: object) -> Threads:
    if not isinstance(most, int) or isinstance(most, bool):
        raise TypeError(f"max_threads must be a whole number, not {type(most).__name__}")
    if not 1 <= most <= 1024:
        reason, hint = f"max_threads is {most}", "Give a number from 1 to 1024."
        raise InvalidArgumentError(f"{reason}. {hint}", {"reason": reason, "hint": hint, "delivery": None})
    return Threads(most)


def _check(check: object, on_update: Callable[..., object] | None) -> None:
    """Checks the arguments that the native client does not get."""
    if not isinstance(check, bool):
        raise TypeError(f"check must be True or False, not {type(check).__name__}")
    if on_update is not None and not callable(on_update):
        raise TypeError(f"on_update must be callable, not {type(on_update).__name__}")


async def _notify(on_update: Callable[[T], object] | None, update: T) -> None:
    if on_update is not None:
        result = on_update(update)
        if isinstance(result, Awaitable):
            await result
