"""agentjob.aio with more requests than threads: the time in the queue is the call's."""

import asyncio
import collections
import contextlib
import json
import math
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import agentjob
from agentjob import aio
from agentjob.testing import Emulator
from conftest import BUSY, PATIENCE, arrived, tried, wait_for

anyio = pytest.importorskip("anyio", reason="anyio is not installed")
trio = pytest.importorskip("trio", reason="trio is not installed")
try:
    import uvloop
except ImportError:
    uvloop = None

#: What runs a coroutine function.
RUNNERS = {
    "asyncio": lambda main: asyncio.run(main()),
    "trio": trio.run,
    "anyio on asyncio": lambda main: anyio.run(main, backend="asyncio"),
    "anyio on trio": lambda main: anyio.run(main, backend="trio"),
    "uvloop": lambda main: uvloop.run(main()),
}
STALL = {"fault": {"do": "stall", "at": "request", "ms": 1000 * 4 * PATIENCE}}
#: How much later the last of a thousand calls may end, in the best of `TRIES`: a busy machine needs seconds for their coroutines alone.
OVERSHOOT = 10
TRIES = 3


@pytest.fixture(params=RUNNERS.values(), ids=RUNNERS)
def run(request):
    if request.param is RUNNERS["uvloop"] and uvloop is None:
        pytest.skip("uvloop is not installed")
    return request.param


@pytest.fixture
def stalled():
    """An emulator that reads whole messages and never responds to them; it responds to GETs."""
    with Emulator(jobs=[{"id": "job_demo"}, BUSY], rules=[{"method": "POST", **STALL}]) as emulator:
        yield emulator


@pytest.fixture
def served():
    """Starts an emulator in its own process: in this one it would share the GIL with a thousand requests."""
    started = []

    def start(**config):
        code = f"""
            import json, sys
            from agentjob.testing import Emulator
            with Emulator(**json.loads({json.dumps(config)!r})) as emulator:
                print(json.dumps(emulator.environment()), flush=True)
                sys.stdin.read()
                print(json.dumps(emulator.ledger()))
        """
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        settings = json.loads(process.stdout.readline())
        names = {"base_url": "AGENTJOB_BASE_URL", "api_key": "AGENTJOB_API_KEY", "project_id": "AGENTJOB_PROJECT_ID"}
        options = {name: settings[variable] for name, variable in names.items()}
        return options, lambda: json.loads(process.communicate(timeout=PATIENCE)[0])

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


class Ended:
    """How a call ended, and when."""

    def __init__(self, began, error=None):
        self.took, self.error = time.monotonic() - began, error
        self.verdict = "accepted" if error is None else getattr(error, "delivery", None)


async def timed(call):
    began = time.monotonic()
    try:
        await call
    except agentjob.Error as error:
        return Ended(began, error)
    return Ended(began)


async def together(*calls, in_order_of=None):
    """How each call ended. The loop decides the order in which they start, unless `in_order_of` is the client whose queue they join."""
    ended = [None] * len(calls)

    async def one(n, call):
        ended[n] = await timed(call)

    async with anyio.create_task_group() as tasks:
        for n, call in enumerate(calls):
            tasks.start_soon(one, n, call)
            while in_order_of is not None and in_order_of._threads._used <= n:
                await anyio.sleep(0)
    return ended


