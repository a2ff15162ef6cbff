"""What `--json-events` puts on stderr: one compact JSON object a line, for programs that follow a command."""

import json
import sys

from ._progress import write


class JsonEvents:
    """A report like `_progress.Progress`, for programs: the client's events, a wait's records, the error at the end."""

    def on_event(self, event):
        # ASCII alone, so it fits any encoding and cannot steer a terminal.
        write(sys.stderr, json.dumps(event, separators=(",", ":")) + "\n")

    def on_update(self, job):
        self.on_event({"event": "update", "job": job})

    def rests(self, seconds):
        pass

    def say(self, text):
        pass

    def fail(self, error):
        names = ("kind", "delivery", "message", "http_status", "retry_after", "request_id", "attempts", "elapsed")
        facts = {name: getattr(error, name) for name in names}
        self.on_event({"event": "error", **facts, "resume": getattr(error, "resume", None)})

    def end(self):
        pass
