"""What the workers of every engine run: a step, or the stock pattern, which says where it is to the server that may kill it."""

import os
import time
import urllib.request

import httpx

from agentjob.once import PostgreSQLStore, SQLiteStore

SERVICE, PROJECT = os.environ["AGENTJOB_BASE_URL"], os.environ["AGENTJOB_PROJECT_ID"]
STORE = os.environ["KILLS_STORE"]
#: What a step's wait has; the jobs of this check take half a second.
WAIT = {"min_interval": 0.2, "max_interval": 1.0, "settle": 2.0}


def reach(item, point):
    """Says where this process is. If it is killed here, this doesn't return."""
    get(f"/point/{item}/{point}/{os.getpid()}")


def probe():
    """Holds a slot until the check has counted it."""
    get("/probe/")


def get(path):
    with urllib.request.urlopen(SERVICE + path, timeout=120) as response:
        response.read()


def message(item):
    """The key, the job and the prompt of an item."""
    return f"item {item}", f"job_{item}", f"Work on {item}"


def number(key):
    return int(key.rpartition(" ")[2])


def stock(item):
    """What an engine's user writes without agentjob: the engine retries whatever fails."""
    _, job_id, prompt = message(item)
    path = f"{SERVICE}/v2/agent/{PROJECT}/job/{job_id}"
    headers = {"Authorization": f"Bearer {os.environ['AGENTJOB_API_KEY']}"}
    reach(item, "begin")
    with httpx.Client(headers=headers, timeout=10, trust_env=False) as client:
        client.post(f"{path}/message", json={"prompt": prompt}).raise_for_status()
        while True:
            job = client.get(path).raise_for_status().json()
            if job["status"] in ("completed", "archived", "failed"):
                break
            time.sleep(0.2)
    reach(item, "end")
    return job


class Watched:
    """A store that says when a step is taken, and when its outcome is recorded."""

    def take(self, key, *arguments):
        reach(number(key), "take")
        taken = super().take(key, *arguments)
        reach(number(key), "taken")
        return taken

    def settle(self, key, *arguments):
        reach(number(key), "settle")
        settled = super().settle(key, *arguments)
        reach(number(key), "settled")
        return settled

    def finish(self, step, result):
        reach(number(step.key), "finish")
        finished = super().finish(step, result)
        reach(number(step.key), "finished")
        return finished


class WatchedSQLite(Watched, SQLiteStore):
    """The store of workers that are on one machine."""


class WatchedPostgreSQL(Watched, PostgreSQLStore):
    """The store of workers on several machines."""


def store():
    return WatchedPostgreSQL(STORE) if "://" in STORE else WatchedSQLite(STORE)
