"""What the tests of the engines share. Each engine has an environment of its own: `make test-engines`."""

import pytest

from agentjob.testing import Emulator

POST = {"method": "POST", "nth": 1}
#: The service takes the message, and its response is lost.
LOST = {**POST, "fault": {"do": "close", "at": "request", "process": True}}


@pytest.fixture
def emulator():
    with Emulator(jobs=[{"id": "job_demo", "status": "completed"}], work_ms=600) as emulator:
        yield emulator


@pytest.fixture
def database(tmp_path):
    return str(tmp_path / "steps.db")


@pytest.fixture
def prompts(emulator):
    return lambda: sorted(message["prompt"] for message in emulator.ledger())
