"""The commands and flags of the command line."""

import argparse
import sys

from .. import __version__
from . import exit
from .help import ABOUT, COMMANDS, EXAMPLES, FILE_FORMATS, SETTINGS
from .output import print_result
from .terminal import write

SHELLS = ("bash", "zsh", "tcsh")

#: The flags of a wait's schedule, and the options that they set. The parsed flags have only those that were given.
SCHEDULE = {"wait_timeout": "timeout", "min_interval": "min_interval", "max_interval": "max_interval"}
#: The flags that set up the client.
CLIENT = ("base_url", "project_id", "api_key_file", "ca_file", "proxy", "timeout", "max_retries", "allow_plaintext")

class Parser(argparse.ArgumentParser):
    def print_help(self, file=None):
        """Prints the help as a command's result: argparse would ignore that it could not be written."""
        print_result("help", self.format_help())

    def error(self, message):
        """Reports a wrong flag on stderr and exits with the status for that, even if stderr is closed."""
        write(sys.stderr, f"{self.format_usage()}{self.prog}: error: {message}\n")
        raise SystemExit(exit.USAGE)


class Version(argparse.Action):
    def __call__(self, parser, *_):
        print_result("version", f"agentjob {__version__}\n")
        parser.exit()


def parser():
    """The parser of all commands. What it parses has `command`, the command's name."""
    top = Parser(
        prog="agentjob",
        usage="agentjob COMMAND ...",
        description=ABOUT + "\ncommands:\n" + "".join(f"  {name:<14}{what}\n" for name, what in COMMANDS.items()),
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
        group.add_argument("--max-retries", type=int, metavar="N", help="how often to retry a failed request (2)")
        add_output_flags(sub)
    add_batch(command(commands, "send-all", "[flags] FILE --journal RUN"))
    status = command(commands, "batch-status", "[flags] RUN")
    status.add_argument("run", metavar="RUN", help="the batch's journal")
    status.add_argument("--json", action="store_true", help="print everything, as JSON")
    add_output_flags(command(commands, "demo", "[flags]"))
    # Not parsed here: it has the flags of the emulator's own program.
    commands.add_parser("emulator", help=COMMANDS["emulator"], add_help=False)
    completion = command(commands, "completion", "SHELL")
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    return top


def command(commands, name, usage):
    return commands.add_parser(
        name,
        help=COMMANDS[name],
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
    return "\n".join([*parts, exit.help_for(name)])


def add_job(sub, **how):
    sub.add_argument("job", metavar="JOB", help="the job's id", **how)


def add_prompt(sub):
    sub.add_argument(
        "prompt", metavar="PROMPT", help="the message; - reads it from stdin, without its trailing line breaks"
    )


def add_wait_flags(sub, optional, help="then wait until the job is done"):
    group = sub.add_argument_group("wait")
    if optional:
        group.add_argument("--wait", action="store_true", help=help)
    else:
        group.add_argument("--resume", metavar="TEXT", help="resume a wait that Ctrl-C ended, from the text that it printed")

    def add(flag, kind, help):
        group.add_argument(flag, type=kind, default=argparse.SUPPRESS, metavar="S", help=help)

    add("--wait-timeout", seconds_or_none, "seconds to wait; none means no limit (1800)")
    add("--min-interval", float, "shortest pause between polls, in seconds (2)")
    add("--max-interval", float, "longest pause between polls, in seconds (60)")


def seconds_or_none(text):
    return None if text == "none" else float(text)


def add_batch(sub):
    sub.add_argument("file", metavar="FILE", help="the messages, as JSONL or CSV; - reads them from stdin")
    batch = sub.add_argument_group("batch")
    batch.add_argument("--journal", metavar="RUN", required=True, help="the file that records what was sent; created if it does not exist")
    batch.add_argument("--format", metavar="FORMAT", choices=["jsonl", "csv"], help="jsonl or csv (csv if FILE ends in .csv, else jsonl)")
    batch.add_argument("--rate", metavar="RATE", help="most messages per s, min, h or d, for example 100/h (default: no limit)")
    batch.add_argument("--resend-unknown", action="store_true", help="also resend messages that may have arrived; check their jobs first")

    def add(flag, kind, metavar, help):
        batch.add_argument(flag, type=kind, default=argparse.SUPPRESS, metavar=metavar, help=help)

    add("--concurrency", int, "N", "messages in flight at once, never two for one job (4)")
    add("--max-outage", float, "S", "seconds to keep trying while the service fails (3600)")
    add("--grace", float, "S", "seconds to wait for responses after Ctrl-C (5)")
    add_wait_flags(sub, optional=True, help="wait for each job until it is done")
    add_client_flags(sub)
    output = add_output_flags(sub)
    output.add_argument("--json", action="store_true", help="print the outcomes on stdout even if it is a terminal")


def add_client_flags(sub):
    group = sub.add_argument_group("service")
    group.add_argument("--base-url", metavar="URL", help="URL of the service (AGENTJOB_BASE_URL)")
    group.add_argument("--project-id", metavar="ID", help="the project of the jobs (AGENTJOB_PROJECT_ID)")
    group.add_argument("--api-key-file", metavar="FILE", help="a file that contains only the key (AGENTJOB_API_KEY_FILE)")
    group.add_argument("--ca-file", metavar="FILE", help="a PEM file of additional authorities to trust (AGENTJOB_CA_FILE)")
    group.add_argument("--proxy", metavar="URL", help="the HTTP proxy, instead of the environment's")
    group.add_argument("--allow-plaintext", action="store_true", help="allow plain http to another machine")
    group.add_argument("--timeout", type=float, metavar="S", help="total seconds of one call, retries included (60; AGENTJOB_TIMEOUT)")
    return group


def add_output_flags(sub):
    output = sub.add_argument_group("output")
    group = output.add_mutually_exclusive_group()
    group.add_argument("--quiet", action="store_true", help="no progress on stderr, only errors")
    group.add_argument(
        "--json-events", action="store_true", help="progress and errors on stderr as JSON, one object per line"
    )
    return output
