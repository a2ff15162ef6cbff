"""What a run of a list knows of each message, and of the messages to one job."""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, Optional, Tuple

from .._native import Poller
from ..types import Job
from .store import Step, may_be_taken

#: A message as `_native.step_list` returns it: the key, the job's id, the prompt, the line, the extra, and the digest.
Given = Tuple[str, str, str, Optional[int], Any, str]


class Item:
    """A message of the list."""

    def __init__(self, at: int, given: Given) -> None:
        self.at = at
        self.key, self.job_id, self.prompt, self.line, self.extra, self.digest = given
        #: What the store has of it, as far as this worker knows.
        self.step: Optional[Step] = None
        #: This run has sent it, and the record of the response.
        self.is_sent_here = False
        self.job: Optional[Job] = None

    @property
    def may_be_sent(self) -> bool:
        return self.step is None or may_be_taken(self.step, self.digest, False)


class Chain:
    """The messages to a job that have not ended, in the order of the list."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.items: Deque[Item] = deque()
        #: Of the first: "new", nothing is known of it; "ready" to be sent; "elsewhere", another worker sends it; "working", its job works on
        #: it; "busy", its job works on something else; "held" behind another one; "here", a thread of this worker does something about it.
        #: "done": there is none.
        self.state = "new"
        #: How many chains threads had taken when one took this one last.
        self.taken = 0
        #: Where it is in the order in which this worker sends; -1: it is not there.
        self.at = -1
        #: The wait for the job, if it is working or busy, and when it is polled next.
        self.poller: Optional[Poller] = None
        self.due = 0.0
        #: When the last message was sent that may have arrived, and where it is: only it can have a result of its own.
        self.last_sent = ("", -1)
        #: Since when the job is busy, how often it refused a message meanwhile, and whether it was busy for too long.
        self.busy_since: Optional[float] = None
        self.refusals, self.was_too_busy = 0, False
        #: What its messages are held behind, and whether that may have arrived.
        self.behind = ("", False)

    def not_busy(self) -> None:
        """The job took a message."""
        self.busy_since, self.refusals, self.was_too_busy = None, 0, False
