"""What the tests of a batch's grace share: a batch of which all that can be in flight is at the service, and has no response."""

import subprocess
import time

from conftest import PATIENCE, wait_for

import agentjob

#: The first message gets its response at once, so that a loop has its first outcome; so many are in flight then, and the rest is not sent.
IN_FLIGHT, LEFT = 3, 4
ITEMS = [(f"job_{n}", f"prompt {n}") for n in range(1, 2 + IN_FLIGHT + LEFT)]
JOBS = [{"id": job_id} for job_id, _ in ITEMS]
FIRST = {"method": "POST", "path": "/v2/agent/*/job/job_1/message"}
#: The others' responses come late, or never.
SLOW = [FIRST, {"method": "POST", "status": 200, "delay_ms": 900}]
SILENT = [FIRST, {"method": "POST", "fault": {"do": "stall", "at": "request"}}]
#: Far longer than a response takes, far shorter than a hang.
GRACE = 20


def prepare(emulator, rules):
    emulator.reset(rules=rules, jobs=JOBS, hourly_limit=1000)


def in_flight(emulator):
    """Whether the service has all that can be in flight after the first response."""
    return sum(request["complete"] for request in emulator.requests()["requests"]) == 1 + IN_FLIGHT


def arrived(emulator):
    wait_for(lambda: in_flight(emulator), "the messages are at the service")


def is_all_accepted(emulator, journal):
    """In the journal and in the service's ledger; and the batch sent no more. A loaded machine may need longer than SLOW's delay to
    end the batch: then more messages were sent before, and all of them count."""
    progress, sent = agentjob.batch_status(journal)["progress"], emulator.requests()["total"]
    assert (progress["accepted"], progress["unknown"], progress["left"]) == (sent, 0, len(ITEMS) - sent), progress
    assert len(emulator.ledger()) == sent and 1 + IN_FLIGHT <= sent < len(ITEMS), sent


def is_all_unknown(emulator, journal):
    """With a reason: it was written down at the end, and not found by the next run."""
    status = agentjob.batch_status(journal)
    assert (status["progress"]["accepted"], len(status["unknown"]), status["progress"]["left"]) == (1, IN_FLIGHT, LEFT)
    assert all(item["reason"] for item in status["unknown"]) and not status["running"]
    assert emulator.requests()["total"] == 1 + IN_FLIGHT


def interrupt_until_gone(running):
    """Presses Ctrl-C and, as two that come too close are one, again until the program is gone."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        running.interrupt()
        try:
            running.process.wait(0.3)
            break
        except subprocess.TimeoutExpired:
            continue
    running.end()


class Timer:
    """How long its block took."""

    def __enter__(self):
        self.began = time.monotonic()
        return self

    def now(self):
        return time.monotonic() - self.began

    def __exit__(self, *exception):
        self.took = self.now()
