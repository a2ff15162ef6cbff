#!/usr/bin/env python3
"""The Python driver (see ../README.md): reads calls from stdin, makes them with agentjob, and prints the result of each as JSON."""

import json
import math
import sys
import threading
from urllib.parse import unquote

import agentjob

TEXT = ("base_url", "api_key", "api_key_file", "project_id", "ca_file", "client_cert", "client_key", "proxy", "user_agent_suffix")
SECONDS = ("timeout", "connect_timeout", "max_retry_after", "min_interval", "max_interval", "lateness", "settle")
WHOLE = ("max_retries", "max_prompt_bytes", "max_response_bytes")
FLAGS = ("trust_env", "allow_plaintext")


def blocks(lines):
    """Each block of lines `key=value` as a dict."""
    block = {}
    for line in lines:
        line = line.rstrip("\n")
        if line:
            key, _, value = line.partition("=")
            block[key] = unquote(value, errors="strict")
        elif block:
            yield block
            block = {}
    if block:
        yield block


def settings(block):
    """The client's options in the block."""
    readers = [(TEXT, str), (SECONDS, float), (("wait_timeout",), deadline), (WHOLE, int), (FLAGS, "true".__eq__)]
    given = {name: read(block[name]) for names, read in readers for name in names if name in block}
    return {**given, "headers": header(block["header"])} if "header" in block else given


def deadline(text):
    return math.inf if text == "none" else float(text)


def options(block, prefix):
    """The settings `prefix…` of the block, as keywords of the method: seconds, or none."""
    given = {key[len(prefix) :]: value for key, value in block.items() if key.startswith(prefix)}
    headers = {"headers": header(given.pop("header"))} if "header" in given else {}
    return {**{name: None if value == "none" else float(value) for name, value in given.items()}, **headers}


def header(line):
    name, _, value = line.partition(": ")
    return {name: value}


def make_call(client, block, cancel):
    """Makes the call that the block describes, and returns what it returns."""
    operation, job_id, prompt = block["operation"], block.get("job_id", ""), block.get("prompt", "")
    call, wait = options(block, "call."), options(block, "wait.")
    if operation == "send_message":
        return client.send_message(job_id, prompt, cancel=cancel, **call)
    if operation == "get_job":
        return client.get_job(job_id, cancel=cancel, **call)
    if operation == "create_job":
        return client.create_job(prompt, cancel=cancel, **call)
    if operation == "wait":
        return client.wait(job_id, cancel=cancel, **wait)
    if operation == "send_and_wait":
        return client.send_and_wait(job_id, prompt, cancel=cancel, **wait)
    if operation == "watch":
        return list(client.watch(job_id, cancel=cancel, **wait))
    raise SystemExit(f"driver.py: no such operation: {operation}")


def error_json(error):
    """An error as the protocol defines it."""
    facts = ("kind", "delivery", "message", "http_status", "retry_after", "request_id", "body", "attempts", "job")
    return {"error": {name: getattr(error, name) for name in facts}}


def run_call(block):
    """Makes one call; returns its record or its error."""
    try:
        client = agentjob.Client(**settings(block))
        return {"ok": make_call(client, block, canceller(block))}
    except agentjob.Error as error:
        return error_json(error)


def canceller(block):
    """A token that is cancelled after a while, if the block says so."""
    if "cancel_after" not in block:
        return None
    token = agentjob.CancelToken()
    timer = threading.Timer(float(block["cancel_after"]), token.cancel)
    timer.daemon = True
    timer.start()
    return token


if __name__ == "__main__":
    for block in blocks(sys.stdin):
        print(json.dumps(run_call(block)), flush=True)
