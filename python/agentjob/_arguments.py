"""What the command line takes, and the help that tells it."""

import argparse
import sys

from . import __version__
from ._output import OutputError, emit
from ._progress import write

#: The schedule's flags, and the wait's options that they are. One that was not given is not in the parsed flags.
SCHEDULE = {"wait_timeout": "timeout", "min_interval": "min_interval", "max_interval": "max_interval"}
#: The flags that say which service is asked, and how.
CLIENT = ("base_url", "project_id", "api_key_file", "ca_file", "proxy", "timeout", "max_retries", "allow_plaintext")

ABOUT = """\
Send a follow-up message to an agent job, and follow the job until it is done.
The job's record goes to stdout as JSON; progress and errors go to stderr.
"""

COMMANDS = {
    "send": "send a message to a job",
    "wait": "wait until a job is done",
    "get": "print a job's record",
    "create": "create a job",
    "send-all": "send the messages of a file, each at most once, and go on where it was",
    "batch-status": "tell how far a batch of send-all is, from its journal",
    "demo": "send a message to a stand-in of the service, and wait for it",
    "emulator": "run that stand-in by itself, on loopback",
    "completion": "print what lets a shell complete commands and flags",
}

SETTINGS = """\
settings, from the environment:
  AGENTJOB_BASE_URL       where the service is, https://...
  AGENTJOB_API_KEY        the key, or AGENTJOB_API_KEY_FILE, a file that holds it alone and that
                          no other user can read (AGENTJOB_ALLOW_SHARED_KEY_FILE=1 if they may);
                          no flag takes the key, for it would show in the list of processes
  AGENTJOB_PROJECT_ID     the project of the jobs
  AGENTJOB_CA_FILE, AGENTJOB_TIMEOUT, HTTPS_PROXY, NO_PROXY and NO_COLOR count, too; a flag goes before its variable
"""

STATUSES = """\
exit status:
  0 done
  1 the job failed (only when waiting)
  2 usage: a wrong flag, argument or setting; nothing was sent
  3 refused or failed
  4 the wait's time was over, and the job goes on
  5 the message may have arrived: look at the job before you send it again
  130 interrupted
"""

BATCH_STATUSES = """\
exit status, the first of them that applies:
  130 interrupted (143 by SIGTERM, 129 by SIGHUP); the batch can go on
  2 usage: a wrong flag, setting or line of the file; nothing was sent
  5 a message may have arrived: look at its job before you send it again
  3 a message was refused, or the batch was stopped by an error; the batch can go on
  4 a wait's time was over, and the job goes on
  1 a job failed (only when waiting)
  0 done
"""

STATUS_STATUSES = """\
exit status:
  0 the journal was read
  2 usage
  3 the journal cannot be read, or the status not be written
  5 no run is on, and a message may have arrived: look at its job before you send it again
  130 interrupted
"""

FILE_FORMATS = """\
the file, every line of which is checked before anything is sent:
  JSONL   an object a line: {"job_id": "job_1", "prompt": "Add tests", "key": "a name of its own, if you like"}
  CSV     a header, job_id,prompt or job_id,prompt,key, then a record a message
  Without a key a message is known by its content and its place: add new ones at the end.

the journal remembers what was sent. Run the same command again, and it goes on where it was, whatever ended it:
  what was accepted or rejected is not sent again, and what may have arrived is named, and not sent again either.
  stdout has an outcome a line, as JSON: item, line, key, job_id, delivery, job, error, earlier.
"""

