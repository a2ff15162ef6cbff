"""Progress on stderr for a person: one updating line in a terminal, otherwise one line per change; then the error."""

import os
import sys
import threading
import time

from .terminal import Plain, columns_of, cut, is_live, printable, style_for, write

REDRAW_SECONDS = 0.08


def failing(event):
    """The sentence for a warning: polls that keep failing alike."""
    return f"{event['consecutive_failures']} polls in a row failed: {event['reason']}; still waiting"


class Progress:
    """Reports a command's progress from its client's events.

    A terminal gets one line that a separate thread redraws, because a request blocks the main thread. The line is erased before
    anything else is written. A command that ends before the first redraw shows no line. Elsewhere, `lines` says whether changes
    are reported.
    """

    def __init__(self, lines=True, quiet=False):
        self._stream = sys.stderr
        self._live = not quiet and is_live(self._stream)
        self._lines = not quiet and not self._live and lines
        self._quiet = quiet
        self._began = time.monotonic()
        self._state = "starting"
        self._failing = False
        self._next = None  # what comes next, and when
        self._painter = None
        self._writing = threading.Lock()  # held to write, so that the live line and other text do not mix
        self._ended = threading.Event()
        self._drawn = False

    def on_event(self, event):
        """What the client's on_event is set to."""
        if event["event"] == "poll":
            # A resumed wait began before this process.
            self._began = min(self._began, time.monotonic() - event["elapsed"])
            seen = event["status"]
            self._show(seen or "poll failed: " + event["reason"], failing=seen is None)
        elif event["event"] == "retry":
            self._show("retrying after " + event["reason"], failing=True)
            self._next = "next attempt", time.monotonic() + event["delay"]
        elif event["event"] != "attempt":
            pass  # a response: what follows from it comes next
        elif event["operation"] == "get_job":
            self._show("polling" if self._state in ("starting", "sending") else self._state, self._failing)
        else:
            self._show("sending")

    def on_warning(self, event):
        """What the client warns of."""
        self.say(failing(event))

    def on_update(self, job):
        """A wait has a new record. Its poll's event has reported it already, but the response to a message has no event."""
        if self._state == "sending":
            # An undocumented status is shown by the next poll's event, where secrets are redacted.
            documented = job["status"] in ("active", "completed", "archived", "failed")
            self._show(job["status"] if documented else "message accepted")

    def pauses(self, seconds):
        """A wait is about to pause."""
        self._next = "next poll", time.monotonic() + seconds

    def say(self, text):
        """Prints a sentence of the command itself."""
        if not self._quiet:
            self._print(f"agentjob: {printable(text)}\n")

    def fail(self, error):
        """Reports the error that ended the command, and the command that resumes it or shows its message's job, if there is one."""
        self.end()
        remarks = "".join(f"{remark}\n" for remark in getattr(error, "remarks", ()))
        resume = getattr(error, "resume", None)
        command = f"to keep waiting:\n  {printable(resume)}\n" if resume else ""
        check = getattr(error, "check", None)
        command += f"to see whether it arrived:\n  {printable(check)}\n" if check else ""
        self._print(f"agentjob: {printable(str(error))}\n{remarks}{command}")

    def end(self):
        """Erases the line, and draws no other."""
        with self._writing:
            self._ended.set()
            self._erase()

    def _show(self, state, failing=False):
        changed, self._state, self._failing, self._next = state != self._state, state, failing, None
        if self._live and self._painter is None:
            self._painter = threading.Thread(target=self._paint, daemon=True)
            try:
                self._painter.start()
            except RuntimeError:  # the system has no thread left: no line
                pass
        elif changed and self._lines:
            self._print(f"agentjob: {printable(state)} ({self._elapsed()})\n")

    def _elapsed(self):
        seconds = int(time.monotonic() - self._began)
        return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"

    def _paint(self):
        style, frame = None, 0
        while not self._ended.wait(REDRAW_SECONDS):
            style, frame = style or style_for(self._stream), frame + 1
            try:
                line = style.line(style.frames[frame % len(style.frames)], *self._parts(), self._failing)
            except Exception:  # a version of rich that we do not know
                style = Plain()
                continue
            with self._writing:
                if not self._ended.is_set():
                    self._drawn = True
                    write(self._stream, "\r\x1b[K" + line)

    def _parts(self):
        """The state and the times beside it, cut to fit on the line behind the spinner."""
        times, due = f"  {self._elapsed()}", self._next
        if due is not None:
            times += f"  {due[0]} in {max(0.0, due[1] - time.monotonic()):.1f} s"
        # A character that the terminal cannot encode would be written as a longer escape.
        encoding = getattr(self._stream, "encoding", None) or "ascii"
        state = printable(self._state).encode(encoding, "replace").decode(encoding)
        # One column stays free: a full line would wrap, and a wrapped line cannot be erased.
        width = self._columns() - 1 - len("| ")
        state = cut(state, max(width - len(times), width // 2))
        return state, cut(times, width - columns_of(state))

    def _columns(self):
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def _print(self, text):
        with self._writing:
            self._erase()
            write(self._stream, text)

    def _erase(self):
        if self._drawn:
            self._drawn = False
            write(self._stream, "\r\x1b[K")
