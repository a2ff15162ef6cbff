"""agentjob.once for asyncio: the same calls, on the client's threads."""

import asyncio
import sys
import threading

import pytest
from conftest import PATIENCE, QUICK
from steps import POST, Wrapped, prompts

import agentjob
from agentjob.aio import AsyncClient
from agentjob.once import AsyncOnce, Once


def test_asyncio_sends_each_message_once_too(emulator, client, database):
    async def main():
        async with AsyncClient.of(client) as service:
            once = AsyncOnce(service, database)
            records = await asyncio.gather(*(once.send_message(f"k{n % 5}", "job_demo", f"p{n % 5}") for n in range(20)))
            job = await once.wait("k1", **QUICK)
            again = await once.wait("k1", **QUICK)
            return {record["id"] for record in records}, job["status"], again["prLink"] == job["prLink"], len(await once.steps())

    assert asyncio.run(main()) == ({"job_demo"}, "completed", True, 5)
    assert prompts(emulator) == [f"p{n}" for n in range(5)]


def test_cancelling_a_task_records_what_became_of_the_message(emulator, client, database):
    emulator.reset(rules=[{**POST, "delay_ms": 60_000}])

    async def main():
        async with AsyncClient.of(client) as service:
            once = AsyncOnce(service, database)
            task = asyncio.ensure_future(once.send_message("k", "job_demo", "p"))
            while not emulator.requests()["requests"]:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            cancelled = caught.value if sys.version_info >= (3, 11) else caught.value.__context__  # await raises another one there
            assert cancelled.delivery == "unknown"
            (step,) = await once.steps()
            await once.resolve("k", "arrived")
            return step["state"], (await once.steps())[0]["state"]

    assert asyncio.run(main()) == ("unknown", "accepted")


def test_a_message_that_timed_out_in_the_queue_of_asyncio_is_not_taken(emulator, client, database):
    emulator.reset(rules=[{"method": "GET", "delay_ms": 1500}])

    async def main():
        async with AsyncClient.of(client.with_options(timeout=0.5), max_threads=1) as service:
            once = AsyncOnce(service, database)
            polls = asyncio.ensure_future(service.get_job("job_demo", timeout=5))
            await asyncio.sleep(0.05)
            with pytest.raises(agentjob.RequestTimeoutError) as caught:
                await once.send_message("k", "job_demo", "p")
            await polls
            return caught.value.delivery, await once.steps()

    assert asyncio.run(main()) == ("not_sent", [])


def test_no_statement_is_executed_on_the_loop_s_thread(emulator, client, database):
    """Also if it queues for longer than the client's timeout."""
    emulator.reset(rules=[{"method": "GET", "delay_ms": 1500}])
    threads = []

    class Seen(Wrapped):
        def get(self, *arguments):
            threads.append(threading.current_thread())
            return self.store.get(*arguments)

    async def main():
        async with AsyncClient.of(client.with_options(timeout=0.5), max_threads=1) as service:
            once = AsyncOnce(service, Seen(database))
            polls = asyncio.ensure_future(service.get_job("job_demo", timeout=5))
            await asyncio.sleep(0.05)
            steps = await once.steps()
            await polls
            return steps

    assert asyncio.run(main()) == [] and len(threads) == 1 and threading.current_thread() not in threads
    assert prompts(emulator) == []


LIST = [(f"job {n}", f"p{n}", f"k{n}") for n in range(20)]
SLOW = {"method": "POST", "delay_ms": 500, "status": 200, "json": {"id": "job", "status": "active"}, "process": True}


@pytest.fixture
def jobs(emulator):
    def reset(**config):
        emulator.reset(jobs=[{"id": job} for job, *_ in LIST], hourly_limit=100_000, work_ms=50, **config)

    reset()
    return reset


async def collects(once, **options):
    return [outcome async for outcome in once.send_all(LIST, **options)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_list_is_worked_off_in_asyncio_and_trio(emulator, client, database, jobs, backend):
    async def main():
        async with AsyncClient.of(client) as service:
            once = AsyncOnce(service, database)
            outcomes = await collects(once, wait=True, **QUICK)
            earlier = await collects(once)
            with pytest.raises(agentjob.InvalidArgumentError):
                await collects(once, concurrency=0)
            return {outcome["job"]["status"] for outcome in outcomes}, {outcome["earlier"] for outcome in earlier}

    runs = asyncio.run if backend == "asyncio" else pytest.importorskip("trio").run
    assert runs(main() if backend == "asyncio" else main) == ({"completed"}, {True})
    assert prompts(emulator) == sorted(prompt for _, prompt, _ in LIST)


async def in_flight(emulator):
    while len(emulator.requests()["requests"]) < 4:
        await asyncio.sleep(0.01)


async def cancelled(once, emulator):
    task = asyncio.ensure_future(collects(once, grace=PATIENCE))
    await in_flight(emulator)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def left(once, emulator):
    outcomes = once.send_all(LIST, grace=PATIENCE)
    await outcomes.__anext__()
    await outcomes.aclose()


async def timed_out(once, emulator):
    task = asyncio.ensure_future(collects(once, grace=PATIENCE))
    await in_flight(emulator)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(task, 0.01)


@pytest.mark.parametrize("ends", [cancelled, left, timed_out])
def test_what_is_in_flight_when_a_list_ends_early_gets_its_responses(emulator, client, database, jobs, ends):
    jobs(rules=[SLOW])

    async def main():
        async with AsyncClient.of(client) as service:
            once = AsyncOnce(service, database)
            await ends(once, emulator)
            return {step["state"] for step in await once.steps()}

    assert asyncio.run(main()) == {"accepted"}
    assert len(prompts(emulator)) < 20
    jobs()
    assert len(list(Once(emulator.client(), database).send_all(LIST))) == 20


def test_asyncio_may_run_the_loop_of_a_wait_itself_too(emulator, client, database):
    async def main():
        async with AsyncClient.of(client) as service:
            once = AsyncOnce(service, database)
            await once.send_message("k", "job_demo", "p")
            state = str(await once.poller("k", **QUICK, settle=1.0))
            while not await (poller := service.resume(state)).poll():
                state = str(poller)
                await asyncio.sleep(poller.due_in)
            return (await once.wait("k", poller=str(poller), **QUICK, settle=600))["status"]

    assert asyncio.run(main()) == "completed"