EXAMPLES = {
    "": """\
  agentjob demo                                     a look at it all; needs no service and no settings
  agentjob send job_123 "Also cover the error cases" --wait
  agentjob get job_123
  agentjob COMMAND --help                           a command's own flags
""",
    "send": """\
  agentjob send job_123 "Also cover the error cases"
  agentjob send job_123 "Also cover the error cases" --wait > record.json
  git diff | agentjob send job_123 - --wait --wait-timeout 3600
""",
    "wait": """\
  agentjob wait job_123
  agentjob wait job_123 --wait-timeout none --json-events
  agentjob wait --resume '{"agentjob_poller":1,...}'    as Ctrl-C printed it
""",
    "get": "  agentjob get job_123\n",
    "create": '  agentjob create "Write the missing tests" --wait\n',
    "send-all": """\
  agentjob send-all messages.jsonl --journal night.journal --rate 100/h
  agentjob send-all messages.csv --journal night.journal --wait | jq -r .job.prLink
  agentjob send-all messages.jsonl --journal night.journal --resend-unknown
""",
    "batch-status": """\
  agentjob batch-status night.journal
  agentjob batch-status night.journal --json | jq .progress
""",
    "demo": "  agentjob demo\n",
    "completion": """\
  eval "$(agentjob completion bash)"                in ~/.bashrc
  eval "$(agentjob completion zsh)"                 in ~/.zshrc, after compinit
  agentjob completion fish | source                 in ~/.config/fish/config.fish
""",
}


class Parser(argparse.ArgumentParser):
    def print_help(self, file=None):
        """What --help says is a command's result: argparse would drop it in silence, or leave it for the interpreter's end."""
        result("help", self.format_help())

    def error(self, message):
        """Says on stderr what is wrong with the flags, and ends with the status for that, also where nobody takes the words."""
        write(sys.stderr, f"{self.format_usage()}{self.prog}: error: {message}\n")
        raise SystemExit(2)


class Version(argparse.Action):
    def __call__(self, parser, *_):
        result("version", f"agentjob {__version__}\n")
        parser.exit()


def result(name, text):
    broken = emit(text)
    # A reader that went away, as head does, has seen enough.
    if broken is not None and not isinstance(broken, BrokenPipeError):
        raise OutputError(f"the {name} could not be written: {broken}")


