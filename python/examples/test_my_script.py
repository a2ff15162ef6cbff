"""How to test a program of your own without the service: python -m pytest test_my_script.py

The fixture agentjob_emulator comes with agentjob: it sets the AGENTJOB_ variables for the test.
"""

import agentjob


def ask_for_tests(job_id):
    """The program under test."""
    with agentjob.Client() as client:
        try:
            return client.send_and_wait(job_id, "Also cover the error cases")["prLink"]
        except agentjob.Error as error:
            if error.delivery == "unknown":
                return "check the job"
            raise


def test_it_asks_once_and_finds_the_pull_request(agentjob_emulator):
    assert ask_for_tests(agentjob_emulator.job_id).startswith("https://")
    assert [message["prompt"] for message in agentjob_emulator.ledger()] == ["Also cover the error cases"]


def test_it_does_not_ask_twice_when_the_response_is_lost(agentjob_emulator):
    agentjob_emulator.reset(rules=[{"method": "POST", "fault": {"do": "reset", "at": "request", "process": True}}])
    assert ask_for_tests(agentjob_emulator.job_id) == "check the job"
    assert len(agentjob_emulator.ledger()) == 1


def test_nothing_else_was_sent(agentjob_emulator, agentjob_client):
    ask_for_tests(agentjob_emulator.job_id)
    assert agentjob_client.get_job(agentjob_emulator.job_id)["status"] == "completed"
    assert len(agentjob_emulator.ledger()) == 1
