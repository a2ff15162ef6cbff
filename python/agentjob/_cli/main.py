"""Runs a command line.

A command is a function that takes the parsed flags and a report, and returns its exit status; `main` reports errors. The report
writes progress to stderr: a `progress.Progress` or an `events.JsonEvents`; a batch has its own of each. Only a batch's commands
load the modules of `batch`.
"""

import json
import sys

from .. import errors
from .._native import Client, serve_emulator
from . import exit
from .arguments import CLIENT, SCHEDULE, parser
from .events import JsonEvents
from .output import OutputError, emit
from .progress import Progress
from .terminal import write
from .wait import Interrupted, Wait


def main(argv=None):
    """Runs a command line, and returns its exit status."""
    if argv is None:
        argv = sys.argv[1:]
        # A record may contain an integer of any length, but Python 3.11 and later print at most 4300 digits.
        getattr(sys, "set_int_max_str_digits", int)(0)
    report = Progress()
    try:
        if argv[:1] == ["emulator"]:
            return serve_emulator(argv[1:])
        options = parser().parse_args(argv)
        if options.command is None:
            write(sys.stderr, parser().format_help())
            return exit.USAGE
        options.words = argv  # for the command that resumes a batch
        report = report_for(options)
        return COMMANDS[options.command](options, report)
    except errors.Error as error:
        report.fail(error)
        return exit.of_error(error)
    except KeyboardInterrupt as interrupt:
        report.fail(Interrupted(interrupt))
        return exit.INTERRUPTED
    except Exception as error:
        # Python would exit with 1, which means that the job failed.
        report.fail(errors.InternalError(f"{type(error).__name__}: {error}"))
        return exit.FAILED
    finally:
        report.end()


def report_for(options):
    if options.command == "send-all":
        from .batch.run import report_for

        return report_for(options)
    if getattr(options, "json_events", False):
        return JsonEvents()
    waits = options.command in ("wait", "demo") or getattr(options, "wait", False)
    return Progress(lines=waits, quiet=getattr(options, "quiet", False))


def send(options, report):
    prompt = read_prompt(options.prompt)
    with client(options, report) as service:
        if not options.wait:
            return show(service.send_message(options.job, prompt), report, delivered=True)
        job = Wait(options, service, report).message(options.job, prompt)
    return finish(job, report, delivered=True)


def wait(options, report):
    if options.resume is None and options.job is None:
        options.refuse("give the JOB to wait for, or --resume TEXT")
    beside = ["JOB"] * (options.job is not None)
    beside += ["--" + flag.replace("_", "-") for flag in SCHEDULE if hasattr(options, flag)]
    if options.resume is not None and beside:
        options.refuse(f"leave out {', '.join(beside)}: the TEXT of --resume contains the job and the times")
    with client(options, report) as service:
        wait = Wait(options, service, report)
        job = wait.job(options.job) if options.resume is None else wait.resumed(options.resume)
    return finish(job, report)


def get(options, report):
    with client(options, report) as service:
        return show(service.get_job(options.job), report)


def create(options, report):
    prompt = read_prompt(options.prompt)
    with client(options, report) as service:
        if not options.wait:
            return show(service.create_job(prompt), report, delivered=True)
        job = Wait(options, service, report).new_job(prompt)
    return finish(job, report, delivered=True)


def send_all(options, report):
    from .batch.run import send_all

    return send_all(options, report)


def batch_status(options, report):
    from .batch.status import batch_status

    return batch_status(options, report)


def demo(options, report):
    from ..testing import Emulator

    prompt = "Also cover the error cases"
    options.min_interval = 0.5
    with Emulator(work_ms=3000) as emulator, emulator.client(on_event=report.on_event) as service:
        report.say(f"an emulator of the service listens at {emulator.base_url}")
        report.say(f"sending to {emulator.job_id}: {prompt}")
        return finish(Wait(options, service, report).message(emulator.job_id, prompt), report)


def completion(options, report):
    from .completion import script

    broken = emit(script(options.shell))
    # A shell that reads half of a script must see that, unlike a reader of --help.
    if broken is not None:
        raise OutputError(f"the completion could not be written: {broken}")
    return exit.DONE


COMMANDS = {
    "send": send,
    "wait": wait,
    "get": get,
    "create": create,
    "send-all": send_all,
    "batch-status": batch_status,
    "demo": demo,
    "completion": completion,
}


def client(options, report):
    settings = {name: getattr(options, name) for name in CLIENT}
    return Client(**settings, user_agent_suffix="cli", on_event=report.on_event)


def read_prompt(given):
    if given != "-":
        return given
    if sys.stdin is None:
        raise errors.InvalidArgumentError("the prompt is read from stdin, which is closed")
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise errors.InvalidArgumentError("the prompt on stdin is not UTF-8") from None


def finish(job, report, delivered=False):
    """Prints a wait's last record."""
    status = show(job, report, delivered)
    return exit.JOB_FAILED if job["status"] == "failed" else status


def show(job, report, delivered=False):
    """Prints the record on stdout. ASCII only: it fits any encoding and has no control characters."""
    report.end()
    broken = emit(json.dumps(job, indent=2) + "\n")
    if broken is None:
        return exit.DONE
    if delivered:
        failure = OutputError("the record could not be written, but the message was accepted; do not send it again")
        failure.delivery = "accepted"
        report.fail(failure)
        return exit.DONE
    # A reader that went away, as head does, is no error.
    if not isinstance(broken, BrokenPipeError):
        report.fail(OutputError(f"the record could not be written: {broken}"))
    return exit.FAILED