def parser():
    """The tree of commands. What it parses has `command`, the name of one."""
    top = Parser(
        prog="agentjob",
        usage="agentjob COMMAND ...",
        description=ABOUT + "\ncommands:\n" + "".join(f"  {name:<14}{help}\n" for name, help in COMMANDS.items()),
        epilog=epilog(""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action=Version, nargs=0, help="show the version and exit")
    # The description lists the commands, for argparse would not align them.
    commands = top.add_subparsers(prog="agentjob", metavar="COMMAND", dest="command", help=argparse.SUPPRESS)

    send = command(commands, "send", "[flags] JOB PROMPT")
    add_job(send)
    add_prompt(send)
    add_wait_flags(send, optional=True)
    wait = command(commands, "wait", "[flags] JOB\n       agentjob wait [flags] --resume TEXT")
    add_job(wait, nargs="?")
    add_wait_flags(wait, optional=False)
    wait.set_defaults(refuse=wait.error)
    get = command(commands, "get", "[flags] JOB")
    add_job(get)
    create = command(commands, "create", "[flags] PROMPT")
    add_prompt(create)
    add_wait_flags(create, optional=True)
    for sub in (send, wait, get, create):
        group = add_client_flags(sub)
        group.add_argument("--max-retries", type=int, metavar="N", help="how often a failed request is made again (2)")
        add_output_flags(sub)
    add_batch(command(commands, "send-all", "[flags] FILE --journal RUN"))
    status = command(commands, "batch-status", "[flags] RUN")
    status.add_argument("run", metavar="RUN", help="the batch's journal")
    status.add_argument("--json", action="store_true", help="all of it, as JSON")
    add_output_flags(command(commands, "demo", "[flags]"))
    # Never parsed here: it has the flags of the emulator's own program.
    commands.add_parser("emulator", add_help=False)
    completion = command(commands, "completion", "SHELL")
    completion.add_argument("shell", metavar="SHELL", choices=["bash", "zsh", "fish"], help="bash, zsh or fish")
    return top


def command(commands, name, usage):
    return commands.add_parser(
        name,
        usage=f"agentjob {name} {usage}",
        description=COMMANDS[name][0].upper() + COMMANDS[name][1:] + ".",
        epilog=epilog(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def epilog(name):
    parts = [f"examples:\n{EXAMPLES[name]}"]
    if name == "send-all":
        parts.append(FILE_FORMATS)
    if name not in ("batch-status", "demo", "completion"):
        parts.append(SETTINGS)
    statuses = {"send-all": BATCH_STATUSES, "batch-status": STATUS_STATUSES}
    return "\n".join([*parts, statuses.get(name, STATUSES)])


def add_job(sub, **how):
    sub.add_argument("job", metavar="JOB", help="the job's id", **how)


def add_prompt(sub):
    sub.add_argument(
        "prompt", metavar="PROMPT", help="the message; - reads it from stdin, without the line ends at its end"
    )


def add_wait_flags(sub, optional, help="then wait until the job is done"):
    group = sub.add_argument_group("wait")
    if optional:
        group.add_argument("--wait", action="store_true", help=help)
    else:
        group.add_argument("--resume", metavar="TEXT", help="go on with a wait that Ctrl-C ended, from what it printed")

    def add(flag, kind, help):
        group.add_argument(flag, type=kind, default=argparse.SUPPRESS, metavar="S", help=help)

    add("--wait-timeout", seconds_or_none, "seconds to wait, or none: for ever (1800)")
    add("--min-interval", float, "shortest pause between looks, in seconds (2)")
    add("--max-interval", float, "longest pause between looks, in seconds (60)")


def seconds_or_none(text):
    return None if text == "none" else float(text)


def add_batch(sub):
    sub.add_argument("file", metavar="FILE", help="the messages, as JSONL or CSV; - reads them from stdin")
    batch = sub.add_argument_group("batch")
    batch.add_argument("--journal", metavar="RUN", required=True, help="the file that remembers what was sent; made if need be")
    batch.add_argument("--format", metavar="FORMAT", choices=["jsonl", "csv"], help="jsonl or csv (by the name; jsonl)")
    batch.add_argument("--rate", metavar="RATE", help="no more than so many in any s, min, h or d, like 100/h (no limit)")
    batch.add_argument("--resend-unknown", action="store_true", help="send again what may have arrived; look at the jobs first")

    def add(flag, kind, metavar, help):
        batch.add_argument(flag, type=kind, default=argparse.SUPPRESS, metavar=metavar, help=help)

    add("--concurrency", int, "N", "messages under way at once, never two for one job (4)")
    add("--max-outage", float, "S", "seconds to go on while the service cannot be reached or fails (3600)")
    add("--grace", float, "S", "seconds to wait for the answers under way after Ctrl-C (5)")
    add_wait_flags(sub, optional=True, help="and wait for each job until it is done")
    add_client_flags(sub)
    output = add_output_flags(sub)
    output.add_argument("--json", action="store_true", help="the outcomes on stdout though it is a terminal")


def add_client_flags(sub):
    group = sub.add_argument_group("service")
    group.add_argument("--base-url", metavar="URL", help="where the service is (AGENTJOB_BASE_URL)")
    group.add_argument("--project-id", metavar="ID", help="the project of the jobs (AGENTJOB_PROJECT_ID)")
    group.add_argument("--api-key-file", metavar="FILE", help="a file that holds the key alone (AGENTJOB_API_KEY_FILE)")
    group.add_argument("--ca-file", metavar="FILE", help="a PEM file of authorities to trust, too (AGENTJOB_CA_FILE)")
    group.add_argument("--proxy", metavar="URL", help="the HTTP proxy, instead of the environment's")
    group.add_argument("--allow-plaintext", action="store_true", help="let plain http go to another machine")
    group.add_argument("--timeout", type=float, metavar="S", help="total seconds of one request (60; AGENTJOB_TIMEOUT)")
    return group


def add_output_flags(sub):
    output = sub.add_argument_group("output")
    group = output.add_mutually_exclusive_group()
    group.add_argument("--quiet", action="store_true", help="no progress on stderr, only errors")
    group.add_argument(
        "--json-events", action="store_true", help="progress and errors on stderr as JSON, an object a line"
    )
    return output
