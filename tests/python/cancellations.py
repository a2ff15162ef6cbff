"""How a task is cancelled from beside it, in each library: each way runs `main` until `ready`, then cancels it."""

import asyncio
import sys

import pytest
from conftest import PATIENCE
from grace import Timer
from test_aio import anyio, in_trio, trio


async def until(condition):
    with Timer() as timer:
        while not condition():
            assert timer.now() < PATIENCE
            await (trio.sleep(0.005) if in_trio() else asyncio.sleep(0.005))


def by_task_cancel(main, ready):
    async def beside():
        task = asyncio.ensure_future(main())
        await until(ready)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(beside())


def by_asyncio_timeout(main, ready):
    async def timed():
        with pytest.raises(asyncio.TimeoutError):
            async with asyncio.timeout(None) as limit:

                async def end():
                    await until(ready)
                    limit.reschedule(0)

                ending = asyncio.ensure_future(end())
                await main()
        await ending

    asyncio.run(timed())


def by_trio_scope(main, ready):
    async def beside():
        async with trio.open_nursery() as nursery:

            async def end():
                await until(ready)
                nursery.cancel_scope.cancel()

            nursery.start_soon(end)
            await main()

    trio.run(beside)


def by_trio_deadline(main, ready):
    async def timed():
        with trio.move_on_after(PATIENCE) as scope:
            async with trio.open_nursery() as nursery:

                async def end():
                    await until(ready)
                    scope.deadline = trio.current_time()

                nursery.start_soon(end)
                await main()
        assert scope.cancelled_caught

    trio.run(timed)


def by_anyio_scope(backend):
    def cancel(main, ready):
        async def beside():
            async with anyio.create_task_group() as tasks:

                async def end():
                    await until(ready)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(end)
                await main()

        anyio.run(beside, backend=backend)

    return cancel


CANCELS = {
    "task.cancel()": by_task_cancel,
    "trio's cancel scope": by_trio_scope,
    "trio's deadline": by_trio_deadline,
    "anyio's cancel scope on asyncio": by_anyio_scope("asyncio"),
    "anyio's cancel scope on trio": by_anyio_scope("trio"),
}
if sys.version_info >= (3, 11):
    CANCELS["asyncio.timeout()"] = by_asyncio_timeout
