"""What only Windows has. tests/platforms runs it in a console."""

import os
import signal

import pytest
from conftest import PATIENCE, read_until, wait_for
from test_cli import start

pytestmark = pytest.mark.skipif(os.name != "nt", reason="not Windows")


def press_ctrl_c():
    """It reaches every process of the console, and this one, too."""
    try:
        os.kill(0, signal.CTRL_C_EVENT)
    except (OSError, SystemError):
        pytest.skip("there is no console")


@pytest.fixture(autouse=True)
def this_process_goes_on():
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_wait_with_its_report(emulator):
    emulator.reset(work_ms=60_000)
    waiting = start(emulator, "send", "job_demo", "go", "--wait")
    read_until(waiting.stderr, "active")
    press_ctrl_c()
    out, err = waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, out) == (130, "")
    assert "the message was accepted; do not send it again" in err and "agentjob wait --resume '{" in err


def test_ctrl_c_during_a_message_reports_its_verdict(emulator):
    emulator.reset(rules=[{"method": "POST", "fault": {"do": "stall", "at": "request", "process": True, "ms": 60_000}}])
    sending = start(emulator, "send", "job_demo", "go")
    wait_for(emulator.ledger, "the message has arrived")
    press_ctrl_c()
    out, err = sending.communicate(timeout=PATIENCE)
    assert (sending.returncode, out) == (130, "") and "may have arrived" in err
