"""Threads, and forks."""

import asyncio
import contextlib
import os
import pathlib
import signal
import threading
import time

import pytest

import agentjob
from agentjob.aio import AsyncClient
from agentjob.testing import Emulator
from conftest import BUSY, PATIENCE, QUICK, tried, unix, wait_for

STALLED = [{"fault": {"do": "stall", "at": "request", "ms": 1000 * 4 * PATIENCE}}]
ACTIVE = {"status": 200, "body": '{"id": "job_demo", "status": "active"}'}


def in_thread(work):
    """Runs `work`, and returns its thread and the list that its result or error goes to."""
    ended = []

    def run():
        try:
            ended.append(work())
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, ended


def test_32_threads_share_a_client():
    jobs = [{"id": f"job_{n}"} for n in range(32)]
    with Emulator(jobs=jobs, work_ms=300, hourly_limit=1000) as emulator, emulator.client() as client:
        barrier = threading.Barrier(32)

        def work(n):
            barrier.wait()
            job = client.send_and_wait(f"job_{n}", f"prompt {n}", **QUICK)
            return job["id"], client.get_job(f"job_{n}")["id"]

        threads = [in_thread(lambda n=n: work(n)) for n in range(32)]
        for thread, _ in threads:
            thread.join(PATIENCE)
        assert [ended for _, ended in threads] == [[(f"job_{n}", f"job_{n}")] for n in range(32)]
        sent = {message["job_id"]: message["prompt"] for message in emulator.ledger()}
        assert sent == {f"job_{n}": f"prompt {n}" for n in range(32)}
        assert len(emulator.ledger()) == 32


def test_other_threads_run_while_one_waits(emulator, client):
    token = agentjob.CancelToken()
    thread, ended = in_thread(lambda: client.wait("job_busy", min_interval=30, cancel=token))
    wait_for(lambda: emulator.requests()["total"] >= 1, "it waits")
    # With the GIL held nothing would run here before the wait's end.
    assert sum(1 for _ in range(100_000)) == 100_000 and ended == []
    token.cancel()
    thread.join(PATIENCE)
    assert type(ended[0]) is agentjob.CancelledError


def test_other_threads_run_while_a_request_blocks():
    with Emulator(rules=[{"fault": {"do": "stall", "at": "request"}}]) as emulator:
        token = agentjob.CancelToken()
        thread, ended = in_thread(lambda: emulator.client().send_message("job_demo", "go", cancel=token))
        wait_for(lambda: emulator.requests()["total"] == 1, "the request is there")
        began = time.monotonic()
        token.cancel()
        thread.join(PATIENCE)
        assert type(ended[0]) is agentjob.CancelledError and ended[0].delivery == "unknown"
        assert time.monotonic() - began < 20, "the service would be silent for 30 s"


def test_close_ends_the_calls_of_all_threads(emulator):
    client = emulator.client()
    threads = [in_thread(lambda: client.wait("job_busy", min_interval=30)) for _ in range(4)]
    wait_for(lambda: emulator.requests()["total"] >= 4, "all of them wait")
    client.close()
    for thread, ended in threads:
        thread.join(PATIENCE)
        assert type(ended[0]) is agentjob.ClosedError


def waits():
    """How often the kernel has put each thread of this process to sleep."""
    counts = {}
    for thread in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            counts[thread.name] = int((thread / "status").read_text().split("\nvoluntary_ctxt_switches:")[1].split()[0])
    return counts


def of_batch(client, journal, cancel=None):
    with client.send_all([("job_demo", "go")], journal=journal, wait=True, min_interval=2, cancel=cancel) as batch:
        return next(batch)["job"]


async def of_async_batch(client, journal):
    async with AsyncClient.of(client).send_all([("job_demo", "go")], journal=journal, wait=True, min_interval=2) as batch:
        async for outcome in batch:
            return outcome["job"]


@unix
@pytest.mark.skipif(not os.path.exists("/proc/thread-self"), reason="needs Linux's /proc")
@pytest.mark.parametrize(
    ("rules", "call"),
    [
        ([{"delay_ms": 2000}], lambda client, journal: client.get_job("job_demo")),
        ([{"delay_ms": 2000}], lambda client, journal: asyncio.run(AsyncClient.of(client).get_job("job_demo"))),
        ([{"nth": 1, **ACTIVE}], lambda client, journal: client.wait("job_demo", min_interval=2)),
        ([{"method": "GET", "nth": 1, **ACTIVE}], lambda client, journal: of_batch(client, journal)),
        ([{"method": "GET", "nth": 1, **ACTIVE}], lambda client, journal: of_batch(client, journal, agentjob.CancelToken())),
        ([{"method": "GET", "nth": 1, **ACTIVE}], lambda client, journal: asyncio.run(of_async_batch(client, journal))),
    ],
    ids=["a request", "a request of asyncio", "a pause", "a batch", "a batch with a token", "a batch of asyncio"],
)
def test_a_thread_that_waits_for_two_seconds_hardly_wakes(rules, call, tmp_path):
    seen = []
    with Emulator(rules=rules) as emulator:
        client = emulator.client(on_event=lambda event: seen.append((time.monotonic(), waits())))
        thread, ended = in_thread(lambda: call(client, tmp_path / "journal"))
        thread.join(PATIENCE)
    # The two seconds are between those two events.
    (_, before), (_, after) = max(zip(seen, seen[1:]), key=lambda pair: pair[1][0] - pair[0][0])
    woken = {thread: count - before.get(thread, 0) for thread, count in after.items()}
    # Two or three a request, and none besides; every 50 ms it would be 40.
    assert ended[0]["id"] == "job_demo" and max(woken.values()) < 15, woken


