"""`--json-events`: progress on stderr as compact JSON, one object per line, for programs."""

import sys

from .record import as_json
from .signals import SIGNALS
from .terminal import write


class JsonEvents:
    """Reports like `progress.Progress`, but for programs: the client's events, a wait's records, and the error at the end."""

    def on_event(self, event):
        with SIGNALS.held():  # half of a line is no JSON
            # ASCII only: it fits any encoding and has no control characters.
            write(sys.stderr, as_json(event) + "\n")

    def on_warning(self, event):
        pass  # on_event has it

    def on_update(self, job):
        self.on_event({"event": "update", "job": job})

    def pauses(self, seconds):
        pass

    def say(self, text):
        pass

    def fail(self, error):
        commands = {name: getattr(error, name, None) for name in ("resume", "check")}
        self.on_event({"event": "error", **error_facts(error), **commands})

    def end(self):
        pass


def error_facts(error):
    """An error as an object, for JSON: without the response's body, which may be long, and the job's record, which other lines have."""
    return {name: fact for name, fact in error.to_dict().items() if name not in ("body", "job")}
