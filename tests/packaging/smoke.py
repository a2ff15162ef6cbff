"""What an installed agentjob must do at once, in any interpreter: the main job, against the emulator that it brings along."""

import pathlib
import sys
import sysconfig

import agentjob
from agentjob.testing import Emulator

with Emulator(work_ms=300) as emulator, emulator.client() as client:
    job = client.send_and_wait(emulator.job_id, "Also cover the error cases", min_interval=0.02)
    prompts = [message["prompt"] for message in emulator.ledger()]

assert job["status"] == "completed", job
assert prompts == ["Also cover the error cases"], prompts
assert pathlib.Path(agentjob.__file__).with_name("py.typed").exists()
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    assert not sys._is_gil_enabled(), "importing agentjob switched the GIL on"
print("completed", agentjob.__version__, pathlib.Path(agentjob._native.__file__).name)
