"""What is known of a message whose task was cancelled."""

from __future__ import annotations

import contextlib
import sys
from typing import NamedTuple

from .. import _native

#: What each verdict says of a message and of a new job, and the advice after it.
SENTENCES = {
    ("send_message", "unknown"): ("may have arrived:", "Check the job before you send it again."),
    ("send_message", "accepted"): ("was accepted, but", "Do not send it again."),
    ("create_job", "unknown"): ("may have been created:", "Check the project's jobs before you create it again."),
    ("create_job", "accepted"): ("was created, but", "Do not create it again."),
}
INFO, WARNING = 20, 30


class Message(NamedTuple):
    """The message that a call delivers."""

    operation: str
    job_id: object = ""

    def accepted(self, error: BaseException, level: int = WARNING) -> None:
        """Adds the verdict to an error after the call."""
        if isinstance(error, Exception):
            _native.add_note(error, "accepted")
        else:
            self.cancelled(error, "accepted", level)

    def cancelled(self, cancelled: BaseException, verdict: str | None, level: int = WARNING) -> None:
        """Adds the verdict to a cancellation, and logs it if sending again could do harm: event loops often drop a cancellation, or
        raise another one in its place. asyncio's gather(return_exceptions=True) and TaskGroup do, and trio's cancel scopes."""
        if verdict is None:
            return
        _native.add_note(cancelled, verdict)
        known, logging = SENTENCES.get((self.operation, verdict)), sys.modules.get("logging")
        # Ctrl-C reaches the program: trio raises it in the main task.
        if known is None or logging is None or isinstance(cancelled, KeyboardInterrupt):
            return
        subject = f"message to job {_native.escape(str(self.job_id))}" if self.operation == "send_message" else "new job"
        sentence = f"{subject} {known[0]} the task that sent it was cancelled. {known[1]}"
        facts = {"event": "cancelled", "operation": self.operation, "job_id": self.job_id, "delivery": verdict}
        # The cancellation continues, whatever a program's handler does.
        with contextlib.suppress(Exception):
            logging.getLogger("agentjob").log(level, "%s", sentence, extra={"agentjob": facts})
