"""Ctrl-C and other signals, while the core blocks."""

import os
import signal
import time

import pytest

from conftest import arrived, tried, wait_for

#: From the signal to the exception's arrival in Python.
LATENCY = 0.150

STALL = {"method": "POST", "fault": {"do": "stall", "at": "request", "process": True}}

MAY_HAVE_ARRIVED = "agentjob: the message may have arrived; check the job before you send it again"
NOT_SENT = "agentjob: the message was not sent, so it may be sent again"
ACCEPTED = "agentjob: the message was accepted; do not send it again"

#: A listener that accepts nothing: the kernel connects, and then there is silence.
SILENT = "full_listener(0).replace('http:', 'https:')"
#: A listener whose queue is full: a SYN gets no ACK.
NOWHERE = "full_listener()"

PREPARE = """
    import socket
    def full_listener(waiting=4):
        global kept
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        kept = [listener, *(socket.socket() for _ in range(waiting))]
        for knocking in kept[1:]:
            knocking.setblocking(False)
            knocking.connect_ex(listener.getsockname())
        return "http://127.0.0.1:%d" % listener.getsockname()[1]

    try:
        print("ready", flush=True)
        {call}
    except KeyboardInterrupt as interrupt:
        left = time.monotonic()
        print(left, *getattr(interrupt, "__notes__", ()), sep="\\n")
"""


def interrupted(emulator, script, call, *expected, requests=1):
    """Interrupts the call once it blocks: the exception comes in time, with these notes."""

    def attempt(n):
        before, sent = arrived(emulator), len(emulator.ledger())
        running = script(PREPARE.format(call=call))
        running.wait_until_ready()
        if not any(word in call for word in (NOWHERE, SILENT, "agentjob.Client(")):
            wait_for(lambda: arrived(emulator) >= before + requests, "the service has what it needs")
        # Only the program knows how much of the response it has read; its request may not even have arrived yet.
        time.sleep(0.1 * 2**n)
        at = time.monotonic()
        running.interrupt()
        out, err, status = running.end()
        assert status == 0, err
        left, *notes = out.splitlines()
        if NOT_SENT in notes and len(emulator.ledger()) > sent:
            pytest.fail("it was sent, and once is too often")
        assert notes in [list(one) if isinstance(one, tuple) else [one] for one in expected]
        assert float(left) - at < LATENCY

    tried(7, attempt)


def test_ctrl_c_in_a_wait(emulator, script):
    interrupted(emulator, script, 'client.wait("job_busy", min_interval=30, max_interval=30)', ())


def test_ctrl_c_in_a_request(emulator, script):
    emulator.reset(rules=[STALL])
    interrupted(emulator, script, 'client.send_message("job_demo", "go")', MAY_HAVE_ARRIVED)


def test_ctrl_c_while_connecting(emulator, script):
    call = f"agentjob.Client(base_url={NOWHERE}, trust_env=False).send_message('job_demo', 'go')"
    interrupted(emulator, script, call, NOT_SENT)


def test_ctrl_c_in_a_tls_handshake(emulator, script):
    call = f"agentjob.Client(base_url={SILENT}, trust_env=False).send_message('job_demo', 'go')"
    interrupted(emulator, script, call, NOT_SENT)


def test_ctrl_c_while_a_large_prompt_is_written(emulator, script):
    emulator.reset(rules=[{"fault": {"do": "stall", "at": "body:100"}}])
    # How much the kernel takes by itself is its own affair.
    interrupted(emulator, script, 'client.send_message("job_demo", "x" * 4_000_000)', NOT_SENT, MAY_HAVE_ARRIVED)


def test_ctrl_c_in_the_middle_of_a_response(emulator, script):
    emulator.reset(rules=[{"method": "POST", "fault": {"do": "stall", "at": "response:120"}}])
    interrupted(emulator, script, 'client.send_message("job_demo", "go")', ACCEPTED)


def test_ctrl_c_while_other_threads_work_and_wait(emulator, script):
    emulator.reset(rules=[STALL])
    call = """
        import threading
        for waiting in range(8):
            threading.Thread(target=client.wait, args=("job_busy",), kwargs={"min_interval": 30}, daemon=True).start()
        threading.Thread(target=lambda: [n * n for n in iter(int, 1)], daemon=True).start()
        client.send_message("job_demo", "go")
    """
    interrupted(emulator, script, call.strip(), MAY_HAVE_ARRIVED, requests=9)


def test_ctrl_c_in_the_pause_before_a_retry(emulator, script):
    emulator.reset(rules=[{"status": 429, "headers": {"Retry-After": "30"}}])
    rejected = "agentjob: the service rejected the message; fix the cause, then send it again"
    interrupted(emulator, script, 'client.send_message("job_demo", "go")', rejected)


