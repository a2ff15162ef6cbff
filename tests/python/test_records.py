"""Records at their limits: what a dict of one costs, long integers, and memory that ends."""

import contextlib
import json
import os
import re
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import PATIENCE

from agentjob.testing import Emulator

#: About 4 MB of nested values, without the braces and the documented keys around it.
NESTED = '"x":[' + '[[],{"a":0}],' * 300_000 + "0]"
#: About 4 MB in one text, which costs a dict no more than its own bytes.
TEXT = '"x":"' + "abcdefg\\n" * 500_000 + '"'

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")

#: A service of its own process, which serves one record to everybody.
SERVICE = """
import os, socket, sys, threading
record = b'{"id":"job_demo","status":"active",' + open(sys.argv[1], "rb").read() + b"}"
head = b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(record)
def serve(connection):
    try:
        while connection.recv(65536):
            connection.sendall(head + record)
    except OSError:
        pass  # a client whose memory ended
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""
CLIENT = """
import agentjob, json, os, resource, sys
def memory(line):
    return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith(line))
def forget_peak():
    open("/proc/self/clear_refs", "w").write("5")
def client():
    return agentjob.Client(base_url=f"http://127.0.0.1:{sys.argv[1]}", api_key="k_secret", project_id="p", trust_env=False)
"""


@pytest.fixture
def service(tmp_path):
    """Serves a record; returns a function that runs a script against it and returns what it printed, as JSON."""
    services = []

    def serve(members):
        (tmp_path / "record").write_text(members)
        command = [sys.executable, "-c", SERVICE, str(tmp_path / "record")]
        started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        services.append(started)
        port = started.stdout.readline().strip()

        def run(source):
            code = CLIENT + textwrap.dedent(source)
            # One heap, and what is freed goes back at once: nothing in reserve hides what a call takes.
            environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072"}
            ended = subprocess.run(
                [sys.executable, "-c", code, port], capture_output=True, text=True, timeout=5 * PATIENCE, env=environment
            )
            assert ended.returncode == 0, ended.stderr
            return json.loads(ended.stdout)

        return run

    yield serve
    for started in services:
        started.stdin.close()
        started.stdout.close()
        started.wait(PATIENCE)


@needs_linux
@pytest.mark.parametrize("members", [NESTED, TEXT], ids=["nested values", "a long text"])
def test_a_long_record_takes_four_times_its_length_and_its_dict(service, members):
    run = service(members)
    alone = run(
        """
        import socket, gc
        record = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        record.sendall(b"GET")
        text, length = b"", None
        while length is None or len(text) < length:
            text += record.recv(1 << 20)
            if length is None and b"\\r\\n\\r\\n" in text:
                head, text = text.split(b"\\r\\n\\r\\n")
                length = int(head.split()[-1])
        text = text.decode()
        before = memory("VmRSS:")
        made = json.loads(text)
        print(json.dumps([len(text), memory("VmRSS:") - before]))
        """
    )
    length, its_dict = alone
    peak = run(
        """
        with client() as client:
            before = memory("VmRSS:")
            forget_peak()
            job = client.get_job("job_demo")
            print(memory("VmHWM:") - before)
        """
    )
    assert peak <= 4 * length + its_dict * 1.1, f"{(peak - its_dict) / length:.1f} times its length beside the dict"


@needs_linux
def test_a_poll_that_returns_no_record_makes_no_dict(service):
    peak = service(NESTED)(
        """
        with client() as client:
            poller = client.poller("job_demo")
            before = memory("VmRSS:")
            forget_peak()
            assert poller.poll() is None
            assert poller.poll() is None and not poller.changed
            print(memory("VmHWM:") - before)
        """
    )
    assert peak <= 4 * len(NESTED), f"{peak / len(NESTED):.1f} times its length"


def number_of(digits):
    """What a client makes of a record's number."""
    body = '{"id":"a","status":"active","n":%s}' % digits
    with Emulator(rules=[{"status": 200, "body": body}]) as emulator:
        return emulator.client().get_job("a")["n"]


@contextlib.contextmanager
def allowing(digits):
    """Python converts ints of so many digits, and any with 0. Older Pythons have no limit."""
    set_limit = getattr(sys, "set_int_max_str_digits", lambda limit: None)
    before = getattr(sys, "get_int_max_str_digits", int)()
    set_limit(digits)
    try:
        yield
    finally:
        set_limit(before)


@pytest.mark.parametrize("limit", [640, 4300, 0])
@pytest.mark.parametrize("digits", ["7" * 4300, "-" + "9" * 4300, "1" + "0" * 511, "1" + "0" * 512, "123456789" * 300, "-" + "1" * 641])
def test_an_integer_of_4300_digits_is_an_int_whatever_the_program_allows(digits, limit):
    with allowing(limit):
        number = number_of(digits)
    assert type(number) is int
    expected = 0
    for digit in digits.lstrip("-"):
        expected = expected * 10 + int(digit)
    assert number == (-expected if digits.startswith("-") else expected)


@pytest.mark.parametrize("limit", [640, 4300, 0])
@pytest.mark.parametrize("digits", ["7" * 4301, "-" + "9" * 4301, "1" + "0" * 3_000_000])
def test_a_longer_integer_stays_a_text_because_its_value_would_take_minutes(digits, limit):
    began = time.process_time()
    with allowing(limit):
        number = number_of(digits)
    assert number == digits
    assert time.process_time() - began < PATIENCE


def test_the_command_line_prints_an_integer_of_any_length():
    digits = "7" * 5000
    with Emulator(rules=[{"status": 200, "body": '{"id":"a","status":"active","n":%s}' % digits}]) as emulator:
        command = [sys.executable, "-m", "agentjob", "get", "a"]
        ended = subprocess.run(
            command, env={**os.environ, **emulator.environment()}, capture_output=True, text=True, timeout=PATIENCE
        )
    assert ended.returncode == 0, ended.stderr
    assert re.search(r'"n": (\d+)', ended.stdout)[1] == digits
