"""agentjob.aio: beside asyncio and trio, without threads that wait."""

import asyncio
import contextlib
import gc
import logging
import os
import pickle
import sys
import threading
import time

import pytest
from conftest import BUSY, PATIENCE, QUICK, SEEN, arrived, tried, unix, wait_for

import agentjob
from agentjob import aio
from agentjob.testing import Emulator

anyio = pytest.importorskip("anyio", reason="anyio is not installed")
trio = pytest.importorskip("trio", reason="trio is not installed")

#: What runs a coroutine function, the libraries' own ways and anyio's.
RUNNERS = {
    "asyncio": lambda main: asyncio.run(main()),
    "trio": lambda main: trio.run(main),
    "anyio on asyncio": lambda main: anyio.run(main, backend="asyncio"),
    "anyio on trio": lambda main: anyio.run(main, backend="trio"),
}


@pytest.fixture(params=RUNNERS.values(), ids=RUNNERS)
def run(request):
    return request.param


@pytest.fixture(autouse=True)
def no_noise(monkeypatch):
    """What asyncio only logs: exceptions that were never retrieved, callbacks that failed."""
    heard = []
    monkeypatch.setattr(asyncio.BaseEventLoop, "call_exception_handler", lambda loop, context: heard.append(context))
    yield
    gc.collect()
    assert heard == []


def client_of(emulator, max_threads=128, **options):
    return aio.AsyncClient.of(emulator.client(**options), max_threads=max_threads)


