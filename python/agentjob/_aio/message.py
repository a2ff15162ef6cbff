"""The delivery verdict of a message whose task was cancelled."""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Callable, NamedTuple

from .. import _native
from .event_loop import is_cancellation

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
    #: Adds the record of a new job to an exception, and returns its id.
    created: Callable[[BaseException, Any], str] | None = None

    def ended(self, error: BaseException, verdict: str | None, level: int = WARNING, record: object = None) -> None:
        """Adds the verdict to what ended the call from outside, or came after it. A cancellation is logged, too, if sending again could
        do harm: event loops often drop one, or raise another one in its place. asyncio's gather(return_exceptions=True) and TaskGroup
        do, and trio's cancel scopes. All else reaches the program, also Ctrl-C and what a callback raises. record: what the call returned."""
        if verdict is None:
            return
        _native.add_note(error, verdict)
        new_job = None
        if record is not None and self.created is not None:
            with contextlib.suppress(Exception):  # a callback's exception may have a `job` that is something else
                new_job = self.created(error, record)
        known, logging = SENTENCES.get((self.operation, verdict)), sys.modules.get("logging")
        if known is None or logging is None or not is_cancellation(error):
            return
        if self.operation == "send_message":
            subject = f"message to job {_native.escape(str(self.job_id))}"
        else:
            subject = f"new job {new_job}" if new_job else "new job"
        sentence = f"{subject} {known[0]} the task that sent it was cancelled. {known[1]}"
        facts = {"event": "cancelled", "operation": self.operation, "job_id": new_job or self.job_id, "delivery": verdict}
        # The cancellation continues, whatever a program's handler does.
        with contextlib.suppress(Exception):
            logging.getLogger("agentjob").log(level, "%s", sentence, extra={"agentjob": facts})
