"""A batch that ends early gets the responses that are in flight, for its grace: the rows of the table in docs/reference/batches.md in asyncio, trio
and anyio."""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import gc
import sys
import time

import pytest
from cancellations import CANCELS, until
from conftest import tried, wait_for
from grace import (
    GRACE,
    IN_FLIGHT,
    ITEMS,
    LATE,
    SILENT,
    SLOW,
    Timer,
    all_but_the_first,
    arrived,
    in_flight,
    interrupt_until_gone,
    is_all_accepted,
    is_all_unknown,
    is_dropped,
    prepare,
    sent,
)
from test_aio import RUNNERS, client_of, in_trio, no_noise, run, trio

import agentjob

__all__ = ["no_noise", "run"]


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


@pytest.fixture
def begin(emulator, journal):
    """A batch that begins with its first step; only its first message gets a response soon."""

    def begin(client, rules=SLOW, grace=GRACE):
        prepare(emulator, rules)
        return client.send_all(ITEMS, journal=journal, concurrency=IN_FLIGHT, grace=grace)

    return begin


class Enough(Exception):
    pass


def in_a_client(client, batch):
    async def main():
        async with client:
            async for _ in batch:
                pass

    return main


def in_a_batch(client, batch):
    async def main():
        async with batch:
            async for _ in batch:
                pass

    return main


def in_nothing(client, batch):
    async def main():
        async for _ in batch:
            pass

    return main


@pytest.mark.parametrize("cancel", CANCELS.values(), ids=CANCELS)
@pytest.mark.parametrize("loop", [in_a_client, in_a_batch])
def test_a_cancellation_waits_for_the_responses_in_flight(emulator, begin, journal, loop, cancel):
    client = client_of(emulator)
    batch = begin(client)
    cancel(loop(client, batch), lambda: in_flight(emulator))
    is_all_accepted(emulator, journal)


@pytest.mark.parametrize("cancel", CANCELS.values(), ids=CANCELS)
def test_a_cancellation_while_a_batch_is_entered_waits_for_the_responses_in_flight(emulator, begin, journal, cancel):
    batch, tokens, entered = begin(client_of(emulator)), [], []
    open_batch, begin_batch = batch._open, batch._begin

    def open_with(token):
        tokens.append(token)
        open_batch(token)

    def begin_and_hold(items):
        begun = begin_batch(items)
        arrived(emulator)
        tokens.append("sending")
        # The statement is not entered before the cancellation has come.
        wait_for(lambda: tokens[0].cancelled, "the cancellation has come")
        return begun

    batch._open, batch._begin = open_with, begin_and_hold

    async def main():
        async with batch:
            entered.append(batch)

    cancel(main, lambda: len(tokens) == 2)
    # Python leaves no statement that it did not enter.
    assert not entered and batch.finished
    is_all_accepted(emulator, journal)
    assert not agentjob.batch_status(journal)["running"]


@pytest.mark.parametrize("cancel", CANCELS.values(), ids=CANCELS)
def test_after_a_cancellation_out_of_a_bare_loop_iterating_again_awaits_them(emulator, begin, journal, cancel):
    def attempt(_):
        journal.unlink(missing_ok=True)
        client = client_of(emulator)
        batch = begin(client, LATE)
        cancel(in_nothing(client, batch), lambda: in_flight(emulator))
        accepted = agentjob.batch_status(journal)["progress"]["accepted"]

        async def rest():
            return [outcome["delivery"] async for outcome in batch]

        # Iterating again returns the outcomes.
        assert set(asyncio.run(rest())) == {"accepted"}
        is_all_accepted(emulator, journal)
        assert accepted == 1, "it is raised at once"

    tried(3, attempt)


@pytest.mark.parametrize("grace", [0, 0.3])
@pytest.mark.parametrize("cancel", CANCELS.values(), ids=CANCELS)
@pytest.mark.parametrize("loop", [in_a_client, in_a_batch])
def test_a_service_that_never_responds_is_given_up_after_the_grace(emulator, begin, journal, loop, cancel, grace):
    def attempt(_):
        journal.unlink(missing_ok=True)
        client = client_of(emulator)
        batch = begin(client, SILENT, grace)
        ended = []

        def ready():
            if in_flight(emulator):
                ended.append(Timer().__enter__())
            return ended

        cancel(loop(client, batch), ready)
        took = ended[0].now()
        del batch
        gc.collect()
        wait_for(lambda: not agentjob.batch_status(journal)["running"], "it is gone")
        is_all_unknown(emulator, journal)
        assert grace <= took < grace + 2

    tried(3, attempt)


