"""A callable in place of a key: when it is called, and what happens when it fails."""

import asyncio
import concurrent.futures
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref

import pytest

import agentjob
from agentjob.aio import AsyncClient
from agentjob.testing import Emulator
from conftest import PATIENCE, QUICK

OLD, NEW = "old9walrus5ginger", "new7zebra3quilted"


@pytest.fixture
def emulator():
    with Emulator(api_key=OLD, work_ms=200) as emulator:
        yield emulator


class Keys:
    """A callable that returns these keys one after the other, the last one forever."""

    def __init__(self, *keys):
        self.keys, self.calls, self.threads = list(keys), 0, set()

    def __call__(self):
        self.calls += 1
        self.threads.add(threading.current_thread())
        return self.keys.pop(0) if len(self.keys) > 1 else self.keys[0]


def statuses(emulator):
    return [request["status"] for request in emulator.requests()["requests"]]


def test_it_is_called_before_each_call_and_not_before(emulator):
    keys = Keys(OLD)
    with emulator.client(api_key=keys) as client:
        assert keys.calls == 0 and "api_key=<from a function>" in repr(client)
        client.send_message("job_demo", "p")
        client.get_job("job_demo")
        assert keys.calls == 2 and keys.threads == {threading.current_thread()}
        with pytest.raises(agentjob.InvalidArgumentError):
            client.send_message("job_demo", "")
        assert keys.calls == 2, "a wrong argument needs no key"
    with pytest.raises(agentjob.ClosedError):
        client.get_job("job_demo")
    assert keys.calls == 2


def test_after_a_401_it_is_called_once_more_and_the_message_sent_with_its_new_key(emulator):
    emulator.set_api_key(NEW)
    keys = Keys(OLD, NEW)
    with emulator.client(api_key=keys, max_retries=0) as client:
        client.send_message("job_demo", "p")
    assert (keys.calls, statuses(emulator), len(emulator.ledger())) == (2, [401, 200], 1)


def test_a_key_that_it_returns_again_is_not_sent_again(emulator):
    emulator.set_api_key(NEW)
    keys = Keys(OLD)
    with emulator.client(api_key=keys) as client, pytest.raises(agentjob.AuthenticationError) as caught:
        client.send_message("job_demo", "p")
    assert (keys.calls, statuses(emulator), caught.value.delivery) == (2, [401], "rejected")


def failing():
    raise LookupError("no vault token " + NEW)


async def asynchronous():
    return OLD


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (failing, "the function for the API key failed (LookupError)"),
        (lambda: None, "the function for the API key failed (it returned NoneType instead of a str)"),
        (lambda: OLD.encode(), "the function for the API key failed (it returned bytes instead of a str)"),
        (lambda: asynchronous(), "the function for the API key failed (it returned coroutine instead of a str)"),
        (lambda: "", "the key that the function for the API key returned is empty"),
        (lambda: OLD + "\n", "the key that the function for the API key returned contains a space, a control character"),
        (lambda: "\ud800", "the function for the API key failed (it returned a str with a lone surrogate)"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_sent(emulator, function, reason):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with emulator.client(api_key=function) as client, pytest.raises(agentjob.InvalidArgumentError) as caught:
            client.send_message("job_demo", "p")
    error = caught.value
    assert error.reason.startswith(reason) and str(error).startswith("message to job job_demo was not sent: ")
    assert error.delivery == "not_sent" and emulator.requests()["total"] == 0
    assert OLD not in str(error.to_dict()) and NEW not in str(error.to_dict())


def test_its_exception_is_the_cause_and_ctrl_c_passes_through(emulator):
    with emulator.client(api_key=failing) as client:
        with pytest.raises(agentjob.InvalidArgumentError) as caught:
            client.get_job("job_demo")
        assert isinstance(caught.value.__cause__, LookupError)

    def interrupted():
        raise KeyboardInterrupt

    with emulator.client(api_key=interrupted) as client:
        with pytest.raises(KeyboardInterrupt) as caught:
            client.send_message("job_demo", "p")
        assert caught.value.delivery == "not_sent"


def test_an_exception_after_a_401_is_in_the_hint_of_the_401(emulator):
    emulator.set_api_key(NEW)

    def function(keys=[OLD]):
        return keys.pop()

    with emulator.client(api_key=function) as client, pytest.raises(agentjob.AuthenticationError) as caught:
        client.send_message("job_demo", "p")
    assert caught.value.delivery == "rejected" and isinstance(caught.value.__cause__, IndexError)
    assert "a new one could not be read: the function for the API key failed (IndexError)" in caught.value.hint


def test_a_coroutine_function_and_two_keys_are_refused(emulator):
    settings = {"base_url": emulator.base_url, "project_id": "demo"}
    for client in (agentjob.Client, AsyncClient):
        with pytest.raises(TypeError, match="api_key is a coroutine function; give a function"):
            client(**settings, api_key=asynchronous)
    with pytest.raises(agentjob.InvalidArgumentError, match="api_key_file and a function for the API key are both given"):
        agentjob.Client(**settings, api_key=lambda: OLD, api_key_file="key")


def test_its_time_counts_against_the_timeout(emulator):
    def slow():
        time.sleep(0.2)
        return OLD

    with emulator.client(api_key=slow, timeout=0.1) as client, pytest.raises(agentjob.RequestTimeoutError) as caught:
        client.send_message("job_demo", "p")
    assert caught.value.delivery == "not_sent" and emulator.requests()["total"] == 0


def test_it_may_use_locks_and_threads(emulator):
    lock, keys = threading.Lock(), Keys(OLD)

    def function():
        with lock, concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(keys).result()

    with emulator.client(api_key=function) as client, concurrent.futures.ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(client.get_job, "job_demo") for _ in range(40)]
        assert {call.result()["id"] for call in calls} == {"job_demo"}
    assert keys.calls == 40


