"""The file of messages: reads its bytes. What they say is checked by the core, before anything is sent."""

import os
import sys

from ..._native import parse_batch_list
from ...errors import InvalidArgumentError
from ..terminal import printable


def read_items(file, format=None, extra=False):
    """The items of a file (- is stdin), for Client.send_all.

    format: "json", "jsonl", "csv" or "tsv"; None takes what the file's name suggests. extra: whether other columns are kept. Raises
    InvalidArgumentError, which names the file and the first wrong line, and says how many others are wrong.
    """
    return parse_batch_list(content(file), name_of(file), format, extra)


def name_of(file):
    """What errors call the file."""
    return "stdin" if file == "-" else printable(file)


def content(file):
    try:
        if file != "-":
            with open(file, "rb") as stream:
                return stream.read()
        if sys.stdin is None:
            raise InvalidArgumentError("the messages are read from stdin, which is closed")
        return sys.stdin.buffer.read()
    except InvalidArgumentError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        why = os.strerror(error.errno) if getattr(error, "errno", None) else error
        raise InvalidArgumentError(f"{name_of(file)} cannot be read: {why}") from None
