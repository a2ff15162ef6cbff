"""The Python entrants of the race: entrant.py NAME URL KEY. Told on standard input how many messages to send, each answers with
how many nanoseconds each took. Every one keeps its connection, sets a timeout, and parses the answer into a dict."""

import json
import sys
import time

PROMPT = "Also cover the error cases"
JOB = "job_demo"
NAME, URL, KEY = sys.argv[1:4]
PATH = f"/v2/agent/demo/job/{JOB}/message"
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}


def agentjob():
    import agentjob

    client = agentjob.Client(base_url=URL, api_key=KEY, project_id="demo")
    return lambda: client.send_message(JOB, PROMPT)


def http_client():
    import http.client

    connection = http.client.HTTPConnection(URL.split("//")[1], timeout=60)

    def send():
        connection.request("POST", PATH, json.dumps({"prompt": PROMPT}), HEADERS)
        return json.loads(connection.getresponse().read())

    return send


def pycurl():
    import io

    import pycurl

    easy = pycurl.Curl()
    easy.setopt(pycurl.URL, URL + PATH)
    easy.setopt(pycurl.HTTPHEADER, [f"{key}: {value}" for key, value in HEADERS.items()])
    easy.setopt(pycurl.TIMEOUT_MS, 60000)
    easy.setopt(pycurl.NOSIGNAL, 1)

    def send():
        answer = io.BytesIO()
        easy.setopt(pycurl.POSTFIELDS, json.dumps({"prompt": PROMPT}))
        easy.setopt(pycurl.WRITEDATA, answer)
        easy.perform()
        return json.loads(answer.getvalue())

    return send


def httpx():
    import httpx

    client = httpx.Client(timeout=60, headers=HEADERS)
    return lambda: client.post(URL + PATH, json={"prompt": PROMPT}).json()


def requests():
    import requests

    session = requests.Session()
    session.headers.update(HEADERS)
    return lambda: session.post(URL + PATH, json={"prompt": PROMPT}, timeout=60).json()


send = globals()[NAME]()
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        began = time.perf_counter_ns()
        record = send()
        times.append(time.perf_counter_ns() - began)
        assert record["id"] == JOB
    print(*times, flush=True)
