"""AsyncClient.send_all, beside asyncio and trio."""

import asyncio
import contextlib
import gc
import threading
import time

import pytest
from conftest import PATIENCE, QUICK, arrived, wait_for
from test_aio import client_of, no_noise, our_threads, run, trio

import agentjob
from agentjob import aio, types
from agentjob._aio.event_loop import in_trio
from agentjob.testing import Emulator

__all__ = ["no_noise", "run"]

STALL = {"method": "POST", "fault": {"do": "stall", "at": "request"}}
JOBS = [{"id": f"job_{n}"} for n in range(1, 41)]


@pytest.fixture
def emulator():
    with Emulator(work_ms=300, jobs=JOBS, hourly_limit=1000) as emulator:
        yield emulator


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


def messages(count):
    return [(f"job_{n}", f"prompt {n}") for n in range(1, count + 1)]


async def sleep(seconds):
    await (trio.sleep(seconds) if in_trio() else asyncio.sleep(seconds))


@contextlib.asynccontextmanager
async def beside(work):
    """Runs `work` beside the body, in either library; the body is handed what cancels it."""
    if in_trio():
        async with trio.open_nursery() as nursery:
            scope = trio.CancelScope()
            ended = trio.Event()

            async def scoped():
                with scope:
                    await work()
                ended.set()

            nursery.start_soon(scoped)

            async def cancel():
                scope.cancel()
                await ended.wait()

            yield cancel
    else:
        task = asyncio.ensure_future(work())

        async def cancel():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        yield cancel
        with contextlib.suppress(asyncio.CancelledError):
            await task


def test_a_batch_does_what_the_blocking_one_does(emulator, run, journal):
    async def main():
        async with client_of(emulator) as client:
            updates = []
            batch = client.send_all(messages(5), journal=journal, wait=True, on_update=updates.append, **QUICK)
            assert repr(batch) == "<AsyncBatch>" and not batch.finished and batch.progress()["items"] == 0
            keys = batch.progress().keys()
            outcomes = [outcome async for outcome in batch]
            assert sorted(o["item"] for o in outcomes) == [1, 2, 3, 4, 5] and batch.finished
            assert {o["job"]["status"] for o in outcomes} == {"completed"}
            assert sorted(update["item"] for update in updates if update["event"] == "accepted") == [1, 2, 3, 4, 5]
            assert batch.progress()["done"] == 5 and repr(batch) == "<AsyncBatch: 5 of 5 done, finished>"
            assert batch.progress().keys() == keys == types.BatchProgress.__annotations__.keys()
            async with client.send_all(messages(5), journal=journal) as again:
                assert [o["earlier"] async for o in again] == [True] * 5
            with pytest.raises(agentjob.InvalidArgumentError, match="^item 1: prompt is empty"):
                await client.send_all([("job_1", "")], journal=journal).__anext__()
            with pytest.raises(TypeError, match="on_update must be callable, not str"):
                client.send_all([], journal=journal, on_update="print")

    run(main)
    assert len(emulator.ledger()) == 5


def test_on_update_is_awaited_on_the_loops_thread_and_its_exception_stops_the_batch(emulator, run, journal):
    class Enough(Exception):
        pass

    # Forty of them take 40 s.
    emulator.reset(rules=[{"method": "POST", "status": 200, "delay_ms": 1000, "from": 2}], jobs=JOBS, hourly_limit=1000)

    async def main():
        here, heard = threading.get_ident(), []

        async def on_update(update):
            assert threading.get_ident() == here
            await sleep(0.01)
            heard.append(update["item"])
            raise Enough

        batch = client_of(emulator).send_all(messages(40), journal=journal, wait=True, concurrency=1, on_update=on_update)
        with pytest.raises(Enough):
            await batch.__anext__()
        await batch.aclose()
        assert len(heard) == 1 and batch.finished

    run(main)
    assert 1 <= len(emulator.ledger()) < 40


def test_repeated_messages_are_the_first_update_and_metadata_comes_back(emulator, run, journal):
    async def main():
        updates = []
        items = [{"job_id": "job_1", "prompt": "p", "extra": [n]} for n in range(2)]

        async def on_update(update):
            updates.append((update["event"], update["count"], update["first_item"]))

        async with client_of(emulator) as client:
            batch = client.send_all(items, journal=journal, on_update=on_update)
            assert len(batch) == 0 and batch
            async with batch:
                assert len(batch) == 2
                outcomes = [outcome async for outcome in batch]
        assert updates == [("repeated", 1, 1)] and [o["extra"] for o in outcomes] == [[0], [1]]

    run(main)


