"""What the package costs a program: counted, not timed."""

import os
import subprocess
import sys

import pytest

MIB = 1 << 20
STATUS = "/proc/self/status"


def peak_of(code, emulator):
    """The peak memory of a program, in bytes. (The figure of `resource` survives an exec, and would be this process's.)"""
    code += f"\nprint(next(line.split()[1] for line in open({STATUS!r}) if line.startswith('VmHWM')))"
    environment = {**os.environ, **emulator.environment(), "NO_PROXY": "127.0.0.1"}
    ran = subprocess.run([sys.executable, "-I", "-c", code], env=environment, capture_output=True, check=True, timeout=60)
    return int(ran.stdout) << 10


@pytest.mark.skipif(not os.path.exists(STATUS), reason="this platform does not tell a process's peak memory as Linux does")
def test_a_hundred_messages_take_at_most_5_mib_over_bare_python(emulator):
    emulator.reset(hourly_limit=1000)
    bare = peak_of("", emulator)
    ours = peak_of(
        "import agentjob\nclient = agentjob.Client()\nfor n in range(100): client.send_message('job_demo', 'go')", emulator
    )
    assert len(emulator.ledger()) == 100
    assert ours - bare <= 5 * MIB, f"{(ours - bare) / MIB:.1f} MiB"


@pytest.mark.skipif(not os.path.exists(STATUS), reason="this platform does not list a process's threads as Linux does")
def test_a_client_at_rest_has_no_thread(script):
    running = script(
        """
        import os
        client.send_and_wait("job_demo", "go", min_interval=0.02, max_interval=0.02)
        assert len(os.listdir("/proc/self/task")) == 1
        print("ready", flush=True)
        """
    )
    running.wait_until_ready()
    assert running.end() == ("", "", 0)
