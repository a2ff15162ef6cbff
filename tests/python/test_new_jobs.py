"""What ends the creation of a job when its response is there has the job: nothing else has its id."""

import fcntl
import json
import logging
import os
import signal
import subprocess
import sys
import termios
import threading

import pytest

import agentjob.aio
from conftest import PATIENCE, tried, wait_for
from test_aio import RUNNERS, anyio
from test_stopped_process import stop

ACCEPTED = "agentjob: the message was accepted; do not send it again"


def fail(_):
    raise RuntimeError("of the program")


def interrupt(_):
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("ends", [fail, interrupt], ids=["exception", "Ctrl-C"])
@pytest.mark.parametrize("where", ["on_event", "meta"])
def test_a_callback_that_ends_the_call_at_its_response_gets_the_job(emulator, ends, where):
    def on_event(event):
        if event["event"] == "response":
            ends(event)

    given = {"on_event": on_event} if where == "on_event" else {}
    client = emulator.client(**given)
    with pytest.raises((RuntimeError, KeyboardInterrupt)) as raised:
        client.create_job("go", **({"meta": ends} if where == "meta" else {}))
    (message,) = emulator.ledger()
    assert (raised.value.job["id"], raised.value.delivery) == (message["job_id"], "accepted")
    assert raised.value.__notes__ == [ACCEPTED, f"agentjob: the new job is {message['job_id']}"]
    # A message's record may be that of its previous result.
    with pytest.raises((RuntimeError, KeyboardInterrupt)) as raised:
        client.send_message("job_demo", "go", **({"meta": ends} if where == "meta" else {}))
    assert not hasattr(raised.value, "job") and raised.value.__notes__ == [ACCEPTED]


def test_an_exception_that_is_raised_for_another_new_job_again_says_so(emulator):
    own = RuntimeError("of the program")

    def again(_):
        raise own

    for _ in range(2):
        with pytest.raises(RuntimeError):
            emulator.client().create_job("go", meta=again)
    first, second = emulator.ledger()
    assert own.job["id"] == second["job_id"]
    notes = [f"agentjob: the new job is {first['job_id']}", f"agentjob: about the call that raised this: the new job is {second['job_id']}"]
    assert own.__notes__ == [notes[0], ACCEPTED, notes[1]]
    own.job = {"status": "of the program"}
    with pytest.raises(RuntimeError):
        emulator.client().create_job("go", meta=again)
    assert own.job == {"status": "of the program"} and own.__notes__[-1].endswith(emulator.ledger()[2]["job_id"])


def test_a_signal_while_a_long_record_is_made_a_dict_has_the_verdict_and_the_job(emulator):
    numbers = list(range(300_000))
    emulator.reset(rules=[{"status": 200, "json": {"id": "job_demo", "status": "active", "numbers": numbers}}])
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for creates in (False, True):
            with pytest.raises(KeyboardInterrupt) as raised:
                client, soon = emulator.client(), {"meta": lambda _: signal.setitimer(signal.ITIMER_REAL, 0.001)}
                client.create_job("go", **soon) if creates else client.send_message("job_demo", "go", **soon)
                signal.pause()
            assert raised.value.delivery == "accepted"
            assert not creates or raised.value.job["id"] == "job_demo"
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_id_that_quotes_a_secret_is_redacted_in_the_note(emulator):
    emulator.reset(rules=[{"status": 201, "json": {"id": f"a {emulator.api_key}\n", "status": "active"}}])
    with pytest.raises(RuntimeError) as raised:
        emulator.client().create_job("go", meta=fail)
    assert raised.value.__notes__[1] == "agentjob: the new job is a ***\\n"
    assert raised.value.job["id"] == f"a {emulator.api_key}\n"


def until_cancelled():
    """Blocks the thread of a call at its response until its task was cancelled; and what cancels the task then."""
    at_response, cancelled = threading.Event(), threading.Event()

    def on_event(event):
        if event["event"] == "response":
            at_response.set()
            assert cancelled.wait(PATIENCE)

    async def cancel(scope):
        while not at_response.is_set():
            await anyio.sleep(0.005)
        scope.cancel()
        cancelled.set()

    return on_event, cancel


@pytest.mark.parametrize("library", ["anyio on asyncio", "anyio on trio"])
@pytest.mark.parametrize("when", ["at the response", "in meta"])
def test_a_cancelled_task_has_the_job_and_logs_it(emulator, caplog, library, when):
    on_event, cancel = until_cancelled()
    at_response = when == "at the response"
    client = agentjob.aio.AsyncClient.of(emulator.client(**({"on_event": on_event} if at_response else {})))
    caught = []

    async def main():
        async with anyio.create_task_group() as tasks:

            async def meta(_):
                tasks.cancel_scope.cancel()
                await anyio.sleep(PATIENCE)

            if at_response:
                tasks.start_soon(cancel, tasks.cancel_scope)
            try:
                await client.create_job("go", meta=None if at_response else meta)
            except BaseException as error:
                caught.append(error)
                raise

    with caplog.at_level(logging.INFO, "agentjob"):
        RUNNERS[library](main)
    (message,) = emulator.ledger()
    assert (caught[0].job["id"], caught[0].delivery) == (message["job_id"], "accepted")
    (record,) = (record for record in caplog.records if record.agentjob["event"] == "cancelled")
    expected = f"new job {message['job_id']} was created, but the task that sent it was cancelled. Do not create it again."
    assert (record.levelname, record.getMessage(), record.agentjob["job_id"]) == ("WARNING", expected, message["job_id"])


