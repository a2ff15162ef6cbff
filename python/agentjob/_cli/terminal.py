"""Text on a terminal: what may be written there, how wide it is, and in which style."""

import os
import unicodedata

from .._native import escape


class Plain:
    """The style without rich; `rich_style.Styled` is the other one."""

    frames = "|/-\\"
    bar = "#=-"  # the parts of a bar: done, in progress, to do

    def line(self, frame, state, times, failing):
        return f"{frame} {state}{times}"

    def styled(self, *parts):
        return "".join(text for text, _ in parts)


def style_for(stream):
    try:
        from .rich_style import Styled

        return Styled(stream)
    except Exception:  # rich is not installed, or is a version that we do not know
        return Plain()


def cut(text, columns):
    """The beginning of a text that fits into this many columns."""
    while text and columns_of(text) > columns:
        text = text[:-1]
    return text


def columns_of(text):
    """How many columns a text takes."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def is_live(stream):
    """Whether this is a terminal where a line can be redrawn."""
    try:
        return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    except (AttributeError, ValueError):
        return False


def write(stream, text):
    """Writes progress or an error. A stream that is closed or gone does not end the command."""
    try:
        stream.write(text)
        stream.flush()
    except (AttributeError, OSError, ValueError):
        return False
    return True


def printable(text):
    """A text from outside, with control and invisible characters escaped."""
    # A file name may contain bytes that are not text.
    return escape(text.encode("utf-8", "replace").decode("utf-8"))
