"""A batch whose messages are all sent, resumed in Python: resumer.py URL KEY JOURNAL resume N. Prints what batch.rs prints."""

import json
import pathlib
import sys
import time

import agentjob

URL, KEY, JOURNAL, _, COUNT = sys.argv[1:6]


def memory(field):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024


def items(count):
    for number in range(count):
        prompt = f"Also cover the error cases of part {number}, and say in the pull request what you found"
        yield {"job_id": f"job_{number}", "prompt": prompt}


def main():
    client = agentjob.Client(base_url=URL, api_key=KEY, project_id="demo", trust_env=False)
    client.get_job("warm")
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before, used, began = memory("VmRSS"), time.process_time(), time.perf_counter()
    reported = 0
    for outcome in client.send_all(items(int(COUNT)), journal=JOURNAL):
        assert outcome["delivery"] == "accepted" and outcome["earlier"] and outcome["job"]["id"] == outcome["job_id"]
        reported += 1
    assert reported == int(COUNT)
    took, used = time.perf_counter() - began, time.process_time() - used
    print(json.dumps({"took": took, "processor": used, "memory": memory("VmHWM") - before, "late": []}))


main()
