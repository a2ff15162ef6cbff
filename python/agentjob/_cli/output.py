"""A command's result on stdout, which may be closed or full."""

import contextlib
import errno
import io
import os
import select
import sys

from .. import errors
from .signals import SAYS_ROOM, SIGNALS


#: How often a command whose output is not read checks for a signal.
SIGNAL_SECONDS = 0.1


class OutputError(errors.Error):
    """A result could not be written."""

    kind = "output"


def buffer_streams():
    """Buffers stdout and stderr also with PYTHONUNBUFFERED and -u: a stream without a buffer ignores that a full disk, or a pipe whose
    reader leaves, took only a part of what it was given."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        raw = getattr(stream, "buffer", None)
        if isinstance(raw, io.RawIOBase):
            buffered = io.BufferedWriter(raw)
            setattr(sys, name, io.TextIOWrapper(buffered, stream.encoding, stream.errors, line_buffering=True))


def emit(text, last=True):
    """Writes a command's result. Returns None, or the OSError or ValueError that prevented it. last: with all of it written the command is
    over, and a signal changes nothing."""
    if sys.stdout is None:
        return ValueError("standard output is closed")
    try:
        with SIGNALS.held() as interruptible:
            sys.stdout.flush()
            for piece in pieces(text):
                if SAYS_ROOM:
                    with interruptible():
                        # A signal that came just before it, or to another thread, does not end it.
                        while not select.select([], [sys.stdout], [], SIGNAL_SECONDS)[1]:
                            pass
                sys.stdout.write(piece)
                sys.stdout.flush()
            if last:
                SIGNALS.over()
    except (OSError, ValueError) as error:
        give_up(1)
        # What Windows says when the reader of a pipe has left.
        left = os.name == "nt" and isinstance(error, OSError) and error.errno == errno.EINVAL
        return BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) if left else error
    except KeyboardInterrupt:
        give_up(1)  # a reader that does not read would block the exit, too
        raise
    return None


def pieces(text):
    """The parts of a text that can be written without waiting where select says that there is room."""
    size = getattr(select, "PIPE_BUF", 4096) // 4  # in characters, which take up to 4 bytes in any encoding that a locale has
    return (text[at : at + size] for at in range(0, len(text), size))


@contextlib.contextmanager
def utf8():
    """Meanwhile stdout is UTF-8, whatever the locale says: what is written is a file that is read elsewhere."""
    stream = sys.stdout
    if not hasattr(stream, "reconfigure"):
        yield
        return
    before = {"encoding": stream.encoding, "errors": stream.errors}
    stream.reconfigure(encoding="utf-8", errors="strict")
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            stream.reconfigure(**before)


def print_result(text, failure):
    """Writes a result whose reader may go away early, as head does: that is no error. failure: what is said if it cannot be written."""
    broken = emit(text)
    if broken is not None and not isinstance(broken, BrokenPipeError):
        raise OutputError(f"{failure}: {broken}")


def settle():
    """Drops what stderr did not accept: progress is not the command's result."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError):
        give_up(2)


def give_up(descriptor):
    """Discards what is still buffered: the interpreter would try to write it once more when it exits, and exit with 120."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    if nowhere != descriptor:
        os.close(nowhere)
