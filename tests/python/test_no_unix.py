"""What Windows lacks of Python's os, signal and select modules, taken away before agentjob is imported."""

import subprocess
import sys

import pytest

TAKE_AWAY = """
import os, select, signal, sys
for name in ("fork", "register_at_fork", "O_CLOEXEC", "getuid", "geteuid"):
    delattr(os, name)
for name in ("SIGHUP", "SIGTSTP", "SIGALRM", "SIGKILL", "setitimer", "pthread_sigmask", "sigwait"):
    delattr(signal, name)
del select.PIPE_BUF
def of_sockets(*lists):
    raise OSError("not a socket")
select.select = of_sockets
"""
WORK = {
    "a message and its result": """
import agentjob
print(agentjob.Client().send_and_wait("job_demo", "go", min_interval=0.01)["status"])
""",
    "coroutines": """
import asyncio, agentjob.aio
async def main():
    async with agentjob.aio.AsyncClient() as client:
        print((await client.send_and_wait("job_demo", "go", min_interval=0.01))["status"])
asyncio.run(main())
""",
    "steps": """
import agentjob
from agentjob.once import Once
once = Once(agentjob.Client(), sys.argv[1] + "/steps.db")
once.send_message("step", "job_demo", "go")
print(once.wait("step")["status"])
""",
    "the command line": """
from agentjob.__main__ import main
sys.argv = ["agentjob", "send", "job_demo", "go", "--wait", "--quiet"]
assert main() == 0
print("completed")
""",
    "a batch of the command line": """
from agentjob.__main__ import main
open(sys.argv[1] + "/list.csv", "w").write("job_id,prompt\\njob_demo,go\\n")
sys.argv = ["agentjob", "batch", "run", sys.argv[1] + "/list.csv", "--journal", sys.argv[1] + "/run.journal"]
assert main() == 0
print("completed")
""",
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_it_works_without_what_only_unix_has(emulator, work, tmp_path):
    environment = emulator.environment()
    command = [sys.executable, "-c", TAKE_AWAY + work, tmp_path]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0 and ended.stdout.endswith("completed\n"), ended.stderr
