"""Ctrl-C in trio that comes at the worst moment: when the wait for a thread is registered, and the task doesn't sleep yet."""

import pytest

pytest.importorskip("trio", reason="trio is not installed")

#: A call, and Ctrl-C where trio's Event has the waiting task and the task still runs. Tracing finds that place.
PROGRAM = """
import signal, sys, trio
from agentjob.aio import AsyncClient
signal.signal(signal.SIGINT, signal.default_int_handler)
worst = []

def enter(frame, event, arg):
    return inside if frame.f_code is trio.Event.wait.__code__ else None

def inside(frame, event, arg):
    if not worst and frame.f_locals["self"].statistics().tasks_waiting:
        worst.append(frame.f_lineno)
        signal.raise_signal(signal.SIGINT)
    return inside

async def main():
    async with AsyncClient.of(client) as service:
        sys.settrace(enter)
        try:
            await {call}
        finally:
            sys.settrace(None)
            print("worst moment" if worst else "not reached", flush=True)

trio.run(main)
"""


@pytest.mark.parametrize("call", ["service.get_job('job_demo')", "service.send_message('job_demo', 'p')"])
def test_ctrl_c_between_registering_and_sleeping_wakes_no_task_twice(emulator, script, call):
    emulator.reset(rules=[{"status": 200, "delay_ms": 300}])
    out, err, _ = script(PROGRAM.format(call=call)).end()
    assert "worst moment" in out
    assert "TrioInternalError" not in err and "\nKeyboardInterrupt\n" in err, err


def test_ctrl_c_before_a_request_is_waited_for_leaves_none_behind(emulator, script):
    """Where the request has begun and its task does not wait for it yet, Ctrl-C must not lose it: its verdict would be unknown to all."""
    emulator.reset(rules=[{"status": 200, "delay_ms": 300}])
    source = """
import signal, trio
from agentjob.aio import AsyncClient
from agentjob._aio.threads import Threads
signal.signal(signal.SIGINT, signal.default_int_handler)
submit = Threads.submit

def submit_and_interrupt(*call):
    future = submit(*call)
    signal.raise_signal(signal.SIGINT)
    return future

async def main():
    try:
        Threads.submit = submit_and_interrupt
        await AsyncClient.of(client).send_message("job_demo", "p")
    except KeyboardInterrupt as interrupt:
        print(interrupt.delivery)

trio.run(main)
"""
    out, err, status = script(source).end()
    assert (err, status) == ("", 0) and out.strip() in ("not_sent", "unknown"), (out, err)
