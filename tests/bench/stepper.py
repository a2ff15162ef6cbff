"""Messages as steps: stepper.py URL KEY STORE PATTERN COUNT [SECONDS PHASE]. Prints what they took and the processor time of this process; with
SECONDS, they are sent evenly over that time, and PHASE, from 0 to 1, says when within the time that each has.

The pattern is `send`, without a store; `once`; `hand`, the table that one writes without agentjob.once: an intent, the send, the outcome; or
`dbos`, a workflow of DBOS with one step. All send with agentjob's client.
"""

import json
import os
import sys
import time

import agentjob

URL, KEY, STORE, PATTERN, COUNT = sys.argv[1:6]
COUNT, (SECONDS, PHASE) = int(COUNT), map(float, sys.argv[6:] or (0, 0))
PROMPT = "Also cover the error cases, and say in the pull request what you found"
TABLE = "CREATE TABLE IF NOT EXISTS steps (key text PRIMARY KEY, job_id text NOT NULL, prompt text NOT NULL, state text NOT NULL, record text)"


def once(client):
    from agentjob.once import Once

    steps = Once(client, STORE)
    return steps.send_message


def hand(client):
    if "://" in STORE:
        import psycopg

        database, place = psycopg.connect(STORE, autocommit=True), "%s"
    else:
        import sqlite3

        database, place = sqlite3.connect(STORE, timeout=30), "?"
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
    database.execute(TABLE)
    database.commit()

    def send(key, job_id, prompt):
        known = database.execute(f"SELECT state, record FROM steps WHERE key = {place}", (key,)).fetchone()
        if known is not None:
            raise ValueError(f"{key} is {known[0]}")
        database.execute(f"INSERT INTO steps VALUES ({place}, {place}, {place}, 'sending', NULL)", (key, job_id, prompt))
        database.commit()
        job = client.send_message(job_id, prompt)
        database.execute(f"UPDATE steps SET state = 'accepted', record = {place} WHERE key = {place}", (json.dumps(job), key))
        database.commit()

    return send


def dbos(client):
    from dbos import DBOS, SetWorkflowID

    url = STORE if "://" in STORE else f"sqlite:///{STORE}"
    # Of its own: a process takes up the workflows of others that have its name.
    DBOS(config={"name": "bench", "system_database_url": url, "executor_id": str(os.getpid()), "log_level": "ERROR"})
    step = DBOS.step()(lambda job_id, prompt: client.send_message(job_id, prompt))
    workflow = DBOS.workflow()(lambda job_id, prompt: step(job_id, prompt))
    DBOS.launch()

    def send(key, job_id, prompt):
        with SetWorkflowID(key):
            workflow(job_id, prompt)

    return send


def main():
    client = agentjob.Client(base_url=URL, api_key=KEY, project_id="demo", trust_env=False)
    patterns = {"send": lambda client: lambda key, job_id, prompt: client.send_message(job_id, prompt), "once": once, "hand": hand, "dbos": dbos}
    send = patterns[PATTERN](client)
    # A key of its own for each process, so that several share a store.
    name = f"{os.getpid()} {time.time_ns()}"
    send(f"{name} warm", "job_warm", PROMPT)
    used, began = time.process_time(), time.perf_counter()
    for number in range(COUNT):
        if SECONDS:
            time.sleep(max(0.0, began + (number + PHASE) * SECONDS / COUNT - time.perf_counter()))
        send(f"{name} {number}", f"job_{number}", PROMPT)
    if SECONDS:
        time.sleep(max(0.0, began + SECONDS - time.perf_counter()))
    took, used = time.perf_counter() - began, time.process_time() - used
    print(json.dumps({"took": took, "processor": used}))
    sys.stdout.flush()
    if PATTERN == "dbos":
        sys.modules["dbos"].DBOS.destroy()


main()