@pytest.mark.parametrize(("responses", "count"), [("after 500 ms", 400), ("never", 1000)])
def test_every_call_ends_in_its_time_however_many_there_are(served, run, responses, count):
    rules = [STALL] if responses == "never" else [{"delay_ms": 500}]
    late = []
    while len(late) < TRIES and min(late, default=OVERSHOOT) >= OVERSHOOT:
        options, ledger = served(rules=rules, hourly_limit=10_000, keep_requests=False)
        ended = sent_at_once(run, options, count, timeout=1)
        verdicts = collections.defaultdict(set)
        for n, end in enumerate(ended):
            verdicts[end.verdict].add(str(n))
            if end.error is not None:
                assert type(end.error) is agentjob.RequestTimeoutError
                assert 1 <= end.error.elapsed <= end.took, "the error says how long the call took"
                assert end.verdict == "not_sent" or end.error.attempts == 1
        assert set(verdicts) <= {"accepted", "not_sent", "unknown"}
        taken = [message["prompt"] for message in ledger()]
        assert len(set(taken)) == len(taken)
        assert verdicts["accepted"] <= set(taken) <= verdicts["accepted"] | verdicts["unknown"]
        # If the time in the queue did not count, all would be sent: four hundred in 6 s, and a thousand in 31 s. A machine that begins
        # the calls as slowly as that shows nothing.
        late.append(max(end.took for end in ended) - 1 if verdicts["not_sent"] else math.inf)
    assert min(late) < OVERSHOOT, late


def sent_at_once(run, options, count, timeout):
    """The outcomes of this many messages that are sent at the same time with few threads."""
    ended = []

    async def main():
        async with aio.AsyncClient(**options, trust_env=False, timeout=timeout, max_threads=32) as client:
            ended.extend(await together(*(client.send_message("job_demo", str(n)) for n in range(count))))

    run(main)
    assert len(ended) == count
    return ended


@contextlib.asynccontextmanager
async def only_thread_taken(service, client):
    """The client's only thread makes a request that gets no response, until the block ends."""
    before = service.requests()["total"]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(timed, client.send_message("job_demo", "ahead", timeout=2 * PATIENCE))
        while service.requests()["total"] == before:
            await anyio.sleep(0.01)
        yield
        tasks.cancel_scope.cancel()


def test_the_time_in_the_queue_counts_against_the_timeout(stalled, run):
    async def main():
        client = aio.AsyncClient.of(stalled.client(), max_threads=1)
        async with only_thread_taken(stalled, client):
            queued = await timed(client.create_job("queued", timeout=0.5))
        assert (queued.verdict, queued.error.attempts) == ("not_sent", 0) and 0.5 <= queued.error.elapsed <= queued.took
        # One that gets the thread in its time has what is left of it.
        client = aio.AsyncClient.of(stalled.client(), max_threads=1)
        first, second = await together(
            client.send_message("job_demo", "first", timeout=2),
            client.send_message("job_demo", "second", timeout=4),
            in_order_of=client,
        )
        for end, timeout in (first, 2), (second, 4):
            assert (end.verdict, end.error.attempts) == ("unknown", 1) and timeout <= end.error.elapsed <= end.took
        assert second.took < 2 + 4, "the time in the queue counted"

    tried(3, lambda _: run(main))


def test_a_message_and_the_polls_after_it_queue_within_their_timeouts(stalled, run):
    async def main():
        client, before = aio.AsyncClient.of(stalled.client(timeout=0.5), max_threads=1), stalled.requests()["total"]
        quick = {"min_interval": 0.02, "max_interval": 0.02}
        async with only_thread_taken(stalled, client):
            send, wait = await together(
                client.send_and_wait("job_demo", "go", timeout=10, **quick),
                client.wait("job_busy", timeout=4.0, **quick),
            )
        assert (send.verdict, wait.verdict) == ("not_sent", None)
        assert type(send.error) is agentjob.RequestTimeoutError and 0.5 <= send.error.elapsed <= send.took
        assert type(wait.error) is agentjob.WaitTimeoutError and 4.0 <= wait.error.elapsed <= wait.took
        assert "timeout" in str(wait.error), "polls that timed out in the queue count as failed"
        assert wait.error.attempts >= 1 and stalled.requests()["total"] == before + 1, "no poll was made"
        # With a free thread the poller polls again.
        poller = client.poller("job_busy", timeout=PATIENCE, **quick)
        while poller.job is None:
            assert await poller.poll() is None
        assert poller.job["status"] == "active"

    # One that stalls for as long as the wait makes no poll at all.
    tried(3, lambda _: run(main))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_message_that_is_cancelled_in_the_queue_was_not_sent(stalled, backend):
    raised = []

    async def last(client):
        try:
            await client.send_message("job_demo", "last")
        except BaseException as error:
            raised.append(error)
            raise

    async def main():
        client = aio.AsyncClient.of(stalled.client(), max_threads=1)
        async with only_thread_taken(stalled, client):
            async with anyio.create_task_group() as queued:
                queued.start_soon(last, client)
                while client._threads._used < 2:
                    await anyio.sleep(0)
                queued.cancel_scope.cancel()
            # The thread is still taken: no thread had to notice.
        (error,) = raised
        assert error.delivery == "not_sent"
        assert error.__notes__ == ["agentjob: the message was not sent, so it may be sent again"]

    anyio.run(main, backend=backend)
    assert stalled.requests()["total"] == 1


