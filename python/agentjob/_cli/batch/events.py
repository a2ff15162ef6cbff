"""A batch's progress on stderr as JSON, one object per line, for programs."""

import json

from ..events import JsonEvents, error_facts
from .display import EXITED


class BatchEvents(JsonEvents):
    """Reports a batch to a program: its start, its requests, its updates, its stop and its summary."""

    def begins(self, progress, earlier):
        self.on_event({"event": "begin", "earlier": earlier, "progress": progress})

    def on_update(self, update):
        if update.get("error") is not None:
            update = {**update, "error": error_facts(update["error"])}
        self.on_event(update)

    def outcome(self, outcome):
        pass  # it is on stdout

    def tick(self, progress):
        pass

    def clear(self, soon):
        pass

    def stopping(self, progress, signal_name):
        self.on_event({"event": "stopping", "signal": signal_name, "progress": progress})

    def cleared(self):
        return ""

    def exited(self):
        return json.dumps({"event": "left", "message": EXITED}) + "\n"

    def summary(self, summary):
        self.on_event({"event": "summary", **summary.facts()})