def start(emulator, *words, program=("-m", "agentjob"), stdout=subprocess.PIPE, stderr=subprocess.PIPE):
    return subprocess.Popen(
        [sys.executable, *program, *words],
        env={**os.environ, **emulator.environment()},
        stdout=stdout,
        stderr=stderr,
        encoding="utf-8",
    )


@pytest.mark.parametrize("flags", [[], ["--wait", "--settle", "0"], ["--json-events"]], ids=" ".join)
def test_a_signal_that_meets_the_response_of_a_create_prints_the_job(emulator, flags):
    def attempt(n):
        emulator.reset(rules=[{"method": "POST", "delay_ms": 300}], work_ms=0)
        process = start(emulator, "create", "go", *flags)
        stop(emulator, process, 1, 0.5 * 2**n, signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
        (message,) = emulator.ledger()
        assert (process.returncode, out) == (143, ""), err
        if "--json-events" in flags:
            *_, update, error = map(json.loads, err.splitlines())
            assert (update["event"], error["delivery"]) == ("update", "accepted"), err
            assert update["job"]["id"] == message["job_id"]
        else:
            assert f"{ACCEPTED}\nagentjob: the new job is {message['job_id']}\n" in err
        if "--wait" in flags:
            assert f'"job_id":"{message["job_id"]}"' in err.splitlines()[-1], "the command that resumes"

    # A machine that stalls lets the signal come before the response has arrived.
    tried(5, attempt)


@pytest.mark.parametrize("flags", [[], ["--json-events"]], ids=" ".join)
def test_a_signal_while_the_record_of_a_new_job_is_printed_names_it(emulator, tmp_path, flags):
    job_id = f"\x1b[2J {emulator.api_key}"  # the service may choose any
    emulator.reset(rules=[{"status": 201, "json": {"id": job_id, "status": "active", "long": "x" * 1_000_000}}])
    with open(tmp_path / "stderr", "w") as stderr:
        process = start(emulator, "create", "go", *flags, stderr=stderr)
    process.stdout.read(1)  # it prints, and no more is read
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE)
    process.stdout.close()
    err = (tmp_path / "stderr").read_text(encoding="utf-8")
    assert process.returncode == 143, err
    if flags:
        *_, update, error = map(json.loads, err.splitlines())
        assert (update["job"]["id"], error["delivery"]) == (job_id, "accepted")
    else:
        assert err == f"agentjob: interrupted by SIGTERM\n{ACCEPTED}\nagentjob: the new job is \\u{{1b}}[2J ***\n"


#: The signal comes to another thread, so it wakes no call in the main one.
IN_ANOTHER_THREAD = """
import signal, sys, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
from agentjob.__main__ import console
sys.exit(console())
"""


def test_a_signal_that_wakes_no_call_ends_a_command_whose_reader_does_not_read(emulator):
    emulator.reset(rules=[{"status": 201, "json": {"id": "job_new", "status": "active", "long": "x" * 1_000_000}}])
    process = start(emulator, "create", "go", program=("-c", IN_ANOTHER_THREAD))
    unread = lambda: int.from_bytes(fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)), sys.byteorder)  # noqa: E731
    wait_for(lambda: unread() > 60_000, "the pipe is full")
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE)
    err = process.stderr.read()
    process.communicate()
    assert process.returncode == 143 and err.endswith("agentjob: the new job is job_new\n"), err


@pytest.mark.parametrize("flags", [[], ["--wait", "--quiet", "--settle", "0"], ["--json-events"]], ids=" ".join)
def test_a_new_job_whose_record_cannot_be_printed_is_named(emulator, flags):
    emulator.reset(work_ms=0)
    with open("/dev/full", "w") as full:
        _, err = (process := start(emulator, "create", "go", *flags, stdout=full)).communicate(timeout=PATIENCE)
    (message,) = emulator.ledger()
    assert process.returncode == 5 and "the record could not be written, but the job was created; do not create it again" in err, err
    if "--json-events" in flags:
        *_, update, error = map(json.loads, err.splitlines())
        assert (update["job"]["id"], error["delivery"]) == (message["job_id"], "accepted")
    else:
        assert err.endswith(f"agentjob: the new job is {message['job_id']}\n")


def test_a_job_of_a_callbacks_own_exception_does_not_replace_a_cancellation(emulator, caplog):
    on_event, cancel = until_cancelled()

    class Own(Exception):
        job, delivery = "nightly", "accepted"

    def ends(event):
        on_event(event)
        if event["event"] == "response":
            raise Own

    client = agentjob.aio.AsyncClient.of(emulator.client(on_event=ends))

    async def main():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel, tasks.cancel_scope)
            await client.create_job("go")

    with caplog.at_level(logging.INFO, "agentjob"):
        RUNNERS["anyio on asyncio"](main)
    assert "was created, but the task that sent it was cancelled" in caplog.text
