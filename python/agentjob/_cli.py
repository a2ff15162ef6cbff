"""The command line: `agentjob`, or `python -m agentjob`.

A command is a function that takes the parsed flags and returns its exit status; `main` turns errors into sentences.
"""

import argparse
import json
import os
import shlex
import sys

from . import __version__, errors
from ._native import Client, serve_emulator
from ._progress import Progress, printable, write

DONE, JOB_FAILED, USAGE, FAILED, WAIT_TIMED_OUT, DELIVERY_UNKNOWN, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

EPILOG = """\
exit status: 0 done, 1 the job failed (only when waiting), 2 usage, 3 refused or failed, 4 the wait timed out,
5 the message may have arrived (look at the job before sending it again), 130 interrupted

The base URL, the key and the project come from AGENTJOB_BASE_URL, AGENTJOB_API_KEY (or AGENTJOB_API_KEY_FILE) and
AGENTJOB_PROJECT_ID. No flag takes the key itself: it would show in the list of processes.
"""


def main(argv=None):
    """Runs a command line, and returns its exit status."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        if argv[:1] == ["emulator"]:
            return serve_emulator(argv[1:])
        options = parser().parse_args(argv)
        return options.command(options)
    except errors.Error as error:
        complain(error)
        return status_of(error)
    except KeyboardInterrupt as interrupt:
        return interrupted(interrupt)
    except Exception as error:
        # Python's own exit status would be 1, which means that the job failed.
        complain(f"{type(error).__name__}: {error}")
        return FAILED


def parser():
    top = argparse.ArgumentParser(
        prog="agentjob",
        description="Send a follow-up message to an agent job, and follow the job until it is done.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"agentjob {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def command(name, run, help, *arguments, waits=None):
        sub = commands.add_parser(
            name,
            help=help,
            description=help[0].upper() + help[1:] + ".",
            epilog=EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for argument in arguments:
            sub.add_argument(argument, metavar=argument.upper(), help=HELP[argument])
        if waits is not None:
            add_wait_flags(sub, optional=waits == "on request")
        sub.set_defaults(command=run)
        return sub

    sends = command("send", send, "send a message to a job", "job", "prompt", waits="on request")
    gets = command("get", get, "print a job's record", "job")
    waits = command("wait", wait, "wait until a job is done", "job", waits="always")
    creates = command("create", create, "create a job", "prompt", waits="on request")
    for sub in (sends, gets, waits, creates):
        add_client_flags(sub)
    demo_ = command("demo", demo, "send a message to a stand-in of the service in this process, and wait for it")
    demo_.add_argument("--quiet", action="store_true", help="no progress on stderr")
    # Never parsed here: it has the flags of the emulator's own program.
    commands.add_parser("emulator", help="run a stand-in of the service on loopback (see emulator --help)", add_help=False)
    return top


HELP = {
    "job": "the job's id",
    "prompt": "the message; - reads it from stdin, without the line ends at its end",
}


def add_client_flags(sub):
    group = sub.add_argument_group("client")
    group.add_argument("--base-url", metavar="URL", help="where the service is (AGENTJOB_BASE_URL)")
    group.add_argument("--project-id", metavar="ID", help="the project of the jobs (AGENTJOB_PROJECT_ID)")
    group.add_argument("--api-key-file", metavar="FILE", help="a file that holds the key alone (AGENTJOB_API_KEY_FILE)")
    group.add_argument("--ca-file", metavar="FILE", help="a PEM file of authorities to trust, too (AGENTJOB_CA_FILE)")
    group.add_argument("--proxy", metavar="URL", help="the HTTP proxy, instead of the environment's")
    group.add_argument("--allow-plaintext", action="store_true", help="let plain http go to another machine")
    group.add_argument("--timeout", type=float, metavar="S", help="total seconds of one request (60; AGENTJOB_TIMEOUT)")
    group.add_argument("--max-retries", type=int, metavar="N", help="how often a failed request is made again (2)")


def add_wait_flags(sub, optional):
    group = sub.add_argument_group("wait")
    if optional:
        group.add_argument("--wait", action="store_true", help="then wait until the job is done")
    group.add_argument(
        "--wait-timeout", type=seconds_or_none, default=1800.0, metavar="S", help="seconds to wait, or none (1800)"
    )
    group.add_argument("--min-interval", type=float, default=2.0, metavar="S", help="shortest pause between looks (2)")
    group.add_argument("--max-interval", type=float, default=60.0, metavar="S", help="longest pause between looks (60)")
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")


def seconds_or_none(text):
    return None if text == "none" else float(text)


def send(options):
    prompt = read_prompt(options.prompt)
    if not options.wait:
        with client(options) as service:
            return show(service.send_message(options.job, prompt), delivered=True)
    return follow(options, lambda: options.job, lambda service, **how: service.send_and_wait(options.job, prompt, **how))


def get(options):
    with client(options) as service:
        return show(service.get_job(options.job))


def wait(options):
    return follow(options, lambda: options.job, lambda service, **how: service.wait(options.job, **how))


def create(options):
    prompt = read_prompt(options.prompt)
    if not options.wait:
        with client(options) as service:
            return show(service.create_job(prompt), delivered=True)
    progress = Progress(options.quiet)
    created = []

    def waiting(service, **how):
        # One client for both: it knows that the job is new, and that a 404 may be the service catching up.
        job = service.create_job(prompt)
        created.append(job["id"])
        write(sys.stderr, f"agentjob: created job {printable(job['id'])}\n")
        return service.wait(job["id"], **how)

    return follow(options, lambda: created[0], waiting, progress)


def demo(options):
    from .testing import Emulator

    with Emulator(work_ms=3000) as emulator:
        say = (lambda *_: None) if options.quiet else (lambda text: write(sys.stderr, text + "\n"))
        say(f"agentjob: a stand-in of the service listens at {emulator.base_url}")
        say(f"agentjob: sending to {emulator.job_id}: Also cover the error cases")
        with Progress(options.quiet) as progress, emulator.client(on_event=progress.on_event) as service:
            job = service.send_and_wait(
                emulator.job_id, "Also cover the error cases", min_interval=0.5, on_update=progress.on_update
            )
        return show(job)


def follow(options, job_id, waiting, progress=None):
    """A wait with its progress line. `job_id` is asked for when it is known."""
    progress = progress or Progress(options.quiet)
    try:
        with progress, client(options, progress.on_event) as service:
            job = waiting(
                service,
                timeout=options.wait_timeout,
                min_interval=options.min_interval,
                max_interval=options.max_interval,
                on_update=progress.on_update,
            )
    except KeyboardInterrupt as interrupt:
        status = interrupted(interrupt)
        if progress.waiting:
            write(sys.stderr, f"the job goes on; to go on waiting: {resume_command(options, job_id())}\n")
        return status
    shown = show(job, delivered=options.command in (send, create))
    return JOB_FAILED if job["status"] == "failed" else shown


def interrupted(interrupt):
    """The notes say what became of the message, if one was on its way."""
    complain("interrupted")
    for note in getattr(interrupt, "__notes__", ()):
        write(sys.stderr, f"{note}\n")
    return INTERRUPTED


def resume_command(options, job_id):
    words = ["agentjob", "wait", job_id]
    for name in ("base_url", "project_id", "api_key_file", "ca_file", "proxy", "timeout", "max_retries"):
        given = getattr(options, name)
        if given is not None:
            words += ["--" + name.replace("_", "-"), str(given)]
    if options.allow_plaintext:
        words.append("--allow-plaintext")
    if job_id.startswith("-"):
        words = [*words[:2], *words[3:], "--", job_id]
    return " ".join(map(shlex.quote, words))


def client(options, on_event=None):
    return Client(
        base_url=options.base_url,
        project_id=options.project_id,
        api_key_file=options.api_key_file,
        ca_file=options.ca_file,
        proxy=options.proxy,
        allow_plaintext=options.allow_plaintext,
        timeout=options.timeout,
        max_retries=options.max_retries,
        user_agent_suffix="cli",
        on_event=on_event,
    )


def read_prompt(given):
    if given != "-":
        return given
    if sys.stdin is None:
        raise errors.InvalidArgumentError("the prompt is to come from stdin, which is closed")
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise errors.InvalidArgumentError("the prompt on stdin is not UTF-8") from None


def show(job, delivered=False):
    """The record on stdout. Only ASCII leaves here, so it fits any terminal and cannot steer one."""
    try:
        print(json.dumps(job, indent=2), flush=True)
        if sys.stdout is not None:
            return DONE
        broken = "standard output is closed"
    except (OSError, ValueError) as error:
        broken = error
        # What is still buffered must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if delivered:
        complain("the record could not be written, but the message was accepted; do not send it again")
        return DONE
    # A reader that went away, as head does, has seen enough.
    if not isinstance(broken, BrokenPipeError):
        complain(f"the record could not be written: {broken}")
    return FAILED


def complain(what):
    write(sys.stderr, f"agentjob: {what}\n")


def status_of(error):
    if isinstance(error, errors.InvalidArgumentError):
        return USAGE
    if isinstance(error, errors.WaitTimeoutError):
        return WAIT_TIMED_OUT
    return DELIVERY_UNKNOWN if error.delivery == "unknown" else FAILED
