"""The commands of the group `agentjob batch`. Each is the file of its name, with a function `main`."""

import importlib
import sys

from .. import exit
from ..terminal import write


def function_of(command):
    """The function of "batch run" and so on: it takes the parsed flags and a report, and returns the exit status."""
    if command == "batch":
        return no_command
    return importlib.import_module(f"{__package__}.{command.partition(' ')[2]}").main


def no_command(options, report):
    write(sys.stderr, options.usage())
    return exit.USAGE
