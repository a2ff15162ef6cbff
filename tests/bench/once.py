"""One message over TLS, as a whole program: once.py NAME URL KEY CA_FILE. Each entrant trusts the platform's roots and the CA file,
as a program that talks to a real service and to a test service does."""

import sys

PROMPT = "Also cover the error cases"
JOB = "job_demo"
NAME, URL, KEY, CA = sys.argv[1:5]
PATH = f"/v2/agent/demo/job/{JOB}/message"
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}


def bare():
    return {"id": JOB}


def agentjob():
    import agentjob

    return agentjob.Client(base_url=URL, api_key=KEY, project_id="demo", ca_file=CA).send_message(JOB, PROMPT)


def http_client():
    import http.client
    import json
    import ssl

    connection = http.client.HTTPSConnection(URL.split("//")[1], timeout=60, context=trusting(ssl))
    connection.request("POST", PATH, json.dumps({"prompt": PROMPT}), HEADERS)
    return json.loads(connection.getresponse().read())


def urllib3():
    import ssl

    import urllib3

    pool = urllib3.PoolManager(ssl_context=trusting(ssl))
    return pool.request("POST", URL + PATH, json={"prompt": PROMPT}, headers=HEADERS, timeout=60).json()


def httpx():
    import ssl

    import httpx

    with httpx.Client(timeout=60, headers=HEADERS, verify=trusting(ssl)) as client:
        return client.post(URL + PATH, json={"prompt": PROMPT}).json()


def requests():
    import requests

    # It takes one file or the other; its own roots are the ones it would read for a real service.
    return requests.post(URL + PATH, json={"prompt": PROMPT}, headers=HEADERS, timeout=60, verify=CA).json()


def trusting(ssl):
    context = ssl.create_default_context()
    context.load_verify_locations(CA)
    return context


assert globals()[NAME]()["id"] == JOB
