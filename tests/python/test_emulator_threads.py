"""The emulator's threads inside another program: every signal reaches the program's own threads."""

import os
import signal
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks here")

#: An emulator in the script's own process, with a connection that is open and one response sent.
STARTED = """
import signal
from agentjob.testing import Emulator
emulator = Emulator()
client = emulator.client()
client.get_job("job_demo")
"""


def test_sigwait_gets_a_signal_that_is_blocked_after_the_emulator_started(script):
    running = script(
        f"""{STARTED}
import os
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM}})
print("ready", flush=True)
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGTERM)  # before sigwait: now it meets any thread that does not block it
print(signal.sigwait({{signal.SIGTERM}}).name)
"""
    )
    running.wait_until_ready()
    running.go_on()
    assert running.end() == ("SIGTERM\n", "", 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
def test_each_thread_of_the_emulator_blocks_all_signals_but_its_own_faults(script):
    running = script(
        f"""{STARTED}
print("ready", flush=True)
sys.stdin.readline()
"""
    )
    running.wait_until_ready()
    masks = {}
    for task in os.scandir(f"/proc/{running.process.pid}/task"):
        with open(f"{task.path}/status", encoding="ascii") as status:
            fields = dict(line.split(":\t", 1) for line in status.read().splitlines() if ":\t" in line)
        masks[int(task.name)] = (fields["Name"], int(fields["SigBlk"], 16))
    running.go_on()
    assert running.end() == ("", "", 0)
    names = {name for name, _ in masks.values()}
    assert {"emulator-accept", "emulator-connec"} <= names, "a thread that listens, and one of the connection"
    for task, (name, mask) in masks.items():
        blocked = {number for number in signal.valid_signals() if mask >> (number - 1) & 1}
        if name.startswith("emulator-"):
            never = {signal.SIGKILL, signal.SIGSTOP}
            faults = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP}
            assert blocked == signal.valid_signals() - never - faults
        elif task == running.process.pid:
            assert blocked == set(), "the program's own thread is as it was"
