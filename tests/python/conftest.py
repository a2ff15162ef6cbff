"""What the tests share: an emulator for each, a Python that runs a script beside it, and limits: no test runs forever."""

import contextlib
import faulthandler
import functools
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import postgresql
import pytest

import agentjob
from agentjob.testing import Emulator

#: A job that stays active until a message comes.
BUSY = {"id": "job_busy", "status": "active"}
#: How long a job has to be active, in ms, for a wait that begins after it to see that, on a starved machine, too.
SEEN = 2500
#: Options of a wait that polls often.
QUICK = {"min_interval": 0.02, "max_interval": 0.02}
#: Long enough for a starved machine, short enough to see a hang.
PATIENCE = 60
#: Whether a program can be run without some system calls.
MAY_TRACE = bool(shutil.which("strace")) and subprocess.run(["strace", "-o", os.devnull, "true"], stderr=subprocess.DEVNULL).returncode == 0
#: The limit of one test, in seconds. It fails then; one that cannot even fail ends the whole run 60 s later.
LIMIT = int(os.environ.get("AGENTJOB_TEST_LIMIT", "480"))

#: Variables that change how a Python or a terminal behaves, and would change what the command line does in a test.
OUTSIDE = ("AGENTJOB_", "PYTHON", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
#: These say where Python finds what it needs.
KEPT = ("PYTHONHOME", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")

#: For a test that needs signals between processes, modes of files, /proc or a shell.
unix = pytest.mark.skipif(os.name == "nt", reason="it needs what only Unix has")


def pytest_addoption(parser):
    parser.addoption("--postgresql", action="store_true", help="The steps of agentjob.once are in PostgreSQL, not in SQLite.")


def pytest_configure(config):
    heed_signals()
    # The run's own stderr, whatever is captured later.
    config.limit_file = os.fdopen(os.dup(2), "w")


def heed_signals():
    """A signal that is ignored here, as SIGINT is in a shell's background and SIGHUP below nohup, would be ignored by every command
    that a test starts. One that is handled is not: it has its default effect there. Here, it still does nothing."""
    for number in signal.valid_signals() - {getattr(signal, "SIGPIPE", None)}:
        if signal.getsignal(number) == signal.SIG_IGN:
            with contextlib.suppress(OSError, ValueError):  # those that cannot be handled
                signal.signal(number, lambda *_: None)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, [])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    faulthandler.dump_traceback_later(LIMIT + 60, exit=True, file=item.config.limit_file)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    def over(*_):
        pytest.fail(f"it was still running after {LIMIT} s")

    if not hasattr(signal, "SIGALRM"):
        return (yield)
    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(LIMIT)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch):
    for name in list(os.environ):
        if (name.startswith(OUTSIDE) and name not in KEPT) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def no_process_is_left(monkeypatch):
    """Ends what a test started and left running, as a test that fails does, and closes its pipes: the warnings about these would fail
    another test. What an attempt left that `tried` repeats is ended here, too. What outlives a test says so."""
    started, begin = [], subprocess.Popen.__init__

    def init(process, *arguments, **options):
        begin(process, *arguments, **options)
        started.append(process)

    monkeypatch.setattr(subprocess.Popen, "__init__", init)
    yield
    for process in started:
        if getattr(process, "outlives_the_test", False):
            continue
        if process.poll() is None:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None and not pipe.closed:
                with contextlib.suppress(OSError):  # what was not written yet, to a process that is gone
                    pipe.close()


@pytest.fixture
def emulator():
    with Emulator(work_ms=300, jobs=[{"id": "job_demo"}, BUSY]) as emulator:
        yield emulator


@pytest.fixture
def client(emulator):
    with emulator.client() as client:
        yield client


@pytest.fixture
def database(request):
    """Where the steps are."""
    if request.config.getoption("postgresql"):
        return request.getfixturevalue("postgresql_url")
    return request.getfixturevalue("tmp_path") / "steps.db"


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server."""
    pytest.importorskip("psycopg", reason="needs psycopg, which has no wheel for this Python")
    if postgresql.programs() is None:
        pytest.skip("needs PostgreSQL's server: apt-get install postgresql")
    with postgresql.Server() as server:
        yield server


@pytest.fixture
def postgresql_url(server):
    """Where a store makes a table of its own."""
    return server.schema()


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def store(request):
    """Each kind of store."""
    if request.param == "SQLite":
        return agentjob.once.SQLiteStore(request.getfixturevalue("tmp_path") / "steps.db")
    return agentjob.once.PostgreSQLStore(request.getfixturevalue("postgresql_url"))


@pytest.fixture
def network(server):
    with postgresql.Network(server.port) as network:
        yield network


@pytest.fixture
def far(client, network, postgresql_url, server):
    """Steps on a server behind that network."""
    return agentjob.once.Once(client, postgresql_url.replace(f":{server.port}/", f":{network.port}/"))


@pytest.fixture
def once(client, database):
    """Steps in that database."""
    return agentjob.once.Once(client, database)


class Script:
    """A Python program beside the test, with the emulator's variables set. It says `ready` before what is to be disturbed."""

    def __init__(self, emulator, source, client="client = agentjob.Client(trust_env=False)\n"):
        environment = {**os.environ, **emulator.environment()}
        code = "import agentjob, sys, time\n" + client + textwrap.dedent(source)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def wait_until_ready(self):
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()

    def go_on(self):
        """Writes the line that the script reads with `sys.stdin.readline()`."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self):
        """Everything that it printed after `ready`, its stderr, and its exit status."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return out, err, self.process.returncode


@pytest.fixture
def script(emulator):
    return functools.partial(Script, emulator)


def wait_for(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.005)


def arrived(emulator):
    """How many requests the service has read as far as it ever will: it has responded to them, is about to, or has fallen silent."""
    return sum(entry["status"] is not None or entry["fault"] is not None for entry in emulator.requests()["requests"])


def read_until(stream, words):
    """The lines of a command up to the one that holds these words, or matches this expression."""
    found = words.search if hasattr(words, "search") else lambda line: words in line
    lines = [stream.readline()]
    while not found(lines[-1]):
        assert lines[-1], f"it ended without {words!r}: {''.join(lines)!r}"
        lines.append(stream.readline())
    return lines


def tried(times, attempt):
    """Tries what has to do with the clock until it succeeds once: a machine that is busy stalls now and then, and what the library
    can do shows when it does not. An attempt fails with an AssertionError; the last one's counts."""
    for n in range(times):
        try:
            return attempt(n)
        except AssertionError:
            if n == times - 1:
                raise
