"""The examples in the docstrings do what they show."""

import asyncio
import doctest
import pathlib
import subprocess
import sys
import threading
import time

import pytest

import agentjob
import agentjob.aio
from agentjob.testing import Emulator
from conftest import BUSY

EXAMPLES = pathlib.Path(__file__).parents[2] / "python" / "examples"


def examples_of(cls):
    return [test for test in doctest.DocTestFinder().find(cls, cls.__name__, module=False) if test.examples]


CLASSES = [agentjob.Client, agentjob.Batch, agentjob.CancelToken, agentjob.aio.AsyncClient, agentjob.once.Once]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_example_runs(cls, tmp_path):
    tests = examples_of(cls)
    assert tests, "there are examples"
    with Emulator(work_ms=300, jobs=[{"id": "job_demo"}, BUSY]) as emulator, emulator.client() as client:
        names = {"agentjob": agentjob, "asyncio": asyncio, "client": client, "time": time, "threading": threading}
        names["journal"], names["database"] = str(tmp_path / "journal"), str(tmp_path / "steps.db")
        names["batch"] = client.send_all([("job_demo", "go")] * 20, journal=tmp_path / "slow", rate="2/h")
        # In the order of the class: an example starts from the job as the one before left it.
        for test in sorted(tests, key=lambda test: list(vars(cls)).index(test.name.partition(".")[2]) if "." in test.name else -1):
            if client.closed:
                names["client"] = client = emulator.client()
            test.globs.update(names)
            output = []
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
            assert output == [], "".join(output)


def test_every_method_that_makes_a_call_has_an_example():
    calls = "send_message get_job create_job wait send_and_wait watch send_all poller resume with_options close"
    assert set(calls.split()) <= {test.name.partition(".")[2] for test in examples_of(agentjob.Client)}


def test_the_example_of_a_users_own_test_runs():
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLES / "test_my_script.py"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0 and "3 passed" in ran.stdout, ran.stdout
