"""The one line on stderr that shows a wait is alive; plain lines on change where stderr is no terminal."""

import os
import sys
import threading
import time

FRAMES = "|/-\\"
REDRAW_SECONDS = 0.08


class Progress:
    """Shows a wait from its client's events: `with Progress(quiet) as progress: Client(on_event=progress.on_event)`.

    A terminal gets one line, redrawn by a thread of its own, for the wait blocks its thread without the GIL; it is wiped at
    the end.
    """

    def __init__(self, quiet=False):
        self._stream = None if quiet else sys.stderr
        self._live = is_terminal(self._stream)
        self._began = time.monotonic()
        self._state = "starting"
        self._next = None  # when the job is looked at again
        self._over = threading.Event()
        self._painter = None
        self.waiting = False  # whether a message, if there was one, is delivered

    def __enter__(self):
        if self._live:
            self._painter = threading.Thread(target=self._paint, daemon=True)
            self._painter.start()
        return self

    def __exit__(self, *exception):
        if self._painter is not None:
            self._over.set()
            self._painter.join()

    def on_event(self, event):
        """What the client's on_event is set to."""
        if event["event"] == "poll":
            self._show(event["status"] or "no answer: " + event["reason"], event["next"])
        elif event["event"] == "retry":
            self._show("again, after " + event["reason"], event["delay"])
        elif event["operation"] == "get_job":
            self.waiting = True
            self._show("looking" if self._state == "starting" else self._state, None)
        else:
            self._show("sending", None)

    def on_update(self, job):
        """What a wait's on_update is set to: it alone tells what a message's own answer said."""
        self.waiting = True
        if self._state == "sending":
            self._show(job["status"], None)

    def _show(self, state, next_in):
        self._next = None if next_in is None else time.monotonic() + next_in
        changed, self._state = state != self._state, state
        if changed and not self._live and self._stream is not None:
            self._write(f"agentjob: {printable(state)} ({self._elapsed()})\n")

    def _elapsed(self):
        seconds = int(time.monotonic() - self._began)
        return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"

    def _paint(self):
        frame = 0
        while True:
            frame = (frame + 1) % len(FRAMES)
            line = f"{FRAMES[frame]} {printable(self._state)}  {self._elapsed()}"
            due = self._next
            if due is not None:
                line += f"  next look in {max(0.0, due - time.monotonic()):.1f} s"
            # One column stays free: a full line would wrap, and a wrapped one is not wiped.
            width = self._columns() - 1
            self._write("\r\x1b[K" + line[:width])
            if self._over.wait(REDRAW_SECONDS):
                self._write("\r\x1b[K")
                return

    def _columns(self):
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def _write(self, text):
        write(self._stream, text)


def is_terminal(stream):
    try:
        return stream.isatty()
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
    """A text of the service, without what could steer a terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)