@pytest.mark.parametrize(
    ("end", "error"),
    [
        (lambda client, token: token.cancel(), agentjob.CancelledError),
        (lambda client, token: client.close(), agentjob.ClosedError),
        (lambda client, token: None, agentjob.RequestTimeoutError),
    ],
    ids=["a token", "a close", "the deadline"],
)
def test_a_call_in_a_thread_ends_within_100_ms_of(end, error):
    def attempt(_):
        with Emulator(rules=STALLED) as emulator, emulator.client(timeout=2 if error is agentjob.RequestTimeoutError else 60) as client:
            token, began = agentjob.CancelToken(), time.monotonic()
            thread, ended = in_thread(lambda: client.send_message("job_demo", "go", cancel=token))
            wait_for(lambda: emulator.requests()["total"] == 1, "the request is there")
            time.sleep(0.2)  # it waits for longer than the first slice
            end(client, token)
            due = began + 2 if error is agentjob.RequestTimeoutError else time.monotonic()
            thread.join(PATIENCE)
            assert type(ended[0]) is error and ended[0].delivery == "unknown"
            assert time.monotonic() - due < 0.1

    tried(10, attempt)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_signal_ends_a_call_in_a_child_that_another_thread_forked():
    with Emulator(rules=[{"method": "POST", **STALLED[0]}]) as emulator:
        client = emulator.client()

        def over(*_):
            raise ZeroDivisionError("mine")

        def child():
            signal.signal(signal.SIGALRM, over)  # the thread that forks is the child's main thread
            signal.setitimer(signal.ITIMER_REAL, 3)
            try:
                client.send_message("job_demo", "go", timeout=PATIENCE)
            except ZeroDivisionError as error:
                return error.delivery

        def work():
            client.get_job("job_demo")  # makes the thread known as one that handles no signals
            return in_child(child)

        thread, ended = in_thread(work)
        thread.join(PATIENCE)
        assert ended == ["unknown"]


def test_on_update_is_called_in_the_thread_that_waits(client):
    seen = []
    thread, ended = in_thread(
        lambda: client.wait("job_demo", on_update=lambda job: seen.append(threading.current_thread()))
    )
    thread.join(PATIENCE)
    assert seen == [thread] and ended[0]["id"] == "job_demo"


def in_child(work):
    """Forks, runs `work` in the child, and returns what it returned: a text."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, str(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as result:
        text = result.read()
    assert os.waitpid(pid, 0)[1] == 0
    return text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_connections_of_its_own():
    with Emulator(jobs=[{"id": "job_parent"}, {"id": "job_child"}, BUSY], work_ms=300) as emulator:
        client = emulator.client()
        assert client.get_job("job_parent")["id"] == "job_parent"  # the connection is warm now
        before = emulator.requests()["connections"]

        def child():
            ids = [client.get_job("job_child")["id"] for _ in range(3)]
            ids.append(client.send_and_wait("job_child", "from the child", **QUICK)["id"])
            return ids

        assert in_child(child) == str(["job_child"] * 4)
        assert emulator.requests()["connections"] == before + 1
        assert client.get_job("job_parent")["id"] == "job_parent"
        assert emulator.requests()["connections"] == before + 1, "the parent's is still its own"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_while_other_threads_are_in_a_call():
    with Emulator(jobs=[{"id": "job_demo"}, BUSY]) as emulator:
        client = emulator.client()
        token = agentjob.CancelToken()
        threads = [in_thread(lambda: client.wait("job_busy", cancel=token, **QUICK)) for _ in range(4)]
        wait_for(lambda: emulator.requests()["total"] > 8, "they are at it")
        for _ in range(5):
            assert in_child(lambda: client.get_job("job_demo")["id"]) == "job_demo"
        token.cancel()
        for thread, ended in threads:
            thread.join(PATIENCE)
            assert type(ended[0]) is agentjob.CancelledError


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_drops_every_object_harms_no_other_process():
    emulator = Emulator()
    held = [emulator.client()]
    held[0].get_job("job_demo")
    native = [emulator._native]

    def child():
        held.clear()
        native.clear()
        del emulator._native
        return "let go"

    assert in_child(child) == "let go"
    assert held[0].get_job("job_demo")["id"] == "job_demo"
    emulator.stop()


@unix
def test_a_kept_connection_is_small():
    ctypes = pytest.importorskip("ctypes")

    class Heap(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in "arena a b c hblkhd d e uordblks f g".split()]

    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        pytest.skip("this C library does not tell how much of its heap is in use (mallinfo2)")
    libc.mallinfo2.restype = Heap

    def in_use():
        heap = libc.mallinfo2()
        return heap.uordblks + heap.hblkhd

    def at_once(client, count):
        threads = [threading.Thread(target=client.get_job, args=("job_demo",)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    # The responses come late, so each thread needs a connection of its own, and all of them are kept.
    with Emulator(rules=[{"delay_ms": 2000}]) as emulator, emulator.client() as client:
        at_once(client, 2)
        before, connections = in_use(), emulator.requests()["connections"]
        at_once(client, 30)
        more = emulator.requests()["connections"] - connections
        assert more >= 20
        # The emulator's own threads are in this process, too.
        assert (in_use() - before) / more < 40 * 1024