def our_threads(but=()):
    """The threads of clients, without those of earlier tests, which end when their client is collected."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("agentjob")}.difference(but)


def in_trio():
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


def notes(exception):
    return getattr(exception, "__notes__", [])


def test_every_method_does_what_the_blocking_one_does(emulator, run):
    emulator.reset(work_ms=SEEN)

    async def main():
        async with client_of(emulator) as client:
            sent = await client.send_message("job_demo", "go")
            assert (sent["id"], sent["status"]) == ("job_demo", "active")
            assert (await client.wait("job_demo", **QUICK))["status"] == "completed"
            assert (await client.get_job("job_demo"))["status"] == "completed"
            created = await client.create_job("new")
            seen = []
            done = await client.send_and_wait(created["id"], "more", on_update=seen.append, **QUICK)
            assert [job["status"] for job in seen] == ["active", "completed"] and seen[-1] == done
            await client.send_message("job_demo", "again")
            watched = [job["status"] async for job in client.watch("job_demo", **QUICK)]
            assert watched == ["active", "completed"]
        assert client.closed
        with pytest.raises(agentjob.ClosedError):
            await client.get_job("job_demo")

    run(main)
    assert [message["prompt"] for message in emulator.ledger()] == ["go", "new", "more", "again"]


def test_errors_are_the_blocking_clients_own(emulator, run):
    async def main():
        client = client_of(emulator)
        with pytest.raises(agentjob.NotFoundError) as caught:
            await client.send_message("nobody", "go")
        assert caught.value.delivery == "rejected"
        with pytest.raises(agentjob.InvalidArgumentError, match="prompt is empty"):
            await client.send_message("job_demo", "")
        with pytest.raises(TypeError, match="check must be True or False, not int"):
            await client.wait("job_demo", check=1)
        with pytest.raises(TypeError, match="on_update must be callable, not str"):
            await client.send_and_wait("job_demo", "go", on_update="print")
        with pytest.raises(agentjob.InvalidArgumentError, match="min_interval"):
            await client.send_and_wait("job_demo", "go", min_interval=float("nan"))
        with pytest.raises(agentjob.WaitTimeoutError) as caught:
            await client.send_and_wait("job_demo", "go", timeout=0.03, **QUICK)
        assert (caught.value.delivery, caught.value.job["status"]) == ("accepted", "active")
        emulator.reset(outcome="failed", work_ms=300)
        with pytest.raises(agentjob.JobFailedError) as caught:
            await client.send_and_wait("job_demo", "go", check=True, **QUICK)
        assert (caught.value.delivery, caught.value.job["status"]) == ("accepted", "failed")

    run(main)


def test_on_update_may_be_awaited_and_its_exception_ends_the_wait(emulator, run):
    async def main():
        client = client_of(emulator)
        seen = []

        async def on_update(job):
            await (trio if in_trio() else asyncio).sleep(0)
            seen.append(job["status"])

        await client.send_and_wait("job_demo", "go", on_update=on_update, **QUICK)
        assert seen == ["active", "completed"]
        with pytest.raises(ZeroDivisionError):
            await client.wait("job_demo", on_update=lambda job: 1 / 0, **QUICK)

    run(main)


def test_a_poller_resumes_from_its_text(emulator, run):
    async def main():
        client = client_of(emulator)
        await client.send_message("job_demo", "go")
        poller = client.resume(str(client.poller("job_demo", **QUICK)))
        while await poller.poll() is None:
            assert not poller.done and (poller.changed or poller.polls > 1)
        assert poller.done and poller.job["status"] == "completed" and poller.job_id == "job_demo"
        assert poller.due_in == 0 and poller.polls > 0 and poller.elapsed > 0 and poller.to_text() and repr(poller)

    run(main)


def test_nothing_of_it_is_loaded_before_it_is_used(script):
    running = script(
        """
        assert not {"asyncio", "agentjob.aio", "threading"} & set(sys.modules)
        agentjob.aio.AsyncClient
        assert {"asyncio", "agentjob.aio"} <= set(sys.modules) and "trio" not in sys.modules
        print("ready", flush=True)
        """
    )
    running.wait_until_ready()
    assert running.end() == ("", "", 0)


# Cancelling.


def stalled(**more):
    """An emulator that takes a message whole and never responds."""
    return Emulator(jobs=[{"id": "job_demo"}, BUSY], rules=[{"fault": {"do": "stall", "at": "request"}, **more}])


def cancelled(run, emulator, seconds, work):
    """How long a call lasts after it was cancelled, which is this many seconds after its request arrived; and the exception that it
    ended with."""
    before, moments = arrived(emulator), []

    async def call():
        try:
            await work()
        except BaseException as error:
            moments.append((time.monotonic(), error))
            raise

    async def main():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            while arrived(emulator) == before:
                await anyio.sleep(0.01)
            await anyio.sleep(seconds)
            moments.append(time.monotonic())
            tasks.cancel_scope.cancel()

    run(main)
    cancelled_at, (ended_at, error) = moments
    return ended_at - cancelled_at, error


@pytest.fixture(params=["anyio on asyncio", "anyio on trio"])
def group_run(request):
    return RUNNERS[request.param]


def test_a_wait_between_two_polls_is_cancelled_at_once(emulator, group_run):
    def attempt(n):
        client = client_of(emulator)
        took, error = cancelled(group_run, emulator, 0.1 * 2**n, lambda: client.wait("job_busy", min_interval=60))
        assert took < 0.1 and isinstance(error, anyio_cancelled(group_run)) and notes(error) == []

    tried(6, attempt)


def test_a_cancelled_message_says_whether_it_may_have_arrived(group_run):
    with stalled() as emulator:

        def attempt(_):
            client = client_of(emulator)
            took, error = cancelled(group_run, emulator, 0, lambda: client.send_message("job_demo", "go"))
            assert isinstance(error, anyio_cancelled(group_run))
            assert notes(error) == ["agentjob: the message may have arrived; check the job before you send it again"]
            assert took < 0.25

        tried(6, attempt)


def test_a_cancelled_wait_for_a_message_says_that_it_was_accepted(emulator, group_run):
    emulator.reset(work_ms=60_000)
    client = client_of(emulator)

    def attempt(n):
        waiting = lambda: client.send_and_wait("job_demo", "go", min_interval=60)  # noqa: E731
        took, error = cancelled(group_run, emulator, 0.1 * 2**n, waiting)
        assert took < 0.1 and error.delivery == "accepted"
        assert notes(error) == ["agentjob: the message was accepted; do not send it again"]

    tried(6, attempt)
    with pytest.raises(ZeroDivisionError) as caught:
        asyncio.run(client.send_and_wait("job_demo", "go", on_update=lambda job: 1 / 0))
    assert caught.value.delivery == "accepted" and len(notes(caught.value)) == 1


def test_other_tasks_run_while_a_cancellation_waits_for_its_thread():
    with stalled() as emulator:

        async def main():
            ticks, meanwhile = [], []

            async def tick():
                while True:
                    ticks.append(time.monotonic())
                    await asyncio.sleep(0.001)

            ticking = asyncio.ensure_future(tick())
            client = client_of(emulator)
            for n in range(20):
                task = asyncio.ensure_future(client.send_message("job_demo", "go"))
                while arrived(emulator) <= n:
                    await asyncio.sleep(0.001)
                before = len(ticks)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                meanwhile.append(len(ticks) - before)
            ticking.cancel()
            return meanwhile

        # A thread takes up to 50 ms to notice. A loop that waited for it would have ticked once at most.
        assert max(asyncio.run(main())) >= 3


def test_close_ends_a_wait_that_pauses(emulator, group_run):
    def attempt(n):
        client = client_of(emulator).with_options(timeout=5)
        before, moments = arrived(emulator), []

        async def wait():
            with pytest.raises(agentjob.ClosedError):
                await client.wait("job_busy", min_interval=60)
            moments.append(time.monotonic())

        async def main():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                while arrived(emulator) == before:
                    await anyio.sleep(0.01)
                await anyio.sleep(0.1 * 2**n)
                threading.Thread(target=client.close).start()
                moments.append(time.monotonic())

        group_run(main)
        assert moments[1] - moments[0] < 0.2

    tried(6, attempt)


def test_a_coroutine_that_is_closed_ends_its_call(emulator, script):
    emulator.reset(rules=[{"fault": {"do": "stall", "at": "request"}}])
    running = script(
        """
        import asyncio, threading
        loop = asyncio.new_event_loop()
        call = agentjob.aio.AsyncClient.of(client).send_message("job_demo", "go")
        threading.Thread(target=lambda: (sys.stdin.readline(), loop.call_soon_threadsafe(loop.stop))).start()
        task = loop.create_task(call)
        print("ready", flush=True)
        loop.run_forever()
        call.close()
        loop.close()
        """
    )
    running.wait_until_ready()
    wait_for(lambda: arrived(emulator) == 1, "the request is there")
    began = time.monotonic()
    running.go_on()
    running.end()
    assert time.monotonic() - began < 15, "the exit does not wait for an abandoned request"


def test_a_coroutine_without_a_loop_sends_nothing(emulator):
    call = client_of(emulator).send_message("job_demo", "go")
    with pytest.raises(RuntimeError, match="no running event loop"):
        call.send(None)
    assert emulator.ledger() == []


def test_a_cancellation_that_comes_twice_is_one():
    with stalled() as emulator:

        async def main():
            task = asyncio.ensure_future(client_of(emulator).send_message("job_demo", "go"))
            while not arrived(emulator):
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())


def test_a_time_limit_around_a_call_ends_it():
    with stalled() as emulator:

        async def main():
            began = time.monotonic()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client_of(emulator).get_job("job_demo"), 0.2)
            assert time.monotonic() - began < 10

        asyncio.run(main())


@unix
def test_ctrl_c_ends_a_program_that_waits(script):
    running = script(
        """
        import asyncio

        async def main():
            waiting = agentjob.aio.AsyncClient.of(client).wait("job_busy", min_interval=60)
            asyncio.get_running_loop().call_later(0.3, lambda: print("ready", flush=True))
            await waiting

        asyncio.run(main())
        """
    )
    running.wait_until_ready()
    began = time.monotonic()
    running.interrupt()
    _, err, status = running.end()
    assert time.monotonic() - began < 15 and err.endswith("KeyboardInterrupt\n") and status != 0


# The client itself.


def test_anything_but_a_client_is_refused(emulator):
    for wrong in (5, client_of(emulator)):
        with pytest.raises(TypeError, match="client must be an agentjob.Client, not"):
            aio.AsyncClient.of(wrong)
    with pytest.raises(TypeError, match="job_id must be a str, not int"):
        client_of(emulator).watch(5)


def test_a_subclass_stays_one(emulator):
    class Mine(aio.AsyncClient):
        pass

    assert type(Mine.of(emulator.client())) is type(Mine.of(emulator.client()).with_options(timeout=3)) is Mine


def test_the_tasks_context_reaches_on_event(emulator, run):
    import contextvars

    request, seen = contextvars.ContextVar("request"), []

    async def main():
        request.set("r1")
        await client_of(emulator, on_event=lambda event: seen.append(request.get())).get_job("job_demo")

    run(main)
    assert set(seen) == {"r1"}


def test_a_pollers_state_can_be_read_during_a_poll():
    with stalled() as emulator:

        async def main():
            client = client_of(emulator)
            poller = client.poller("job_demo", timeout=50)
            looking = asyncio.ensure_future(poller.poll())
            while emulator.requests()["total"] < 1:
                await asyncio.sleep(0.01)
            assert client.resume(str(poller)).job_id == poller.job_id == "job_demo"
            assert (poller.done, poller.changed, poller.polls, poller.job) == (False, False, 0, None)
            assert poller.due_in == 0 and poller.elapsed > 0 and "job_demo" in repr(poller)
            with pytest.raises(RuntimeError, match="this poller is already in use"):
                await poller.poll()
            client.close()
            with pytest.raises(agentjob.ClosedError):
                await looking

        asyncio.run(main())


def test_its_settings_are_the_blocking_clients(emulator, monkeypatch):
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    client = aio.AsyncClient(timeout=5, trust_env=False)
    assert (client.base_url, client.project_id, client.timeout) == (emulator.base_url, emulator.project_id, 5)
    assert client.max_retries == 2 and client.with_options(max_retries=0).max_retries == 0
    assert repr(client).startswith("AsyncClient(base_url=") and "AGENTJOB_API_KEY" in repr(client)
    copy = pickle.loads(pickle.dumps(client))
    assert (copy.timeout, copy.base_url) == (5, client.base_url)
    changed = client.with_options(timeout=7)
    changed.close()
    assert client.closed, "the connections are shared"


def test_one_client_serves_one_loop_after_another(emulator):
    client, others = client_of(emulator), our_threads()
    for _ in range(3):
        assert asyncio.run(client.get_job("job_demo"))["id"] == "job_demo"
    # Threads whose event loop is gone still end with the client.
    client.close()
    wait_for(lambda: not our_threads(others), "the client's threads are gone")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own(emulator):
    client = client_of(emulator)
    asyncio.run(client.get_job("job_demo"))
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os._exit(0 if asyncio.run(client.get_job("job_demo"))["id"] == "job_demo" else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    asyncio.run(client.get_job("job_demo"))


def anyio_cancelled(run):
    return asyncio.CancelledError if run is RUNNERS["anyio on asyncio"] else trio.Cancelled


async def by_gather(send, in_flight):
    task = asyncio.ensure_future(send())
    await in_flight()
    task.cancel()
    (error,) = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(error, asyncio.CancelledError) and not hasattr(error, "delivery"), "gather makes its own"


async def by_task_group(send, in_flight):
    with pytest.raises(BaseException) as raised:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(send())
            await in_flight()
            raise ZeroDivisionError
    assert [type(error) for error in raised.value.exceptions] == [ZeroDivisionError]


async def by_nursery(send, in_flight):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        await in_flight()
        nursery.cancel_scope.cancel()


def swallowed(emulator, caplog, swallow, sending):
    """What is logged of a message whose task is cancelled while it is in flight, by what swallows the cancellation."""
    caught, client = [], client_of(emulator)

    async def send():
        try:
            await sending(client)
        except BaseException as error:
            caught.append(error.delivery)
            raise

    async def in_flight():
        while not arrived(emulator):
            await (trio.sleep(0.005) if in_trio() else asyncio.sleep(0.005))

    with caplog.at_level(logging.INFO, "agentjob"):
        RUNNERS["trio" if swallow is by_nursery else "asyncio"](lambda: swallow(send, in_flight))
    (record,) = (record for record in caplog.records if record.agentjob["event"] == "cancelled")
    assert caught == [record.agentjob["delivery"]], "the coroutine itself can catch it"
    return record


@pytest.mark.parametrize("swallow", [by_gather, by_task_group, by_nursery], ids=["gather", "TaskGroup", "nursery"])
def test_the_verdict_of_a_message_is_logged_where_its_cancellation_is_swallowed(caplog, swallow):
    if swallow is by_task_group and not hasattr(asyncio, "TaskGroup"):
        pytest.skip("asyncio.TaskGroup came with Python 3.11")
    with stalled() as emulator:
        record = swallowed(emulator, caplog, swallow, lambda client: client.send_message("job_demo", "a secret plan"))
    assert record.agentjob == {"event": "cancelled", "operation": "send_message", "job_id": "job_demo", "delivery": "unknown"}
    assert (record.levelname, record.getMessage()) == (
        "WARNING",
        "message to job job_demo may have arrived: the task that sent it was cancelled. Check the job before you send it again.",
    )


def test_the_verdict_of_a_new_job_and_of_a_message_that_is_waited_for_is_logged(emulator, caplog):
    with stalled() as silent:
        record = swallowed(silent, caplog, by_gather, lambda client: client.create_job("a secret plan"))
    assert (record.levelname, record.getMessage()) == (
        "WARNING",
        "new job may have been created: the task that sent it was cancelled. Check the project's jobs before you create it again.",
    )
    caplog.clear()
    emulator.reset(work_ms=60_000)

    async def stop_waiting():
        client, seen = client_of(emulator), asyncio.Event()
        task = asyncio.ensure_future(client.send_and_wait("job_demo", "go", on_update=lambda _: seen.set(), min_interval=60))
        await seen.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with caplog.at_level(logging.INFO, "agentjob"):
        asyncio.run(stop_waiting())
    assert [(record.levelname, record.getMessage()) for record in caplog.records if record.agentjob["event"] == "cancelled"] == [
        ("INFO", "message to job job_demo was accepted, but the task that sent it was cancelled. Do not send it again.")
    ]


def test_an_exit_in_a_callback_has_the_verdict_and_is_no_cancellation(emulator, caplog, run):
    async def main():
        client, leave = client_of(emulator), lambda _: sys.exit(7)
        waits = [client.send_and_wait("job_demo", "go", **{name: leave}) for name in ("on_update", "meta")]
        for call in (*waits, client.send_message("job_demo", "go", meta=leave), client.create_job("go", meta=leave)):
            with pytest.raises(SystemExit) as exit:
                await call
            assert (exit.value.code, exit.value.delivery) == (7, "accepted")

    with caplog.at_level(logging.INFO, "agentjob"):
        run(main)
    assert "cancelled" not in caplog.text


@pytest.mark.parametrize("own", [property(lambda _: "not_sent"), {"of": "mine"}], ids=["verdict", "dict"])
def test_a_cancelled_message_is_unknown_if_its_callback_raised_what_has_its_own_delivery(emulator, own):
    class Mine(Exception):
        delivery = own

    async def main():
        loop, is_cancelled = asyncio.get_running_loop(), threading.Event()

        def cancel():
            task.cancel()
            loop.call_soon(loop.call_soon, is_cancelled.set)

        def on_event(event):
            if event["event"] == "response":
                loop.call_soon_threadsafe(cancel)
                assert is_cancelled.wait(PATIENCE)
                raise Mine

        task = asyncio.ensure_future(client_of(emulator, on_event=on_event).send_message("job_demo", "go"))
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        assert cancelled.value.delivery == "unknown"

    asyncio.run(main())


def test_a_coroutine_that_is_closed_after_its_message_is_logged(emulator, caplog):
    emulator.reset(work_ms=60_000)
    loop = asyncio.new_event_loop()
    waiting = client_of(emulator).send_and_wait("job_demo", "go", on_update=lambda _: loop.stop(), min_interval=60)
    task = loop.create_task(waiting)
    loop.run_forever()
    with caplog.at_level(logging.INFO, "agentjob"):
        waiting.close()
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()
    assert "was accepted, but the task that sent it was cancelled" in caplog.text
