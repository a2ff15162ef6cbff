"""A process that was stopped past its deadlines (Ctrl-Z, a frozen container): what came meanwhile still counts."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import PATIENCE, arrived, tried, wait_for

SEND = "print(client.send_message('job_demo', 'p', timeout=1)['id'])"
AIO = """
import agentjob.aio, asyncio

async def send():
    async with agentjob.aio.AsyncClient(trust_env=False) as client:
        return await client.send_message("job_demo", "p", timeout=1)

print(asyncio.run(send())["id"])
"""
BATCH = """
client = client.with_options(timeout=1)
items = [{"job_id": f"job_{n}", "prompt": "p"} for n in range(4)]
print({outcome["delivery"] for outcome in client.send_all(items, journal=sys.argv[1])})
"""


def stop(emulator, process, requests, pause, number=signal.SIGCONT):
    """Stops a process when it has made so many requests, until all have their responses and its deadlines have passed. It gets a signal
    before it continues."""

    def made():
        return sum(request["complete"] for request in emulator.requests()["requests"])

    wait_for(lambda: made() >= requests or process.poll() is not None, "it made its requests")
    process.send_signal(signal.SIGSTOP)
    wait_for(lambda: arrived(emulator) >= requests, "the service is about to respond")
    time.sleep(pause)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize(
    ("source", "requests", "printed"),
    [(SEND, 1, "job_demo\n"), (AIO, 1, "job_demo\n"), (BATCH, 4, "{'accepted'}\n")],
    ids=["send", "asyncio", "batch"],
)
def test_a_response_that_came_while_the_process_was_stopped_is_read(emulator, tmp_path, source, requests, printed):
    def attempt(n):
        jobs = [{"id": "job_demo"}, *({"id": f"job_{n}"} for n in range(4))]
        emulator.reset(jobs=jobs, rules=[{"delay_ms": 400}])
        code = f"import agentjob, sys, time\nbegan = time.monotonic()\nclient = agentjob.Client(trust_env=False)\n{source}"
        code += "\nprint(time.monotonic() - began > 1)"
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / f"journal{n}")],
            env={**os.environ, **emulator.environment()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        stop(emulator, process, requests, 1.2)
        out, err = process.communicate(timeout=PATIENCE)
        assert (out, process.returncode) == (f"{printed}True\n", 0), err

    # A machine that stalls for more than a second lets a call time out before it is stopped.
    tried(5, attempt)


def test_a_wait_whose_deadline_passed_while_the_process_was_stopped_has_the_result(emulator):
    def attempt(n):
        emulator.reset(jobs=[{"id": "job_demo", "status": "active", "finish_after_ms": 900}])
        process = subprocess.Popen(
            [sys.executable, "-m", "agentjob", "wait", "job_demo", "--wait-timeout", "2"],
            env={**os.environ, **emulator.environment()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        stop(emulator, process, 1, 2.5)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 and json.loads(out)["status"] == "completed", err

    tried(5, attempt)