def test_break_awaits_them(emulator, run, begin, journal):
    async def main():
        async with client_of(emulator) as client:
            async for _ in begin(client):
                await until(lambda: in_flight(emulator))
                break
        is_all_accepted(emulator, journal)

    run(main)


def test_the_client_s_aclose_awaits_them(emulator, run, begin, journal):
    async def main():
        client = client_of(emulator)
        batch = begin(client)
        async for _ in batch:
            await until(lambda: in_flight(emulator))
            break
        await client.aclose()
        is_all_accepted(emulator, journal)
        with pytest.raises(agentjob.ClosedError):
            await client.get_job("job_demo")
        await client.aclose()

    run(main)


def test_an_exception_awaits_them(emulator, run, begin, journal):
    async def main():
        with pytest.raises(Enough):
            async with client_of(emulator) as client:
                batch = begin(client)
                async for _ in batch:
                    await until(lambda: in_flight(emulator))
                    raise Enough
        is_all_accepted(emulator, journal)
        with pytest.raises(agentjob.ClosedError):
            async for outcome in batch:
                assert outcome["delivery"] == "accepted"

    run(main)


def test_break_and_an_exception_in_an_async_with_batch_await_them(emulator, run, begin, journal):
    async def main():
        async with begin(client_of(emulator)) as batch:
            async for _ in batch:
                await until(lambda: in_flight(emulator))
                break
        is_all_accepted(emulator, journal)
        journal.unlink()
        with pytest.raises(Enough):
            async with begin(client_of(emulator)) as batch:
                async for _ in batch:
                    await until(lambda: in_flight(emulator))
                    raise Enough
        is_all_accepted(emulator, journal)

    run(main)


def test_break_out_of_a_bare_loop_leaves_them_unknown_to_the_next_run(emulator, run, begin, journal):
    client = client_of(emulator)

    async def main():
        async for _ in begin(client, SILENT):
            await until(lambda: in_flight(emulator))
            break
        gc.collect()

    with Timer() as timer:
        run(main)
    assert timer.took < GRACE / 2
    is_dropped(emulator, journal)
    again = emulator.client().send_all(ITEMS, journal=journal, rate="1/d")
    assert sorted(next(again)["delivery"] for _ in range(1 + IN_FLIGHT)) == ["accepted"] + ["unknown"] * IN_FLIGHT


def test_a_thread_that_has_returned_an_outcome_holds_the_batch_no_longer(emulator, begin, journal, monkeypatch):
    set_result = concurrent.futures.Future.set_result

    def and_stalls(future, result):
        set_result(future, result)
        time.sleep(1)

    # Longer than it takes to see that the journal is locked.
    monkeypatch.setattr(concurrent.futures.Future, "set_result", and_stalls)
    test_break_out_of_a_bare_loop_leaves_them_unknown_to_the_next_run(emulator, RUNNERS["asyncio"], begin, journal)


@pytest.mark.parametrize("loop", [in_a_client, in_a_batch])
def test_a_coroutine_that_is_closed_ends_the_grace(emulator, begin, journal, loop):
    client = client_of(emulator)
    batch = begin(client, SILENT)

    async def main():
        coroutine = loop(client, batch)()
        # Driven by hand for one step, like a task, and then dropped.
        context = contextvars.copy_context()
        awaited = context.run(coroutine.send, None)
        while not in_flight(emulator):
            if awaited.done():
                awaited = context.run(coroutine.send, None)
            await asyncio.sleep(0.005)
        with Timer() as timer:
            coroutine.close()
        assert timer.took < GRACE / 2

    asyncio.run(main())
    wait_for(lambda: len(agentjob.batch_status(journal)["unknown"]) == IN_FLIGHT, "the messages are given up")
    del batch
    gc.collect()
    wait_for(lambda: not agentjob.batch_status(journal)["running"], "it is gone")
    is_all_unknown(emulator, journal)


def test_close_does_not_block_and_the_loop_awaits_them(emulator, run, begin, journal):
    async def main():
        client = client_of(emulator)
        batch = begin(client, LATE)
        await batch.__anext__()
        await until(lambda: in_flight(emulator))
        client.close()
        accepted = agentjob.batch_status(journal)["progress"]["accepted"]
        rest = []
        with pytest.raises(agentjob.ClosedError):
            async for outcome in batch:
                rest.append(outcome["delivery"])
        assert rest == all_but_the_first(emulator)
        is_all_accepted(emulator, journal)
        assert accepted == 1, "it did not wait"

    def attempt(_):
        journal.unlink(missing_ok=True)
        run(main)

    tried(3, attempt)


