"""The commands of the command line, and the flags that one command has."""

import argparse

from .batch_arguments import add_batch_commands
from .flags import (
    Parser,
    Version,
    add_client_flags,
    add_job,
    add_output_flags,
    add_prompt,
    add_wait_flags,
    command,
    count,
    epilog,
    listed,
)
from .help import ABOUT, COMMANDS

SHELLS = ("bash", "zsh", "tcsh")


def parser():
    """The parser of all commands. What it parses has `command`, the command's name, with its group: "batch run"."""
    top = Parser(
        prog="agentjob",
        usage="agentjob COMMAND ...",
        description=ABOUT + "\n" + listed(COMMANDS),
        epilog=epilog(""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("-V", "--version", action=Version, nargs=0, help="show the version and exit")
    # The description lists the commands, for argparse would not align them.
    commands = top.add_subparsers(prog="agentjob", metavar="COMMAND", dest="command", help=argparse.SUPPRESS)

    send = command(commands, "send", "[flags] JOB PROMPT")
    add_job(send)
    add_prompt(send)
    add_wait_flags(send, optional=True)
    wait = command(commands, "wait", "[flags] JOB\n       agentjob wait [flags] --resume TEXT")
    add_job(wait, nargs="?")
    add_wait_flags(wait, optional=False)
    get = command(commands, "get", "[flags] JOB")
    add_job(get)
    create = command(commands, "create", "[flags] PROMPT")
    add_prompt(create)
    add_wait_flags(create, optional=True)
    for sub in (send, wait, get, create):
        group = add_client_flags(sub)
        group.add_argument("--max-retries", type=count, metavar="N", help="how often to retry a failed request (2)")
        add_output_flags(sub)
    add_batch_commands(commands)
    add_output_flags(command(commands, "demo", "[flags]"))
    # Not parsed here: it has the flags of the emulator's own program.
    commands.add_parser("emulator", help=COMMANDS["emulator"], add_help=False)
    topic = command(commands, "help", "[COMMAND ... | settings]")
    topic.add_argument("topic", metavar="TOPIC", nargs="*", help="a command, or settings")
    topic.set_defaults(top=top)
    completion = command(commands, "completion", "SHELL")
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"the shell: {', '.join(SHELLS)}")
    return top