def test_a_batch_a_wait_and_an_async_client_call_it_too(emulator, tmp_path):
    emulator.set_api_key(NEW)
    keys = Keys(OLD, NEW)
    with emulator.client(api_key=keys) as client:
        batch = client.send_all([("job_demo", "p")], journal=tmp_path / "journal", wait=True, **QUICK)
        assert [outcome["delivery"] for outcome in batch] == ["accepted"]
        client.wait("job_demo", **QUICK)

    async def main():
        settings = {"base_url": emulator.base_url, "project_id": "demo", "trust_env": False}
        async with AsyncClient(**settings, api_key=keys) as client:
            return await client.send_and_wait("job_demo", "p", **QUICK)

    assert asyncio.run(main())["status"] == "completed"
    assert len(keys.threads) > 1 and statuses(emulator).count(401) == 1


class Service:
    """An object with a client whose key is a method of the object: a reference cycle."""

    def __init__(self, make, **settings):
        self.calls = 0
        self.client = make(api_key=self.key, **settings)

    def key(self):
        self.calls += 1
        return OLD


def is_collected(make, *arguments, **named):
    """Whether the garbage collector collects what this makes, once the threads of agentjob.aio have let it go."""
    gone, began = weakref.ref(make(*arguments, **named)), time.monotonic()
    while gone() is not None and time.monotonic() - began < 10:
        gc.collect()
        time.sleep(0.01)
    return gone() is None


def test_a_function_that_refers_to_its_client_is_collected(emulator, tmp_path):
    settings = {"base_url": emulator.base_url, "project_id": "demo", "trust_env": False}

    def used(make, **settings):
        service = Service(make, **settings)
        service.changed = service.client.with_options(timeout=3)
        service.poller, service.watch = service.client.poller("job_demo"), service.client.watch("job_demo")
        service.batch = service.changed.send_all([("job_demo", "p")], journal=tmp_path / "journal")
        assert len(list(service.batch)) == 1 and next(service.watch)["id"] == "job_demo" and service.calls > 1
        return service

    assert is_collected(used, agentjob.Client, **settings)
    (tmp_path / "journal").unlink()
    assert is_collected(used, emulator.client)

    async def main():
        service = Service(AsyncClient, **settings)
        service.poller = service.client.poller("job_demo")
        await service.client.send_message("job_demo", "p")
        await service.poller.poll()
        assert service.calls == 2
        return service

    assert is_collected(lambda: asyncio.run(main()))


