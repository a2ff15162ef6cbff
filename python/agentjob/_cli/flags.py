"""The flags that several commands share, and the parser that every command uses."""

import argparse
import sys

from .. import __version__
from . import exit, suggest
from .help import BATCH_COMMANDS, COMMANDS, EXAMPLES, MORE, NOTES, SETTINGS
from .output import print_result
from .terminal import printable, write

#: The flags of a wait's schedule, and the options that they set. The parsed flags have only those that were given.
SCHEDULE = {"wait_timeout": "timeout", "min_interval": "min_interval", "max_interval": "max_interval", "settle": "settle"}
#: The flags that set up the client.
CLIENT = (
    *("base_url", "project_id", "api_key_file", "ca_file", "client_cert", "client_key", "proxy"),
    *("timeout", "connect_timeout", "max_retries", "allow_plaintext"),
)
#: The groups of flags that `agentjob help settings` lists, so that a command's own help fits a screen.
SETTINGS_GROUPS = ("polling", "service")

#: The commands that need no client, so that their help does not list its settings.
NO_SETTINGS = ("batch", "batch status", "batch retry", "batch drop", "batch export", "batch report", "demo", "completion", "help")


class Parser(argparse.ArgumentParser):
    def parse_args(self, args=None, namespace=None):
        suggest.check(self, args)
        options = super().parse_args(args, namespace)
        given = [name for name in SCHEDULE if hasattr(options, name)]
        if given and not getattr(options, "wait", True):
            options.refuse(f"--{given[0].replace('_', '-')} needs --wait")
        return options

    def format_help(self):
        """The help without the groups that `agentjob help settings` has."""
        groups = self._action_groups
        self._action_groups = [group for group in groups if group.title not in SETTINGS_GROUPS]
        try:
            return super().format_help()
        finally:
            self._action_groups = groups

    def format_groups(self, titles):
        """The help of some groups of flags alone."""
        formatter = self._get_formatter()
        for group in self._action_groups:
            if group.title in titles:
                formatter.start_section(group.title)
                formatter.add_text(group.description)
                formatter.add_arguments(group._group_actions)
                formatter.end_section()
        return formatter.format_help()

    def print_help(self, file=None):
        """Prints the help as a command's result: argparse would ignore that it could not be written."""
        print_result(self.format_help(), "the help could not be written")

    def error(self, message):
        """Reports a wrong flag on stderr and exits with the status for that, even if stderr is closed."""
        write(sys.stderr, f"{self.format_usage()}{self.prog}: error: {printable(message)}\n")
        raise SystemExit(exit.USAGE)


class Version(argparse.Action):
    def __call__(self, parser, *_):
        print_result(f"agentjob {__version__}\n", "the version could not be written")
        parser.exit()


def command(commands, name, usage, description=None):
    """Adds a command. A command of a group has its group in its name, as in "batch run"; the parsed flags have it as `command`."""
    what = {**COMMANDS, **BATCH_COMMANDS}[name]
    sub = commands.add_parser(
        name.rpartition(" ")[2],
        help=what,
        usage=f"agentjob {name} {usage}",
        description=description or what[0].upper() + what[1:] + ".",
        epilog=epilog(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    sub.set_defaults(command=name, refuse=sub.error)
    return sub


def listed(commands):
    """The commands for a help text, aligned, which argparse would not do."""
    return "commands:\n" + "".join(f"  {name:<15}{what}\n" for name, what in commands.items())


def epilog(name):
    parts = [f"examples:\n{EXAMPLES[name]}"]
    if name in NOTES:
        parts.append(NOTES[name])
    if not name:
        parts += [SETTINGS, exit.help_for(name)]
    elif name in SHORT:
        parts.append(exit.SHORT)
    else:
        parts.append(exit.help_for(name))
    return "\n".join(parts) + ("" if name in NO_SETTINGS else MORE)


#: The commands whose exit statuses are in `agentjob help settings`.
SHORT = ("send", "wait", "get", "create")


def add_job(sub, **how):
    sub.add_argument("job", metavar="JOB", help="the job's id", **how)


def add_prompt(sub):
    sub.add_argument(
        "prompt", metavar="PROMPT", help="the message; - reads it from stdin"
    )


def add_wait_flags(sub, optional, help="then wait until the job is done"):
    group = sub
    if optional:
        group.add_argument("--wait", action="store_true", help=help)
    else:
        group.add_argument("--resume", metavar="TEXT", help="resume a wait that Ctrl-C ended, from the text that it printed")

    polling = sub.add_argument_group("polling")

    def add(group, flag, kind, help):
        group.add_argument(flag, type=kind, default=argparse.SUPPRESS, metavar="S", help=help)

    add(group, "--wait-timeout", seconds_or_none, "seconds to wait; none means no limit (1800)")
    add(polling, "--min-interval", seconds, "shortest pause between polls, in seconds (2; AGENTJOB_MIN_INTERVAL)")
    add(polling, "--max-interval", seconds, "longest pause between polls, in seconds (60; AGENTJOB_MAX_INTERVAL)")
    add(polling, "--settle", seconds, "how long a finished job may show its previous result (10; AGENTJOB_SETTLE)")


def seconds_or_none(text):
    return None if text == "none" else number(text, float, "a number of seconds, or none")


def seconds(text):
    """A time as the AGENTJOB_ variables have it."""
    return number(text, float, "a number of seconds, like 60 or 0.5")


def count(text):
    return number(text, int, "a whole number")


def number(text, read, what):
    """Python reads 1_0, spaces and digits of any script, too, which other languages and the variables refuse."""
    try:
        if text.isascii() and not set(text) & set("_ \t\r\n\v\f"):
            return read(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not {what}")


def add_client_flags(sub):
    group = sub.add_argument_group("service")
    group.add_argument("--base-url", metavar="URL", help="URL of the service (AGENTJOB_BASE_URL)")
    group.add_argument("--project-id", metavar="ID", help="the project of the jobs (AGENTJOB_PROJECT_ID)")
    group.add_argument("--api-key-file", metavar="FILE", help="a file that contains only the key (AGENTJOB_API_KEY_FILE)")
    group.add_argument("--ca-file", metavar="FILE", help="a PEM file of additional authorities to trust (AGENTJOB_CA_FILE)")
    group.add_argument(
        "--client-cert", metavar="FILE", help="a PEM file with the client's own certificate, perhaps with its key (AGENTJOB_CLIENT_CERT)"
    )
    group.add_argument("--client-key", metavar="FILE", help="a PEM file with the key of --client-cert (AGENTJOB_CLIENT_KEY)")
    group.add_argument("--proxy", metavar="URL", help="the HTTP proxy, instead of the environment's; a password in it shows in the list of processes")
    group.add_argument("--allow-plaintext", action="store_true", help="allow plain http to another machine")
    group.add_argument(
        "--header", action="append", metavar="LINE", help="a request header, 'Name: value'; or @FILE with such lines (AGENTJOB_HEADERS)"
    )
    group.add_argument("--timeout", type=seconds, metavar="S", help="total seconds of one call, retries included (60; AGENTJOB_TIMEOUT)")
    group.add_argument("--connect-timeout", type=seconds, metavar="S", help="seconds to connect, TLS included (10)")
    return group


def add_output_flags(sub):
    output = sub
    group = output.add_mutually_exclusive_group()
    group.add_argument("--quiet", action="store_true", help="no progress on stderr, only errors")
    group.add_argument(
        "--json-events", action="store_true", help="progress and errors on stderr as JSON, one object per line"
    )
    return output