@pytest.mark.parametrize("entered", [True, False], ids=["async with", "the first iteration"])
def test_repeated_messages_are_heard_of_before_any_is_sent(emulator, run, journal, entered):
    async def main():
        heard = []

        async def on_update(update):
            await sleep(0.05)
            heard.append((update["event"], update["progress"]["left"], journal.exists(), len(emulator.ledger())))

        batch = client_of(emulator).send_all(iter([("job_1", "p")] * 2), journal=journal, on_update=on_update)
        async with batch if entered else contextlib.AsyncExitStack():
            assert len(heard) == entered
            assert len([outcome async for outcome in batch]) == 2
        assert heard == [("repeated", 2, False, 0)], "once"

    run(main)
    assert len(emulator.ledger()) == 2


@pytest.mark.parametrize("entered", [True, False], ids=["async with", "the first iteration"])
def test_an_exception_about_repeated_messages_leaves_all_of_them_unsent(emulator, run, journal, entered):
    def refuse(update):
        raise ValueError(update["event"])

    async def main():
        batch = client_of(emulator).send_all([("job_1", "p")] * 2, journal=journal, on_update=refuse)
        with pytest.raises(ValueError, match="repeated"):
            await (batch.__aenter__() if entered else batch.__anext__())
        assert batch.finished and [outcome async for outcome in batch] == []

    run(main)
    assert emulator.ledger() == [] and not journal.exists()


def test_other_tasks_run_and_requests_have_their_turn_while_a_batch_waits(emulator, run, journal):
    async def main():
        # Forty that wait for an hour each leave the client's 32 threads alone.
        client = client_of(emulator)
        async with contextlib.AsyncExitStack() as stack:
            for n in range(40):
                batch = client.send_all(messages(3), journal=f"{journal} {n}", rate="2/h")

                async def drain(batch=batch):
                    async for _ in batch:
                        pass

                stack.push_async_callback(await stack.enter_async_context(beside(drain)))
            await sleep(0.5)
            begun = time.monotonic()
            assert (await client.get_job("job_1"))["id"] == "job_1"
            assert time.monotonic() - begun < PATIENCE

    run(main)


def test_a_task_that_is_cancelled_stops_its_batch_and_leaves_no_thread(emulator, run, journal):
    emulator.reset(rules=[STALL], jobs=JOBS, hourly_limit=1000)
    others = our_threads()

    async def main():
        batch = client_of(emulator).send_all(messages(40), journal=journal, concurrency=2, grace=0.3)
        async with beside(batch.__anext__) as cancel:
            while arrived(emulator) < 2:
                await sleep(0.01)
            begun = time.monotonic()
            await cancel()
            # 150 ms, on a machine that is not busy. The service would be silent for 30 s.
            assert time.monotonic() - begun < 20
        await batch.aclose()
        assert batch.finished and len(agentjob.batch_status(journal)["unknown"]) == 2

    run(main)
    assert emulator.requests()["total"] == 2
    wait_for(lambda: not our_threads(others), "no thread is left")


def test_outcomes_before_a_cancellation_are_not_lost(emulator, run, journal):
    async def main():
        batch = client_of(emulator).send_all(messages(10), journal=journal, rate="4/h")
        heard = []

        async def listen():
            async for outcome in batch:
                heard.append(outcome["item"])

        async with beside(listen) as cancel:
            while batch.progress()["done"] < 4:
                await sleep(0.01)
            await cancel()
        heard += [outcome["item"] async for outcome in batch]
        assert sorted(heard) == [1, 2, 3, 4] and batch.finished

    run(main)


def test_two_tasks_do_not_step_one_batch(emulator, run, journal):
    async def main():
        async with client_of(emulator).send_all(messages(3), journal=journal, rate="2/h") as batch:
            await batch.__anext__()
            await batch.__anext__()
            async with beside(batch.__anext__) as cancel:
                await sleep(0.05)
                with pytest.raises(RuntimeError, match="^this batch is already in use$"):
                    await batch.__anext__()
                await cancel()

    run(main)


def test_stop_and_a_closed_client_end_it(emulator, run, journal):
    async def main():
        client = client_of(emulator)
        never = client.send_all(messages(3), journal=journal)
        never.stop()
        assert never.finished and [outcome async for outcome in never] == [] and not journal.exists()
        await never.aclose()
        stopped = client.send_all(messages(5), journal=journal, rate="2/h")
        await stopped.__anext__()
        stopped.stop()
        assert len([outcome async for outcome in stopped]) == 1
        batch = client.send_all(messages(5), journal=f"{journal}2", rate="2/h")
        await batch.__anext__()
        await batch.__anext__()
        client.close()
        with pytest.raises(agentjob.ClosedError):
            await batch.__anext__()
        with pytest.raises(StopAsyncIteration):
            await batch.__anext__()

    run(main)


def test_a_batch_that_is_let_go_of_stops(emulator, run, journal):
    async def main():
        async for _ in client_of(emulator).send_all(messages(40), journal=journal, rate="3/h", grace=0.5):
            break
        gc.collect()

    run(main)
    wait_for(lambda: not agentjob.batch_status(journal)["running"], "it is over")
