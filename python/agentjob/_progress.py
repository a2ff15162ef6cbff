"""What a person sees of a command on stderr: a line that lives on a terminal, a line a change elsewhere, the error."""

import os
import sys
import threading
import time
import unicodedata

from ._native import escape

REDRAW_SECONDS = 0.08


class Progress:
    """Reports a command from its client's events.

    A terminal gets one line, redrawn by a thread of its own, for a request blocks its thread without the GIL; the line is
    wiped before anything else is written. What is over before the first redraw shows none. Elsewhere `lines` says whether
    changes are told.
    """

    def __init__(self, lines=True, quiet=False):
        self._stream = sys.stderr
        self._live = not quiet and is_live(self._stream)
        self._lines = not quiet and not self._live and lines
        self._quiet = quiet
        self._began = time.monotonic()
        self._state = "starting"
        self._trouble = False
        self._next = None  # what comes next, and when
        self._painter = None
        self._hold = threading.Lock()  # held to write: the line and other words do not mix
        self._over = threading.Event()
        self._drawn = False

    def on_event(self, event):
        """What the client's on_event is set to."""
        if event["event"] == "poll":
            # A wait that was resumed is older than this process.
            self._began = min(self._began, time.monotonic() - event["elapsed"])
            seen = event["status"]
            self._show(seen or "no answer: " + event["reason"], trouble=seen is None)
        elif event["event"] == "retry":
            self._show("again, after " + event["reason"], trouble=True)
            self._next = "next try", time.monotonic() + event["delay"]
        elif event["operation"] == "get_job":
            self._show("looking" if self._state in ("starting", "sending") else self._state, self._trouble)
        else:
            self._show("sending")

    def on_update(self, job):
        """A wait has a new record. A poll's event has told of it already, but nothing of the answer to a message."""
        if self._state == "sending":
            # A word of the service's own making is shown by the poll's event, which has no secret in it.
            self._show(job["status"] if job["status"] in ("active", "completed", "archived", "failed") else "accepted")

    def rests(self, seconds):
        """A wait is about to pause so long."""
        self._next = "next look", time.monotonic() + seconds

    def say(self, text):
        """A sentence of the command itself."""
        if not self._quiet:
            self._tell(f"agentjob: {printable(text)}\n")

    def fail(self, error):
        """The command's end: what went wrong, and how to go on, if there is a way."""
        self.end()
        remarks = "".join(f"{remark}\n" for remark in getattr(error, "remarks", ()))
        resume = getattr(error, "resume", None)
        hint = f"the job goes on; to go on waiting:\n  {printable(resume)}\n" if resume else ""
        self._tell(f"agentjob: {printable(str(error))}\n{remarks}{hint}")

    def end(self):
        """Wipes the line, for good."""
        with self._hold:
            self._over.set()
            self._wipe()

    def _show(self, state, trouble=False):
        changed, self._state, self._trouble, self._next = state != self._state, state, trouble, None
        if self._live and self._painter is None:
            self._painter = threading.Thread(target=self._paint, daemon=True)
            try:
                self._painter.start()
            except RuntimeError:  # no thread to be had: no line
                pass
        elif changed and self._lines:
            self._tell(f"agentjob: {printable(state)} ({self._elapsed()})\n")

    def _elapsed(self):
        seconds = int(time.monotonic() - self._began)
        return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"

    def _paint(self):
        looks, frame = None, 0
        while not self._over.wait(REDRAW_SECONDS):
            looks, frame = looks or looks_for(self._stream), frame + 1
            try:
                line = looks.line(looks.frames[frame % len(looks.frames)], *self._words(), self._trouble)
            except Exception:  # a rich that is not as we know it
                looks = Plain()
                continue
            with self._hold:
                if not self._over.is_set():
                    self._drawn = True
                    write(self._stream, "\r\x1b[K" + line)

    def _words(self):
        """The state, and the times beside it, cut to what fits on the line behind the spinner."""
        times, due = f"  {self._elapsed()}", self._next
        if due is not None:
            times += f"  {due[0]} in {max(0.0, due[1] - time.monotonic()):.1f} s"
        # What the terminal cannot encode would come out as an escape, longer than it was.
        encoding = getattr(self._stream, "encoding", None) or "ascii"
        state = printable(self._state).encode(encoding, "replace").decode(encoding)
        # One column stays free: a full line would wrap, and a wrapped one is not wiped.
        width = self._columns() - 1 - len("| ")
        state = cut(state, max(width - len(times), width // 2))
        return state, cut(times, width - columns_of(state))

    def _columns(self):
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def _tell(self, text):
        with self._hold:
            self._wipe()
            write(self._stream, text)

    def _wipe(self):
        if self._drawn:
            self._drawn = False
            write(self._stream, "\r\x1b[K")


class Plain:
    """A line's looks without rich; `_rich.Styled` is the other."""

    frames = "|/-\\"
    bar = "#=-"  # what of a bar is done, under way, and neither

    def line(self, frame, state, times, trouble):
        return f"{frame} {state}{times}"

    def styled(self, *parts):
        return "".join(words for words, _ in parts)


def looks_for(stream):
    try:
        from ._rich import Styled

        return Styled(stream)
    except Exception:  # it is not installed, or is not as we know it
        return Plain()


def cut(text, columns):
    """The beginning of a text that fits into so many columns."""
    while text and columns_of(text) > columns:
        text = text[:-1]
    return text


def columns_of(text):
    """How many columns a text takes."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def is_live(stream):
    """Whether this is a terminal where a line can be drawn anew."""
    try:
        return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    except (AttributeError, ValueError):
        return False


def write(stream, text):
    """Writes what nobody may be there to read: a stream that was closed or went away is no reason to end a call."""
    try:
        stream.write(text)
        stream.flush()
    except (AttributeError, OSError, ValueError):
        return False
    return True


def printable(text):
    """A text from outside, without what could steer a terminal or hides."""
    # A file's name may have bytes that are no text.
    return escape(text.encode("utf-8", "replace").decode("utf-8"))
