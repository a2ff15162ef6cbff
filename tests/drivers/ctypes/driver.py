#!/usr/bin/env python3
"""The ctypes driver (see ../README.md): reads calls from stdin, makes them, and prints the result of each as JSON."""

import json
import sys
import threading
from urllib.parse import unquote

from agentjob_ctypes import CancelToken, Client, Error


def deadline(text):
    """Seconds, or none."""
    return None if text == "none" else float(text)


TEXT = ["base_url", "api_key", "api_key_file", "project_id", "ca_file", "client_cert", "client_key", "proxy", "user_agent_suffix"]
READERS = {
    **dict.fromkeys(TEXT, str),
    **dict.fromkeys(["timeout", "connect_timeout", "max_retry_after", "min_interval", "max_interval", "lateness", "settle"], float),
    "wait_timeout": deadline,
    **dict.fromkeys(["max_retries", "max_prompt_bytes", "max_response_bytes"], int),
    **dict.fromkeys(["trust_env", "allow_plaintext"], "true".__eq__),
}


def blocks(lines):
    """Each block of lines `key=value` as a dict."""
    block = {}
    for line in lines:
        key, equals, value = line.rstrip("\n").partition("=")
        if equals:
            block[key] = unquote(value, errors="strict")
        elif block:
            yield block
            block = {}


def options(block, prefix):
    """The settings `prefix…` of the block, as keywords of the method: seconds, or none, and a header."""
    given = {key[len(prefix) :]: value for key, value in block.items() if key.startswith(prefix)}
    headers = {"headers": header(given.pop("header"))} if "header" in given else {}
    return {**headers, **{name: deadline(value) for name, value in given.items()}}


def header(line):
    name, _, value = line.partition(": ")
    return {name: value}


def perform(client, block, cancel):
    """Makes the call that the block describes, and returns its outcome as JSON."""
    operation, job_id, prompt = block["operation"], block.get("job_id", ""), block.get("prompt", "")
    call, wait = options(block, "call."), options(block, "wait.")
    if operation == "watch":
        return "[" + ", ".join(job.json for job in client.watch(job_id, cancel=cancel, **wait)) + "]"
    if operation == "send_message":
        job = client.send_message(job_id, prompt, cancel=cancel, **call)
    elif operation == "get_job":
        job = client.get_job(job_id, cancel=cancel, **call)
    elif operation == "create_job":
        job = client.create_job(prompt, cancel=cancel, **call)
    elif operation == "wait":
        job = client.wait(job_id, cancel=cancel, **wait)
    elif operation == "send_and_wait":
        job = client.send_and_wait(job_id, prompt, cancel=cancel, **wait)
    else:
        raise SystemExit(f"driver.py: no such operation: {operation}")
    return job.json


def error_json(error):
    """An error as the protocol defines it."""
    facts = ("kind", "delivery", "http_status", "retry_after", "request_id", "body", "attempts")
    values = {name: getattr(error, name) for name in facts}
    return {"error": {**values, "message": str(error), "job": json.loads(error.job.json) if error.job else None}}


def run_call(block):
    cancel = CancelToken()
    timer = threading.Timer(float(block.get("cancel_after", 0)), cancel.cancel)
    if "cancel_after" in block:
        timer.start()
    try:
        settings = {name: read(block[name]) for name, read in READERS.items() if name in block}
        headers = {"headers": header(block["header"])} if "header" in block else {}
        with Client(**settings, **headers) as client:
            return f'{{"ok": {perform(client, block, cancel)}}}'
    except Error as error:
        return json.dumps(error_json(error))
    finally:
        timer.cancel()


if __name__ == "__main__":
    for block in blocks(sys.stdin):
        print(run_call(block), flush=True)