def test_ctrl_c_in_the_wait_after_a_message(emulator, script):
    emulator.reset(work_ms=60_000)
    interrupted(emulator, script, 'client.send_and_wait("job_demo", "go", min_interval=30)', ACCEPTED)


def test_ctrl_c_in_a_watch_and_a_poller(emulator, script):
    interrupted(emulator, script, 'list(client.watch("job_busy", min_interval=30))', ())
    emulator.reset(rules=[{"fault": {"do": "stall", "at": "request"}}])
    interrupted(emulator, script, 'client.poller("job_demo").poll()', ())


def test_no_signal_is_lost_where_the_program_logs(emulator, script):
    emulator.reset(hourly_limit=10**9, keep_requests=False)
    running = script(
        """
        import logging, signal
        raised = came_out = 0

        class Alarm(Exception):
            pass

        def ring(*_):
            global raised
            raised += 1
            raise Alarm

        signal.signal(signal.SIGALRM, ring)
        end = time.monotonic() + 2
        while time.monotonic() < end or came_out <= 100:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.001)
                while True:
                    client.get_job("job_demo")
            except Alarm:
                came_out += 1
        print("ready", raised == came_out, flush=True)
        """
    )
    assert running.end()[0] == "ready True\n"


def test_ctrl_c_in_python_code_that_a_call_runs_itself_is_not_lost(emulator, script):
    """It asks the program's logging for its level."""
    running = script(
        """
        import logging, os, signal

        def interrupted(*given):
            logging.getLogger = own
            os.kill(os.getpid(), signal.SIGINT)
            return own(*given)

        own, logging.getLogger = logging.getLogger, interrupted
        try:
            client.send_message("job_demo", "go")
        except KeyboardInterrupt as interrupt:
            print(interrupt.delivery)
        """
    )
    assert running.end()[:2] == ("not_sent\n", "")
    assert emulator.ledger() == []


def test_ctrl_c_while_a_key_function_is_looked_at_is_not_lost(emulator, script):
    running = script(
        """
        import inspect, os, signal
        inspect.iscoroutinefunction = lambda given: os.kill(os.getpid(), signal.SIGINT)
        try:
            agentjob.Client(api_key=lambda: "key")
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    assert running.end()[:2] == ("interrupted\n", "")


def test_an_exception_of_a_signal_handler_is_raised_unchanged(emulator, script):
    emulator.reset(rules=[STALL])
    running = script(
        """
        import signal
        class Enough(Exception): pass
        raised = Enough("enough")
        def handler(*arguments): raise raised
        signal.signal(signal.SIGALRM, handler)
        print("ready", flush=True)
        try:
            client.send_message("job_demo", "go")
        except Enough as caught:
            print(caught is raised, *getattr(caught, "__notes__", ()))
        """
    )
    running.wait_until_ready()
    wait_for(lambda: arrived(emulator) == 1, "the message is there")
    running.process.send_signal(signal.SIGALRM)
    out, err, status = running.end()
    assert out == "True agentjob: the message may have arrived; check the job before you send it again\n", err


def test_a_handler_that_raises_nothing_does_not_end_the_call(emulator, script):
    emulator.reset(rules=[{"status": 200, "delay_ms": 1500}])
    running = script(
        """
        import signal
        ticks = []
        signal.signal(signal.SIGALRM, lambda *arguments: ticks.append(time.perf_counter()))
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        print("ready", flush=True)
        job = client.send_message("job_demo", "go")
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(job["id"], len(ticks) >= 5)
        """
    )
    running.wait_until_ready()
    out, err, status = running.end()
    assert out == "job_demo True\n", err
    assert len(emulator.ledger()) == 1


def test_a_client_is_of_use_after_an_interrupt(emulator, script):
    emulator.reset(rules=[{**STALL, "nth": 1}])
    running = script(
        """
        print("ready", flush=True)
        try:
            client.send_message("job_demo", "go")
        except KeyboardInterrupt:
            pass
        print(client.get_job("job_demo")["id"])
        """
    )
    running.wait_until_ready()
    wait_for(lambda: arrived(emulator) == 1, "the request is there")
    running.interrupt()
    assert running.end()[0] == "job_demo\n"


def test_ctrl_c_ends_a_client_that_waits_for_its_key_in_a_pipe(emulator, script, tmp_path):
    os.mkfifo(tmp_path / "key", 0o600)
    for setting in ("api_key_file", "ca_file"):
        given = f"base_url='http://127.0.0.1:9', project_id='p', {setting}={str(tmp_path / 'key')!r}"
        interrupted(emulator, script, f"agentjob.Client({given})", ())