@pytest.mark.parametrize("loop", [in_a_client, in_a_batch])
def test_a_second_cancellation_of_an_asyncio_task_ends_the_grace(emulator, begin, journal, loop):
    client = client_of(emulator)
    batch = begin(client, SILENT)

    async def main():
        task = asyncio.ensure_future(loop(client, batch)())
        await until(lambda: in_flight(emulator))
        task.cancel()
        await asyncio.wait([task], timeout=0.5)
        assert not task.done(), "it awaits the responses"
        with Timer() as timer:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        assert timer.took < GRACE / 2

    asyncio.run(main())
    del batch
    gc.collect()
    wait_for(lambda: not agentjob.batch_status(journal)["running"], "it is gone")
    is_all_unknown(emulator, journal)


def test_a_cancellation_of_aclose_ends_the_grace(emulator, run, begin, journal):
    async def main():
        batch = begin(client_of(emulator), SILENT)
        await batch.__anext__()
        await until(lambda: in_flight(emulator))
        with Timer() as timer:
            if in_trio():
                with trio.move_on_after(0.1):
                    await batch.aclose()
            else:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(batch.aclose(), 0.1)
        assert timer.took < GRACE / 2 and batch.finished
        is_all_unknown(emulator, journal)

    run(main)


def test_an_aclose_that_is_cancelled_before_it_has_a_thread_ends_the_grace(emulator, run, begin, journal):
    async def main():
        batch = begin(client_of(emulator), SILENT)
        await batch.__anext__()
        await until(lambda: in_flight(emulator))
        if in_trio():
            with trio.CancelScope() as scope:
                scope.cancel()
                await batch.aclose()
        else:
            # It reaches the task where that waits next.
            asyncio.current_task().cancel()
            with pytest.raises(asyncio.CancelledError):
                await batch.aclose()
        is_all_unknown(emulator, journal)

    with contextlib.suppress(asyncio.CancelledError):
        run(main)


def test_leaving_a_client_ends_a_batch_that_was_dropped_and_idle(emulator, run, begin, journal):
    async def main():
        prepare(emulator, [])
        async with client_of(emulator) as client:
            async for _ in client.send_all(ITEMS, journal=journal, rate="1/d"):
                break
            gc.collect()
        wait_for(lambda: not agentjob.batch_status(journal)["running"], "the journal is free")

    run(main)


#: Ctrl-C works in the program, however the tests were started.
PROGRAM = """
import asyncio, signal, trio, anyio
from agentjob.aio import AsyncClient
from grace import *
signal.signal(signal.SIGINT, signal.default_int_handler)

async def main():
    async with AsyncClient.of(client) as service:
        async for outcome in service.send_all(ITEMS, journal={journal!r}, concurrency=IN_FLIGHT, grace=GRACE):
            if outcome["item"] == 1:
                print("ready", flush=True)

{run}
"""
RUNS = {
    "asyncio": "asyncio.run(main())",
    "trio": "trio.run(main)",
    "anyio on asyncio": "anyio.run(main, backend='asyncio')",
    "anyio on trio": "anyio.run(main, backend='trio')",
}


@pytest.fixture
def program(emulator, script, monkeypatch, journal):
    monkeypatch.setenv("PYTHONPATH", __file__.rpartition("/")[0])

    def start(way, rules):
        prepare(emulator, rules)
        running = script(PROGRAM.format(journal=str(journal), run=RUNS[way]))
        running.wait_until_ready()
        arrived(emulator)
        return running

    return start


@pytest.mark.parametrize("way", RUNNERS)
def test_ctrl_c_awaits_them(emulator, program, journal, way):
    running = program(way, SLOW)
    running.interrupt()
    out, err, _ = running.end()
    # anyio's own runner, for Pythons whose asyncio has none, leaves it at the cancellation.
    last = "CancelledError" if way == "anyio on asyncio" and sys.version_info < (3, 11) else "KeyboardInterrupt"
    assert out == "" and err.rstrip().endswith(last), err
    is_all_accepted(emulator, journal)


@pytest.mark.parametrize("way", RUNNERS)
def test_a_second_ctrl_c_ends_the_grace_at_once(emulator, program, journal, way):
    running = program(way, SILENT)
    with Timer() as timer:
        interrupt_until_gone(running)
    assert timer.took < GRACE / 2
    assert sent(emulator) == 1 + IN_FLIGHT
    assert len(agentjob.batch_status(journal)["unknown"]) == IN_FLIGHT
