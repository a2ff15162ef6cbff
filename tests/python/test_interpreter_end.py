"""The interpreter's end while a daemon thread is inside a call. CPython ends such a thread when it takes the GIL again, up to 3.13
by unwinding its stack. The process must not crash."""

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import agentjob
from agentjob.testing import Emulator
from conftest import BUSY, PATIENCE, arrived, wait_for

#: Ends of each kind: it takes bad luck to meet the wrong moment.
ENDS = 12
#: What the thread is in when the program ends. It says `ready` when it is there.
CALLS = {
    "a message without a response": 'ready_when(1); client.send_message("job_demo", "go")',
    "a message that times out meanwhile": 'ready_when(1); client.send_message("job_demo", "go", timeout=0.35)',
    "a wait that pauses": 'ready_when(1); client.wait("job_busy", min_interval=30)',
    "a wait that polls": 'ready_when(3); client.wait("job_busy", min_interval=0.02, max_interval=0.02)',
    "a watch": 'ready_when(1); list(client.watch("job_busy", min_interval=0.02, max_interval=0.02))',
    "a batch": 'list(client.send_all([("job_demo", "go")], journal=sys.argv[1], grace=0.1))',
    "a batch that waits for its jobs": 'list(client.send_all([("job_busy", "go")], journal=sys.argv[1], wait=True))',
    "a function for events that sleeps": """
        other = client.with_options(on_event=lambda event: (arrived.set(), time.sleep(0.01)))
        while True:
            other.get_job("job_busy")
    """,
    "a function for metadata that sleeps": """
        while True:
            client.get_job("job_busy", meta=lambda meta: (arrived.set(), time.sleep(0.01)))
    """,
    "errors, one after the other": """
        import logging
        sys.setswitchinterval(1e-6)
        arrived.set()
        while True:
            with mute():
                client.get_job("nobody")
    """,
    "a name lookup": """
        other = agentjob.Client(base_url="https://agentjob.invalid", max_retries=100, api_key="k", project_id="p")
        arrived.set()
        other.get_job("job_demo")
    """,
    "a coroutine in a loop of its own": """
        import asyncio
        ready_when(1)
        asyncio.run(agentjob.aio.AsyncClient.of(client).wait("job_busy", min_interval=30))
    """,
}
#: Lets go of the GIL while the interpreter ends: now the thread may come for it. In a module of its own, for the thread keeps those of
#: the program.
LATE = """
class Late:
    def __del__(self, sleep=time.sleep, write=os.write):
        sleep(0.2)
        write(1, b"late\\n")

sys.modules["late"] = type(sys)("late")
sys.modules["late"].late = Late()
"""
PROGRAM = """
import contextlib, os, sys, threading, time
import agentjob
client = agentjob.Client(trust_env=False)
arrived = threading.Event()

def ready_when(requests):
    left = [requests]
    def on_event(event):
        left[0] -= event["event"] == "attempt"
        if left[0] <= 0:
            arrived.set()
    global client
    client = client.with_options(on_event=on_event)

# The names that its event function needs may be gone by then. Python would print that, perhaps while stderr closes, and abort.
def call(suppress=contextlib.suppress):
    mute = lambda: suppress(Exception)
    with mute():
{call}

{late}
threading.Thread(target=call, daemon=True).start()
while not arrived.wait(0.01):
    if os.path.exists(sys.argv[1]) and "sending" in open(sys.argv[1]).read():
        break
time.sleep({beside})
print("ready", flush=True)
"""


@pytest.fixture(scope="module")
def service():
    """In no other process's interpreter that ends: messages to job_demo get no response."""
    stall = {"path": "/v2/agent/demo/job/job_demo/message", "fault": {"do": "stall", "at": "request"}}
    with Emulator(jobs=[{"id": "job_demo"}, BUSY], rules=[stall], hourly_limit=10_000) as emulator:
        yield emulator


