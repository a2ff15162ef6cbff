"""What is tortured in Python: program.py send|wait|batch URL KEY CA_FILE PROXY PROMPT JOURNAL, empty where there is none. Between its
two marks it makes the call; then it makes another one with the same client, and counts descriptors. After a batch the other one is a
send, which shows in the ledger what had arrived by then, and then the journal is resumed. It prints one JSON object, which judge.py reads.
program.c is the same in C.
"""

import contextlib
import ctypes
import json
import os
import sys
import time

import agentjob

MARK, TIMEOUT = 0x746F7274, 2.0
WHAT, URL, KEY, CA_FILE, PROXY, PROMPT, JOURNAL = sys.argv[1:]
prctl = ctypes.CDLL(None).prctl


def mark(on):
    prctl(MARK, on, 0, 0, 0)


def descriptors():
    """How many there are, without the process's one eventfd, which stays for the next calls."""
    links = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of listdir itself
            links.append(os.readlink(f"/proc/self/fd/{name}"))
    return len(links) - min(1, links.count("anon_inode:[eventfd]"))


def failure(error):
    """An error's verdict and name. A MemoryError is no error of agentjob's and has no verdict."""
    print(repr(error), file=sys.stderr)
    return {"delivery": getattr(error, "delivery", "none") or "none", "code": type(error).__name__}


def call(client, prompt):
    arguments = {"timeout": TIMEOUT, "min_interval": 0.01, "max_interval": 0.03, "settle": 0.3} if WHAT == "wait" else {}
    method = client.send_and_wait if WHAT == "wait" else client.send_message
    began = time.monotonic()
    try:
        method("job_1", prompt, **arguments)
    except (agentjob.Error, MemoryError) as error:
        mark(0)
        ended = failure(error)
    else:
        mark(0)
        ended = {"delivery": "accepted", "code": "OK"}
    return [{"prompt": prompt, "ms": int((time.monotonic() - began) * 1000), **ended}]


def batch(client):
    began, outcomes, code = time.monotonic(), [], "OK"
    items = [{"job_id": f"job_{number}", "prompt": f"{PROMPT}, item {number}"} for number in (1, 2, 3)]
    try:
        with client.send_all(items, journal=JOURNAL, max_outage=0.001) as running:
            for outcome in running:
                outcomes.append({"prompt": items[outcome["item"] - 1]["prompt"], "delivery": outcome["delivery"]})
    except (agentjob.Error, MemoryError) as error:
        mark(0)
        code = failure(error)["code"]
    mark(0)
    return outcomes, code, int((time.monotonic() - began) * 1000)


def main():
    before = descriptors()
    with agentjob.Client(
        base_url=URL, api_key=KEY, project_id="demo", trust_env=False, timeout=TIMEOUT, ca_file=CA_FILE or None, proxy=PROXY or None
    ) as client:
        mark(1)
        if WHAT == "batch":
            first, code, took = batch(client)
            found = {"first": first, "code": code, "ms": took, "next": call(client, f"{PROMPT}, next")}
            found["resumed"], found["resumed_code"], found["resumed_ms"] = batch(client)
        else:
            found = {"first": call(client, PROMPT), "next": call(client, f"{PROMPT}, next")}
    print(json.dumps({**found, "descriptors": descriptors() - before}))


main()
