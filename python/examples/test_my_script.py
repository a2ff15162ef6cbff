"""How to test a program of your own without the service: python -m pytest test_my_script.py"""

import pytest

import agentjob
from agentjob.testing import Emulator


def ask_for_tests(client, job_id):
    """The program under test."""
    try:
        return client.send_and_wait(job_id, "Also cover the error cases", min_interval=0.02)["prLink"]
    except agentjob.Error as error:
        if error.delivery == "unknown":
            return "check the job"
        raise


@pytest.fixture
def emulator():
    with Emulator(work_ms=20) as emulator:
        yield emulator


def test_it_asks_once_and_finds_the_pull_request(emulator):
    assert ask_for_tests(emulator.client(), emulator.job_id).startswith("https://")
    assert [message["prompt"] for message in emulator.ledger()] == ["Also cover the error cases"]


def test_it_does_not_ask_twice_when_the_response_is_lost(emulator):
    emulator.reset(rules=[{"method": "POST", "fault": {"do": "reset", "at": "request", "process": True}}])
    assert ask_for_tests(emulator.client(), emulator.job_id) == "check the job"
    assert len(emulator.ledger()) == 1


def test_it_takes_its_settings_from_the_environment(emulator, monkeypatch):
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    assert ask_for_tests(agentjob.Client(), emulator.job_id)