def test_whatever_a_client_makes_keeps_its_function(emulator, tmp_path):
    def client():
        return emulator.client(api_key=Keys(OLD))

    poller, watch, changed = client().poller("job_demo"), client().watch("job_demo"), client().with_options(timeout=30)
    batch = client().send_all([("job_demo", "p")], journal=tmp_path / "journal")
    gc.collect()
    poller.poll()
    assert next(watch)["id"] == changed.get_job("job_demo")["id"] == "job_demo"
    assert [outcome["delivery"] for outcome in batch] == ["accepted"]


def test_a_batch_stops_when_it_fails(emulator, tmp_path):
    with emulator.client(api_key=failing) as client:
        batch = client.send_all([("job_demo", "p"), ("job_demo", "q")], journal=tmp_path / "journal")
        with pytest.raises(agentjob.InvalidArgumentError, match="the function for the API key failed"):
            list(batch)
    assert emulator.requests()["total"] == 0


def module_level():
    return OLD


def test_a_client_pickles_with_a_function_that_pickles(emulator):
    settings = {"base_url": emulator.base_url, "project_id": "demo", "trust_env": False}
    pickled = pickle.dumps(agentjob.Client(**settings, api_key=module_level))
    assert OLD.encode() not in pickled
    pickle.loads(pickled).get_job("job_demo")
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(agentjob.Client(**settings, api_key=lambda: OLD))


#: In each case the function's child returns from it, and its parent waits until the child has ended.
FORKS = """
import logging, os, signal, sys
import agentjob

parent = os.getpid()

def forks():
    if os.getpid() == parent:
        child = os.fork()
        if child:
            print("child", os.waitpid(child, 0)[1], flush=True)

def key():
    forks()
    return os.environ["AGENTJOB_API_KEY"]

def key_in_the_parent():
    forks()
    return os.environ["AGENTJOB_API_KEY"] if os.getpid() == parent else None

def on(name):
    return lambda event: forks() if event["event"] == name else None

def send(client):
    return client.send_message("job_demo", "go")["id"]

def alarm_in_the_pause(record):
    # A filter is called without a lock of logging, which a child would find locked.
    signal.signal(signal.SIGALRM, lambda *_: forks())
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    return False

def alarmed(client):
    logging.getLogger("agentjob").addFilter(alarm_in_the_pause)
    logging.getLogger("agentjob").setLevel(logging.INFO)
    return send(client)

def batch(client):
    return [outcome["delivery"] for outcome in client.send_all([("job_demo", "go")], journal=sys.argv[1])]

try:
    print("parent", {call})
except agentjob.Error as error:
    print(type(error).__name__, error.delivery, error.reason, flush=True)
    os._exit(0 if os.getpid() == parent else 7)
"""
LEFT = "this call belongs to another process: a function that it called has forked, and this is the child"
REFUSED = (f"InvalidArgumentError unknown {LEFT}\nchild {7 << 8}\nparent job_demo\n", "")
KILLED = (
    f"child {int(signal.SIGKILL)}\nparent ['accepted']\n",
    "agentjob: this forked child ends: a function that agentjob called on a thread of its own has forked, "
    "and must not return in the child\n",
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("send(agentjob.Client(api_key=key))", REFUSED),
        ("send(agentjob.Client(api_key=key_in_the_parent))", REFUSED),
        ("send(agentjob.Client(on_event=on('attempt')))", REFUSED),
        ("send(agentjob.Client(on_event=on('retry')))", REFUSED),
        ("alarmed(agentjob.Client())", REFUSED),
        ("batch(agentjob.Client(api_key=key))", KILLED),
        ("batch(agentjob.Client(api_key=key_in_the_parent))", KILLED),
    ],
)
def test_a_child_that_returns_from_a_function_that_forked_sends_nothing(tmp_path, call, said):
    wait = "0" if "retry" in call else "2" if "alarmed" in call else None
    rules = [{"method": "POST", "nth": 1, "status": 429, "headers": {"Retry-After": wait}}] if wait else []
    with Emulator(rules=rules) as emulator:
        environment = {**os.environ, **emulator.environment()}

        def run(call):
            command = [sys.executable, "-W", "ignore", "-c", FORKS.replace("{call}", call), str(tmp_path / "journal")]
            return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)

        ran = run(call)
        assert ((ran.stdout, ran.stderr), ran.returncode) == (said, 0)
        if "batch" in call:
            assert run("batch(agentjob.Client())").stdout == "parent ['accepted']\n", "the journal says what the parent did"
        assert len(emulator.ledger()) == 1
