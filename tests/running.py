"""Runs one part of a long check: prints what it prints, and leaves none of its processes running if it fails or hangs."""

import os
import signal
import subprocess
import sys
import threading


#: The commands that run now.
RUNNING = set()


def run(command, limit, on_line, environment=None):
    """The result of a command: ok, FAILED, or that it was ended after `limit` seconds. `on_line` gets each line that it prints."""
    # Its own session, so that `end` reaches every process that it started.
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    RUNNING.add(process)
    reader = threading.Thread(target=copy, args=(process.stdout, on_line), daemon=True)
    reader.start()
    result = "interrupted"
    try:
        result = "ok" if process.wait(limit) == 0 else "FAILED"
    except subprocess.TimeoutExpired:
        result = f"FAILED: ended after {limit // 60} minutes"
    finally:
        RUNNING.discard(process)
        if result != "ok":
            end(process)
        # A process that it left behind may keep its output open forever.
        reader.join(10)
    return result


def copy(stream, on_line):
    for line in stream:
        sys.stdout.write(line)
        sys.stdout.flush()
        on_line(line)


def end_all():
    """Ends the commands that other threads run."""
    for process in list(RUNNING):
        end(process)


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
