"""What the tests of a batch's grace share: a batch of which all that can be in flight is at the service, and has no response."""

import subprocess
import time

from conftest import PATIENCE, wait_for

import agentjob

#: The first message gets its response at once, so that a loop has its first outcome; so many are in flight then, and the rest is not sent.
IN_FLIGHT, LEFT = 3, 40
ITEMS = [(f"job_{n}", f"prompt {n}") for n in range(1, 2 + IN_FLIGHT + LEFT)]
JOBS = [{"id": job_id} for job_id, _ in ITEMS]
FIRST = {"method": "POST", "path": "/v2/agent/*/job/job_1/message"}
#: The others' responses come late, so late that a test can do something before they come, or never.
SLOW = [FIRST, {"method": "POST", "status": 200, "delay_ms": 900}]
LATE = [FIRST, {"method": "POST", "status": 200, "delay_ms": 4000}]
SILENT = [FIRST, {"method": "POST", "fault": {"do": "stall", "at": "request", "ms": 1000 * 4 * PATIENCE}}]
#: Far longer than a response takes, shorter than a hang.
GRACE = PATIENCE


def prepare(emulator, rules):
    emulator.reset(rules=rules, jobs=JOBS, hourly_limit=1000)


def sent(emulator):
    """How many messages the service has read: polls are no messages."""
    return sum(request["complete"] and request["method"] == "POST" for request in emulator.requests()["requests"])


def in_flight(emulator):
    """Whether the service has all that can be in flight after the first response. On a machine that stalls it may have more: then some
    of SLOW's responses have come before anybody asked."""
    return sent(emulator) >= 1 + IN_FLIGHT


def arrived(emulator):
    wait_for(lambda: in_flight(emulator), "the messages are at the service")


def is_all_accepted(emulator, journal):
    """In the journal and in the service's ledger; and the batch sent no more. A loaded machine may need longer than SLOW's delay to
    end the batch: then more messages were sent before, and all of them count."""
    progress, all_sent = agentjob.batch_status(journal)["progress"], sent(emulator)
    assert (progress["accepted"], progress["unknown"], progress["left"]) == (all_sent, 0, len(ITEMS) - all_sent), progress
    assert len(emulator.ledger()) == all_sent and 1 + IN_FLIGHT <= all_sent < len(ITEMS), all_sent


def all_but_the_first(emulator):
    """The deliveries of all that was sent after the first message: what was in flight, if the machine did not stall."""
    return ["accepted"] * (sent(emulator) - 1)


def is_all_unknown(emulator, journal):
    """With a reason: it was written down at the end, and not found by the next run."""
    status = agentjob.batch_status(journal)
    assert (status["progress"]["accepted"], len(status["unknown"]), status["progress"]["left"]) == (1, IN_FLIGHT, LEFT)
    assert all(item["reason"] for item in status["unknown"]) and not status["running"]
    assert sent(emulator) == 1 + IN_FLIGHT


def is_dropped(emulator, journal):
    """The batch ends within a moment; what was in flight is unknown."""
    wait_for(lambda: not agentjob.batch_status(journal)["running"], "the journal is free")
    is_all_unknown(emulator, journal)


def interrupt_until_gone(running):
    """Presses Ctrl-C twice, and again if the program did not take them for two because it did not run in between."""
    for pause in (0.5, PATIENCE / 6, PATIENCE / 6, PATIENCE / 6):
        running.interrupt()
        try:
            running.process.wait(pause)
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