def test_close_ends_calls_in_the_queue(stalled, run):
    async def main():
        client = aio.AsyncClient.of(stalled.client(), max_threads=2)
        calls = [client.send_message("job_demo", str(n)) for n in range(20)]

        async def close():
            while arrived(stalled) < 2:
                await anyio.sleep(0.01)
            client.close()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(close)
            ended = await together(*calls)
        assert {type(end.error) for end in ended} == {agentjob.ClosedError}
        assert collections.Counter(end.verdict for end in ended) == {"unknown": 2, "not_sent": 18}
        assert max(end.took for end in ended) < PATIENCE

    run(main)


def our_threads(but=()):
    """The threads of clients, without those of earlier tests, which end when their client is collected."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("agentjob")}.difference(but)


def test_threads_follow_the_load_and_end_with_it(run):
    with Emulator(rules=[{"delay_ms": 700}], hourly_limit=1000) as emulator:
        seen = {}

        async def main():
            others = our_threads()
            client = aio.AsyncClient.of(emulator.client(), max_threads=20)
            for load in (1, 10, 40):
                calls = [client.get_job("job_demo") for _ in range(load)]
                async with anyio.create_task_group() as tasks:
                    for call in calls:
                        tasks.start_soon(timed, call)
                    seen[load] = 0
                    while seen[load] == 0 or client._threads._busy > 0:
                        seen[load] = max(seen[load], len(our_threads(others)))
                        await anyio.sleep(0.01)
            while our_threads(others):
                await anyio.sleep(0.05)

        def attempt(_):
            # On a machine that stalls for longer than a response takes, a thread that is done is used again.
            run(main)
            assert seen == {1: 1, 10: 10, 40: 20}

        tried(5, attempt)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_thousand_waits_hold_no_thread(backend):
    jobs = [{"id": f"job_{n}", "status": "active"} for n in range(1000)]
    with Emulator(jobs=jobs, keep_requests=False) as emulator:
        done, threads, at_rest, others = [], [], [], our_threads()

        async def wait(client, job, pause):
            done.append(await client.wait(job["id"], min_interval=pause, max_interval=pause))

        async def main():
            client = aio.AsyncClient.of(emulator.client())
            began = time.monotonic()
            async with anyio.create_task_group() as tasks:
                for job in jobs[:100]:
                    tasks.start_soon(client.get_job, job["id"])
            # Twice as long as a thousand polls take on this machine, and long enough for idle threads to end.
            pause = max(7, 20 * (time.monotonic() - began))
            async with anyio.create_task_group() as tasks:
                for job in jobs:
                    tasks.start_soon(wait, client, job, pause)
                while emulator.requests()["total"] < 1100:
                    threads.append(len(our_threads(others)))
                    await anyio.sleep(0.002)
                # Every wait has polled and pauses.
                while 0 not in at_rest:
                    await anyio.sleep(0.05)
                    at_rest.append(len(our_threads(others)))
                assert done == []
                emulator.reset(jobs=[{"id": job["id"]} for job in jobs], keep_requests=False)

        anyio.run(main, backend=backend)
        assert len(done) == 1000 and {job["status"] for job in done} == {"completed"}
        assert 0 < max(threads + at_rest) <= 128, "requests in flight are bounded"


def test_without_a_new_thread_calls_queue_longer(monkeypatch):
    begin, left = threading.Thread.start, [2]

    def start(thread):
        if thread.name.startswith("agentjob"):
            left[0] -= 1
            if left[0] < 0:
                raise RuntimeError("can't start new thread")
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with Emulator(rules=[{"delay_ms": 50}]) as emulator:

        async def main():
            client = aio.AsyncClient.of(emulator.client())
            ended = await together(*(client.send_message("job_demo", str(n)) for n in range(8)))
            assert [end.verdict for end in ended] == ["accepted"] * 8
            # Without any thread there is no queue either.
            with pytest.raises(RuntimeError, match="can't start new thread") as caught:
                await aio.AsyncClient.of(emulator.client()).send_message("job_demo", "never")
            assert caught.value.delivery == "not_sent"

        asyncio.run(main())
        assert sorted(message["prompt"] for message in emulator.ledger()) == [str(n) for n in range(8)]


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks here")
def test_its_threads_leave_every_signal_to_the_programs_own(emulator, run):
    masks = []

    def on_event(event):
        masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, []))

    async def main():
        await aio.AsyncClient.of(emulator.client(on_event=on_event)).get_job("job_demo")

    run(main)
    blocked = set.intersection(*map(set, masks))  # of each event
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1} <= blocked
    assert signal.SIGSEGV not in blocked, "a fault of the thread itself is not blocked"
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set(), "the program's own masks are unchanged"


def test_a_program_that_waits_for_its_signals_gets_them(stalled, script):
    running = script(
        """
        import asyncio, signal, threading

        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

        async def main():
            client = agentjob.aio.AsyncClient.of(agentjob.Client(trust_env=False))
            calls = [asyncio.ensure_future(client.get_job("job_demo")) for _ in range(20)]
            await asyncio.gather(*calls)
            print("ready", flush=True)
            got = await asyncio.get_running_loop().run_in_executor(None, signal.sigwait, {signal.SIGTERM})
            print(got.name)

        asyncio.run(main())
        """
    )
    running.wait_until_ready()
    running.process.send_signal(signal.SIGTERM)
    assert running.end() == ("SIGTERM\n", "", 0)


def test_how_many_threads_is_checked_shared_and_travels(emulator, monkeypatch):
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    for wrong, kind in ("4", TypeError), (True, TypeError), (2.0, TypeError), (0, agentjob.InvalidArgumentError), (1025, ValueError):
        with pytest.raises(kind, match="max_threads"):
            aio.AsyncClient(max_threads=wrong)
        with pytest.raises(kind, match="max_threads"):
            aio.AsyncClient.of(emulator.client(), max_threads=wrong)
    client = aio.AsyncClient(trust_env=False, max_threads=3)
    assert client.with_options(timeout=5)._threads is client._threads
    assert pickle.loads(pickle.dumps(client))._threads.most == 3


def test_wrong_times_are_refused_before_the_queue(emulator, run):
    async def main():
        client = aio.AsyncClient.of(emulator.client())
        for wrong in (0, -1, float("nan"), float("inf"), 10**400):
            with pytest.raises(agentjob.InvalidArgumentError, match="timeout") as caught:
                await client.send_message("job_demo", "go", timeout=wrong)
            assert caught.value.delivery == "not_sent"
        with pytest.raises(TypeError, match="timeout must be a number, not str"):
            await client.get_job("job_demo", timeout="1")

    run(main)
    assert emulator.requests()["total"] == 0


def test_a_closed_loop_leaves_no_thread_behind(emulator, run):
    others, client = our_threads(), aio.AsyncClient.of(emulator.client())
    for _ in range(3):
        run(lambda: client.get_job("job_demo"))
    wait_for(lambda: not our_threads(others), "the client's threads are gone, though a closed loop runs no timer")
    client.close()