def ends(service, programs, folder):
    """Runs the programs at once, each with the path of a journal. Returns the output of each, its errors and its exit status."""
    environment = {**os.environ, **service.environment(), "NO_PROXY": "127.0.0.1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    commands = [[sys.executable, "-c", code, str(folder / f"{n}.journal")] for n, code in enumerate(programs)]
    running = [subprocess.Popen(command, env=environment, **pipes) for command in commands]
    return [(*process.communicate(timeout=3 * PATIENCE), process.returncode) for process in running]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_end_is_no_crash_whatever_a_daemon_thread_is_in(service, call, tmp_path):
    body = textwrap.indent(textwrap.dedent(call).strip(), " " * 8)
    ended = ends(service, [PROGRAM.format(late=LATE, call=body, beside=n * 0.01) for n in range(ENDS)], tmp_path)
    assert [(out, status) for out, _, status in ended] == [("ready\nlate\n", 0)] * ENDS, ended


@pytest.mark.parametrize(
    ("work", "ended"),
    [
        (lambda client: client.send_message("job_demo", "go"), dict),
        (lambda client: client.send_message("nobody", "go"), agentjob.NotFoundError),
        (lambda client: client.send_message("", "go"), agentjob.InvalidArgumentError),
        (lambda client: client.wait("job_failed", check=True), agentjob.JobFailedError),
    ],
    ids=["a result", "a response that is an error", "a refused argument", "a job that failed"],
)
def test_a_call_on_a_thread_runs_no_python_code_of_its_own(emulator, monkeypatch, work, ended):
    """In which the interpreter's end could meet the thread; the call is the thread's first. The end waits for the program's logging."""
    monkeypatch.delitem(sys.modules, "logging")
    emulator.reset(jobs=[{"id": "job_demo"}, {"id": "job_failed", "status": "failed"}])
    client, ran, result = emulator.client(), [], []

    def call():
        sys.setprofile(lambda frame, event, _: event == "call" and ran.append(frame.f_code.co_name))
        try:
            result.append(work(client))
        except agentjob.Error as error:
            result.append(error)
        finally:
            sys.setprofile(None)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert type(result[0]) is ended and ran == ["<lambda>"]


#: What a daemon thread's function does when it has said that it runs.
FUNCTIONS = {
    "returns": ("time.sleep(0.5), os.write(1, b'returned\\n')", "ready\nreturned\nlate\n"),
    "never returns": ("threading.Event().wait()", "ready\nlate\n"),
}


@pytest.mark.parametrize(("does", "said"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_end_waits_for_a_function_and_not_forever(service, tmp_path, does, said):
    call = f'client.get_job("job_busy", meta=lambda meta: (arrived.set(), {does}))'
    program = PROGRAM.format(late=LATE, call=textwrap.indent(call, " " * 8), beside=0)
    assert ends(service, [program], tmp_path) == [(said, "", 0)]


#: A batch whose key is a function, which its threads call all the time.
WITH_A_FUNCTION = """
import os, sys, time
import agentjob

def key():
    time.sleep(0.002)
    return os.environ["AGENTJOB_API_KEY"]

client = agentjob.Client(api_key=key, trust_env=False)
batch = client.send_all([(f"job_{{n}}", "go") for n in range(60)], journal=sys.argv[1], concurrency=8)
next(batch)
{late}
{last}
time.sleep({beside})
print("ready", flush=True)
"""


@pytest.mark.parametrize("last", ["", "del client", "del batch"], ids=["held", "held without its client", "dropped"])
def test_the_end_is_no_crash_while_a_batch_calls_a_function_for_its_key(service, tmp_path, last):
    ended = ends(service, [WITH_A_FUNCTION.format(late=LATE, last=last, beside=n * 0.003) for n in range(ENDS)], tmp_path)
    assert ended == [("ready\nlate\n", "", 0)] * ENDS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_the_end_of_a_forked_child_does_not_wait_for_its_parents_call_of_a_function(service, tmp_path):
    code = """
import os, sys, threading
import agentjob

called, go = threading.Event(), threading.Event()

def key():
    called.set()
    go.wait(60)
    return os.environ["AGENTJOB_API_KEY"]

client = agentjob.Client(api_key=key, trust_env=False)
batch = client.send_all([("job_1", "go")], journal=sys.argv[1])
called.wait()
child = os.fork()
if child == 0:
    sys.exit()
print(os.waitpid(child, 0)[1])
go.set()
"""
    environment = {**os.environ, **service.environment(), "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "journal")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("0\n", "", 0)


#: Event loops that have stopped when the program exits, each with a call that never gets a response. A daemon thread catches the error
#: of its call: Python's own report of one may meet the end of stderr, and then Python aborts.
ABANDONED = {
    "a message in a daemon thread's loop": """
        def call():
            with at_exit:
                asyncio.run(service.send_message("job_1", "go"))
        threading.Thread(target=call, daemon=True).start()
    """,
    "messages that queue in a daemon thread's loop": """
        async def crowd():
            with at_exit:
                await asyncio.gather(*(service.send_message("job_1", "go") for _ in range(9)))
        threading.Thread(target=lambda: asyncio.run(crowd()), daemon=True).start()
    """,
    "a batch in a daemon thread's loop": """
        async def batch():
            with at_exit:
                async for _ in service.send_all(items, journal=sys.argv[1], grace=0.1, concurrency=1):
                    pass
        threading.Thread(target=lambda: asyncio.run(batch()), daemon=True).start()
    """,
    "a message in a loop that was closed": """
        loop = asyncio.new_event_loop()
        task = loop.create_task(service.send_message("job_1", "go"))
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()
    """,
    "a batch in a loop that was closed": """
        async def until_it_sends():
            while not os.path.exists(sys.argv[1]) or "sending" not in open(sys.argv[1]).read():
                await asyncio.sleep(0.01)

        loop = asyncio.new_event_loop()
        batch = service.send_all(items, journal=sys.argv[1], grace=0.1, concurrency=1)
        task = loop.create_task(batch.__anext__())
        loop.run_until_complete(until_it_sends())
        loop.close()
    """,
}


@pytest.mark.parametrize("loop", ABANDONED.values(), ids=ABANDONED)
def test_the_exit_does_not_wait_for_responses_to_a_stopped_loop(loop, tmp_path):
    stall = {"method": "POST", "fault": {"do": "stall", "at": "request", "ms": 1000 * 4 * PATIENCE}}
    code = f"""
import asyncio, contextlib, os, sys, threading
from agentjob import CancelledError
from agentjob.aio import AsyncClient
service = AsyncClient(trust_env=False, timeout=3600, max_threads=1)
items = [("job_1", f"prompt {{n}}") for n in range(3)]
at_exit = contextlib.suppress(CancelledError, RuntimeError)
{textwrap.dedent(loop)}
sys.stdin.readline()
"""
    with Emulator(jobs=[{"id": "job_1"}], rules=[stall]) as emulator:
        command = [sys.executable, "-c", code, str(tmp_path / "journal")]
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        environment = {**os.environ, **emulator.environment()}
        with subprocess.Popen(command, env=environment, text=True, **pipes) as process:
            try:
                wait_for(lambda: arrived(emulator) == 1, "the message is at the service")
                out, err = process.communicate("\n", timeout=PATIENCE)
            finally:
                process.kill()
        assert (out, process.returncode) == ("", 0), err
        assert emulator.requests()["total"] == 1, "nothing more was sent"


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("thread", ["the main thread", "another thread"])
def test_a_loop_that_was_closed_in_mid_send_does_not_hold_the_interpreter(thread, kept):
    program = """
        import asyncio, sys, threading
        from agentjob.aio import AsyncClient

        def go():
            async def until_it_is_sent():
                while sys.argv[1] not in open(sys.argv[2]).read():
                    await asyncio.sleep(0.01)

            loop = asyncio.new_event_loop()
            client = AsyncClient(trust_env=False, timeout=600, on_event=lambda event: open(sys.argv[2], "a").write(event["event"]))
            task = loop.create_task(client.send_message("job_demo", "p"))
            loop.run_until_complete(until_it_is_sent())
            loop.close()
            if KEPT:
                globals()["kept"] = task, client, loop

        thread = threading.Thread(target=go)
        thread.run() if MAIN else (thread.start(), thread.join())
        print("closed")
    """
    program = textwrap.dedent(program).replace("KEPT", str(kept)).replace("MAIN", str(thread == "the main thread"))
    with Emulator(rules=[{"fault": {"do": "stall", "at": "request", "ms": 600_000}}]) as emulator, TemporaryDirectory() as folder:
        said = Path(folder, "said")
        said.touch()
        command = [sys.executable, "-c", program, "attempt", str(said)]
        # The call would take 600 s.
        ran = subprocess.run(command, env={**os.environ, **emulator.environment()}, stdout=-1, stderr=-1, text=True, timeout=PATIENCE)
    assert (ran.returncode, ran.stdout) == (0, "closed\n"), ran.stderr
