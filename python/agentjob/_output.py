"""What a command leaves on stdout and stderr, where there may be nobody to take it."""

import os
import sys

from . import errors


class OutputError(errors.Error):
    """A result could not be written."""

    kind = "output"


def emit(text):
    """Writes a command's result. Returns what went wrong: None, or an OSError or ValueError."""
    if sys.stdout is None:
        return ValueError("standard output is closed")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        give_up(1)
        return error
    return None


def settle():
    """Gives up what stderr did not take: it tells of the command, and is not its result."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError):
        give_up(2)


def give_up(descriptor):
    """What is still buffered must not be tried again at the interpreter's end, which would then exit with 120."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    if nowhere != descriptor:
        os.close(nowhere)
