"""The command line: `agentjob`, or `python -m agentjob`.

A command is a function that takes the parsed flags and the report, and returns its exit status; `main` turns errors into
sentences. The report tells of it on stderr: it is a `_progress.Progress` or a `_json_events.JsonEvents`; a batch has its own
of either kind. Modules that only a batch needs are loaded for a batch.
"""

import json
import sys

from . import errors
from ._arguments import CLIENT, SCHEDULE, parser
from ._follow import Interrupted, Wait
from ._json_events import JsonEvents
from ._native import Client, serve_emulator
from ._output import OutputError, emit
from ._progress import Progress, write

DONE, JOB_FAILED, USAGE, FAILED, WAIT_TIMED_OUT, DELIVERY_UNKNOWN, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


def main(argv=None):
    """Runs a command line, and returns its exit status."""
    if argv is None:
        argv = sys.argv[1:]
        # The process is ours: a record may hold an integer of any length, and is printed with it (Python 3.11 on has a limit).
        getattr(sys, "set_int_max_str_digits", int)(0)
    report = Progress()
    try:
        if argv[:1] == ["emulator"]:
            return serve_emulator(argv[1:])
        options = parser().parse_args(argv)
        if options.command is None:
            write(sys.stderr, parser().format_help())
            return USAGE
        options.words = argv  # for the command that goes on with a batch
        report = report_for(options)
        return COMMANDS[options.command](options, report)
    except errors.Error as error:
        report.fail(error)
        return status_of(error)
    except KeyboardInterrupt as interrupt:
        report.fail(Interrupted(interrupt))
        return INTERRUPTED
    except Exception as error:
        # Python's own exit status would be 1, which means that the job failed.
        report.fail(errors.InternalError(f"{type(error).__name__}: {error}"))
        return FAILED
    finally:
        report.end()


def report_for(options):
    if options.command == "send-all":
        from ._batch_display import report_for

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
        options.refuse(f"leave out {', '.join(beside)}: the TEXT of --resume has the job and its times")
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
    from ._batch import send_all

    return send_all(options, report)


def batch_status(options, report):
    from ._batch_status import batch_status

    return batch_status(options, report)


def demo(options, report):
    from .testing import Emulator

    prompt = "Also cover the error cases"
    options.min_interval = 0.5
    with Emulator(work_ms=3000) as emulator, emulator.client(on_event=report.on_event) as service:
        report.say(f"a stand-in of the service listens at {emulator.base_url}")
        report.say(f"sending to {emulator.job_id}: {prompt}")
        return finish(Wait(options, service, report).message(emulator.job_id, prompt), report)


def completion(options, report):
    from ._completion import script

    broken = emit(script(options.shell, parser()))
    if broken is not None:
        raise OutputError(f"the completion could not be written: {broken}")
    return DONE


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
        raise errors.InvalidArgumentError("the prompt is to come from stdin, which is closed")
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise errors.InvalidArgumentError("the prompt on stdin is not UTF-8") from None


def finish(job, report, delivered=False):
    """The end of a wait."""
    shown = show(job, report, delivered)
    return JOB_FAILED if job["status"] == "failed" else shown


def show(job, report, delivered=False):
    """The record on stdout. Only ASCII leaves here, so it fits any terminal and cannot steer one."""
    report.end()
    broken = emit(json.dumps(job, indent=2) + "\n")
    if broken is None:
        return DONE
    if delivered:
        failure = OutputError("the record could not be written, but the message was accepted; do not send it again")
        failure.delivery = "accepted"
        report.fail(failure)
        return DONE
    # A reader that went away, as head does, has seen enough.
    if not isinstance(broken, BrokenPipeError):
        report.fail(OutputError(f"the record could not be written: {broken}"))
    return FAILED


def status_of(error):
    if isinstance(error, Interrupted):
        return INTERRUPTED
    if isinstance(error, errors.InvalidArgumentError):
        return USAGE
    if isinstance(error, errors.WaitTimeoutError):
        return WAIT_TIMED_OUT
    return DELIVERY_UNKNOWN if error.delivery == "unknown" else FAILED
