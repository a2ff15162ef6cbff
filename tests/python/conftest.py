"""What the tests share: an emulator for each, and a Python that runs a script beside it."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from agentjob.testing import Emulator

#: A job that stays active until a message comes.
BUSY = {"id": "job_busy", "status": "active"}
#: Options of a wait that looks often.
QUICK = {"min_interval": 0.02, "max_interval": 0.02}
#: Long enough for a starved machine, short enough to see a hang.
PATIENCE = 20


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch):
    for name in list(os.environ):
        if name.startswith("AGENTJOB_"):
            monkeypatch.delenv(name)


@pytest.fixture
def emulator():
    with Emulator(work_ms=60, jobs=[{"id": "job_demo"}, BUSY]) as emulator:
        yield emulator


@pytest.fixture
def client(emulator):
    with emulator.client() as client:
        yield client


class Script:
    """A Python program beside the test, with the emulator's variables set. It says `ready` before what is to be disturbed."""

    def __init__(self, emulator, source):
        environment = {**os.environ, **emulator.environment()}
        code = "import agentjob, sys, time\nclient = agentjob.Client(trust_env=False)\n" + textwrap.dedent(source)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self):
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self):
        """Everything that it printed after `ready`, its stderr, and its exit status."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return out, err, self.process.returncode


@pytest.fixture
def script(emulator):
    with contextlib.ExitStack() as running:

        def start(source):
            script = Script(emulator, source)
            running.callback(script.process.wait)
            running.callback(script.process.kill)
            return script

        yield start


def wait_for(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.005)
