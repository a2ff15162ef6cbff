"""Runs a command line.

A command is a function that takes the parsed flags and a report, and returns its exit status; `main` reports errors. The report
writes progress to stderr: a `progress.Progress` or an `events.JsonEvents`; a batch has its own of each. Only a batch's commands
load the modules of `batch`.
"""

import argparse
import itertools
import sys

from .. import errors
from .._json import loads
from .._native import serve_emulator
from . import exit
from .arguments import parser
from .client import client
from .events import JsonEvents
from .flags import SCHEDULE
from .output import OutputError, emit, print_result
from .progress import Progress
from .prompt import read_prompt
from .record import pretty
from .terminal import write
from .signals import SIGNALS
from .wait import Interrupted, Wait, add_known, command, delivered, job_words


#: There is no id to check.
NEW_JOB_UNKNOWN = "agentjob: the job may have been created; check the project's jobs before you create it again"


def main(argv=None):
    """Runs a command line, and returns its exit status."""
    if argv is None:
        argv = sys.argv[1:]
    # What is reported until the command line is parsed. words: for the command that resumes a batch. delivery: what is known of the
    # command's message, whatever ends the command.
    options = argparse.Namespace(words=argv, delivery="not_sent" if argv[:1] in (["send"], ["create"]) else None)
    report = JsonEvents() if "--json-events" in itertools.takewhile("--".__ne__, argv) else Progress()
    try:
        try:
            SIGNALS.start()
            if argv[:1] == ["emulator"]:
                return serve_emulator("agentjob emulator", argv[1:])
            parser().parse_args(argv, options)
            if options.command is None:
                write(sys.stderr, parser().format_help())
                return exit.USAGE
            with SIGNALS.held():  # these load modules
                report, function = report_for(options), function_of(options.command)
            return function(options, report)
        except errors.Error as error:
            return fail(error, options, report)
        except Exception as error:
            # Python would exit with 1, which means that the job failed.
            return fail(errors.InternalError(f"{type(error).__name__}: {error}"), options, report)
        finally:
            SIGNALS.over()
    except KeyboardInterrupt as interrupt:
        return fail(ended_by(interrupt), options, report)
    finally:
        report.end()


def ended_by(interrupt):
    """What a signal's exception reports: the error that was about to end the command when the signal came, perhaps while the client
    closed; or else the signal."""
    while isinstance(interrupt.__context__, KeyboardInterrupt):
        interrupt = interrupt.__context__  # raised again, because it seemed lost; this one has what is known
    error = interrupt.__context__
    return error if isinstance(error, errors.Error) else Interrupted(interrupt)


def fail(error, options, report):
    """Reports the error that ended a command, and what shows whether a message arrived that may have."""
    SIGNALS.over()
    add_known(error, options)
    if error.delivery == "unknown" and options.command == "send":
        error.check = command(options, "get", *job_words(options.job))
    elif error.delivery == "unknown" and options.command == "create" and hasattr(error, "remarks"):
        error.remarks = [NEW_JOB_UNKNOWN]
    if isinstance(error, Interrupted) and error.job is not None:
        report.on_update(error.job)
    report.fail(error)
    return exit.of_error(error, getattr(options, "command", None))


def function_of(command):
    if command.startswith("batch"):
        from .batch.commands import function_of

        return function_of(command)
    return COMMANDS[command]


def report_for(options):
    if options.command == "batch run":
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
            return show(delivered(options, lambda: service._record_json(options.job, prompt)), report, delivers=True)
        wait = Wait(options, service, report)
        wait.message(options.job, prompt)
    return finish(wait, report, delivers=True)


def wait(options, report):
    if options.resume is None and options.job is None:
        options.refuse("give the JOB to wait for, or --resume TEXT")
    beside = ["JOB"] * (options.job is not None)
    beside += ["--" + flag.replace("_", "-") for flag in SCHEDULE if hasattr(options, flag)]
    if options.resume is not None and beside:
        options.refuse(f"leave out {', '.join(beside)}: the TEXT of --resume contains the job and the times")
    with client(options, report) as service:
        wait = Wait(options, service, report)
        if options.resume is None:
            wait.job(options.job)
        else:
            wait.resumed(options.resume)
    return finish(wait, report)


def get(options, report):
    with client(options, report) as service:
        return show(service._record_json(options.job), report)


def create(options, report):
    prompt = read_prompt(options.prompt)
    with client(options, report) as service:
        if not options.wait:
            record = delivered(options, lambda: service._record_json(prompt=prompt))
            return show(record, report, delivers=True, creator=service)
        wait = Wait(options, service, report)
        wait.new_job(prompt)
    return finish(wait, report, delivers=True, creator=service)


def help(options, report):
    from .topics import page

    print_result(page(options.top, options.topic, options.refuse), "the help could not be written")
    return exit.DONE


def demo(options, report):
    from ..testing import Emulator

    prompt = "Also cover the error cases"
    options.min_interval = 0.5
    with Emulator(work_ms=3000) as emulator, emulator.client(on_event=report.on_event)._warning_to(report.on_warning) as service:
        report.say(f"an emulator of the service listens at {emulator.base_url}")
        report.say(f"sending to {emulator.job_id}: {prompt}")
        wait = Wait(options, service, report)
        wait.message(emulator.job_id, prompt)
        return finish(wait, report)


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
    "help": help,
    "demo": demo,
    "completion": completion,
}


def finish(wait, report, delivers=False, creator=None):
    """Prints a wait's last record."""
    status = show(wait.poller._record_json, report, delivers, creator)
    return exit.JOB_FAILED if wait.poller.job["status"] == "failed" else status


def show(record, report, delivers=False, creator=None):
    """Prints a record on stdout. delivers: the command delivered a message. creator: the client that created the job."""
    try:
        report.end()
        broken = emit(pretty(record))
    except KeyboardInterrupt as interrupt:
        if creator:
            creator._add_new_job(interrupt, loads(record), None)
        raise
    if broken is None:
        return exit.DONE
    if delivers:
        known = "the job was created; do not create it again" if creator else "the message was accepted; do not send it again"
        failure = OutputError(f"the record could not be written, but {known}")
        failure.delivery = "accepted"
        if creator:
            creator._add_new_job(failure, loads(record), None)
            failure.remarks = failure.__notes__
            report.on_update(failure.job)
        report.fail(failure)
        # A script that sends again after a failure must not do so here. It checks the job, and so gets the record.
        return exit.DELIVERY_UNKNOWN
    # A reader that went away, as head does, is no error.
    if not isinstance(broken, BrokenPipeError):
        report.fail(OutputError(f"the record could not be written: {broken}"))
    return exit.FAILED
