"""`--json-events`: progress on stderr as compact JSON, one object per line, for programs."""

import json
import sys

from .terminal import write


class JsonEvents:
    """Reports like `progress.Progress`, but for programs: the client's events, a wait's records, and the error at the end."""

    def on_event(self, event):
        # ASCII only: it fits any encoding and has no control characters.
        write(sys.stderr, json.dumps(event, separators=(",", ":")) + "\n")

    def on_update(self, job):
        self.on_event({"event": "update", "job": job})

    def pauses(self, seconds):
        pass

    def say(self, text):
        pass

    def fail(self, error):
        names = ("kind", "delivery", "message", "http_status", "retry_after", "request_id", "attempts", "elapsed")
        facts = {name: getattr(error, name) for name in names}
        self.on_event({"event": "error", **facts, "resume": getattr(error, "resume", None)})

    def end(self):
        pass
