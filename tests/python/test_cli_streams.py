"""The command line where stdout or stderr is dead: a full disk, a reader that went away, a descriptor that is closed."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile

import pytest

import agentjob
from agentjob.testing import Emulator
from conftest import PATIENCE

QUICK = ["--min-interval", "0.02"]
#: The longest file that a command may write where stdout is nearly full: a write is cut there, and the next one fails.
FULL = 1 << 20


@contextlib.contextmanager
def dead(how):
    """A descriptor that takes nothing; none to close it."""
    if how == "closed":
        yield None
        return
    if how == "full":
        descriptor = os.open("/dev/full", os.O_WRONLY)
    elif how == "nearly full":
        with tempfile.TemporaryFile() as file:
            file.seek(FULL - 10)
            descriptor = os.dup(file.fileno())
    else:
        read, descriptor = os.pipe()
        os.close(read)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.fixture(scope="module")
def service():
    with Emulator(jobs=[{"id": "job_demo"}], work_ms=300, hourly_limit=1000) as emulator:
        yield emulator


def run(service, words, descriptor=None, how=None, **variables):
    """The exit status of a command, its stdout and stderr."""
    # An unbuffered stream has nothing left at the interpreter's exit, which is what this tests.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment.update(service.environment(), NO_PROXY="127.0.0.1", **variables)
    streams = {1: subprocess.PIPE, 2: subprocess.PIPE}
    with dead(how) if how else contextlib.nullcontext() as taken:
        if taken is not None:
            streams[descriptor] = taken
        command = [sys.executable, "-m", "agentjob", *words]
        if how == "closed":
            command = ["sh", "-c", f'exec "$@" {descriptor}>&-', "sh", *command]
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=streams[1], stderr=streams[2], text=True,
            preexec_fn=limit_files if how == "nearly full" else None,
        )
        if words[:1] == ["emulator"] and streams[1] == subprocess.PIPE and (descriptor, how) != (1, "closed"):
            line = process.stdout.readline()
            process.send_signal(signal.SIGINT)
            return process.wait(PATIENCE), line, process.communicate()[1]
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out or "", err or ""


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (FULL, FULL))


@pytest.fixture
def words(request, service, tmp_path):
    """A command; a list and the journal of a batch that is over are made for it."""
    items, journal = tmp_path / "items.jsonl", tmp_path / "over.journal"
    items.write_text('{"job_id": "job_demo", "prompt": "a"}\n{"job_id": "nobody", "prompt": "b"}\n')
    names = {"ITEMS": str(items), "OVER": str(journal), "NEW": str(tmp_path / "new.journal")}
    if "OVER" in request.param:
        assert run(service, ["batch", "run", str(items), "--journal", str(journal)])[0] == 3
    return [names.get(word, word) for word in request.param]


#: Each command, its status where all is well, and where stdout is full, without a reader, closed.
COMMANDS = {
    "send": (["send", "job_demo", "go"], 0, (5, 5, 5)),
    "send --wait": (["send", "job_demo", "go", "--wait", *QUICK], 0, (5, 5, 5)),
    "get": (["get", "job_demo"], 0, (3, 3, 3)),
    "get, refused": (["get", "nobody"], 3, (3, 3, 3)),
    "wait": (["wait", "job_demo", *QUICK], 0, (3, 3, 3)),
    "wait --json-events": (["wait", "job_demo", "--json-events", *QUICK], 0, (3, 3, 3)),
    "create": (["create", "go"], 0, (5, 5, 5)),
    "create --wait": (["create", "go", "--wait", *QUICK], 0, (5, 5, 5)),
    "batch run": (["batch", "run", "ITEMS", "--journal", "NEW"], 3, (6, 6, 3)),
    "batch status": (["batch", "status", "OVER"], 3, (3, 3, 3)),
    "batch export": (["batch", "export", "OVER", "--jsonl"], 0, (3, 0, 3)),
    "batch drop": (["batch", "drop", "OVER", "2"], 0, (3, 0, 3)),
    "emulator": (["emulator"], 130, (1, 1, 1)),
    "demo": (["demo"], 0, (3, 3, 3)),
    "completion": (["completion", "bash"], 0, (3, 3, 3)),
    "--help": (["--help"], 0, (3, 0, 3)),
    "send --help": (["send", "--help"], 0, (3, 0, 3)),
    "--version": (["--version"], 0, (3, 0, 3)),
    "usage": (["get"], 2, (2, 2, 2)),
    "no command": ([], 2, (2, 2, 2)),
}
WAYS = ["full", "no reader", "closed"]
each_command = pytest.mark.parametrize(
    ("words", "well", "ill"), COMMANDS.values(), ids=COMMANDS, indirect=["words"]
)


def comparable(out):
    """What is the same in two runs of a command."""
    with contextlib.suppress(ValueError):
        record = json.loads(out)
        return sorted(record) if isinstance(record, dict) else record
    # What comes of a batch comes in any order.
    return sorted(line.split(chr(34))[0] for line in out.splitlines() if not line.startswith(("journal", "not running")))


@each_command
def test_a_dead_stderr_loses_no_result_and_changes_no_status(service, words, well, ill, tmp_path):
    status, out, _ = run(service, words)
    assert status == well
    for how in WAYS:
        (tmp_path / "new.journal").unlink(missing_ok=True)
        here = run(service, words, 2, how)
        assert (here[0], comparable(here[1])) == (well, comparable(out)), how


@each_command
def test_a_dead_stdout_has_its_own_status(service, words, well, ill, tmp_path):
    for how, status in zip(WAYS, ill):
        (tmp_path / "new.journal").unlink(missing_ok=True)
        got, _, err = run(service, words, 1, how)
        assert (got, "Traceback" in err, "Exception ignored" in err) == (status, False, False), (how, err)


@pytest.mark.parametrize("words", [["batch", "drop", "OVER", "2"], ["batch", "retry", "OVER", "2", "--json"]], indirect=True)
def test_decisions_that_cannot_be_printed_are_said_to_be_in_the_journal(service, words):
    status, _, err = run(service, words, 1, "full")
    assert status == 3 and "the decisions are in the journal, but could not be printed: " in err
    assert len(agentjob.batch_status(words[2])["decisions"]) == 1


@each_command
def test_a_stdout_that_takes_the_first_bytes_alone_is_full_also_without_a_buffer(service, words, well, ill, tmp_path):
    got, _, err = run(service, words, 1, "nearly full", PYTHONUNBUFFERED="1")
    assert (got, "Traceback" in err, "Exception ignored" in err) == (ill[0], False, False), err
