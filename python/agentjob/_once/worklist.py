"""Which messages of a list may be sent now, which wait and for what, and how each ended. Nothing here has a clock, a thread or a store.

Messages to one job are a chain: they are sent one at a time, in the order of the list.

| what is known of a message | it | the job's next message |
| --- | --- | --- |
| nothing, `not_sent`, a decision to resend it | is sent | waits behind it |
| `sending`, by another worker | waits for that worker's outcome | waits behind it |
| `accepted`, without a wait, or its result is known | has ended | is sent |
| `accepted`, with a wait | waits for the job's result | waits behind it |
| `accepted`, and so may be a later one of its job | has ended, without a result of its own | is sent |
| `accepted`, but the wait ended without a result | has ended | is held |
| `rejected` | has ended | is sent |
| refused because its job is busy (409) | is sent again when the job isn't active | waits behind it |
| refused so for `max_busy` | is rejected | is sent once |
| `unknown` | has ended | is held |
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import Any, Deque, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from .. import _native
from ..errors import Error
from ..types import BatchOutcome, Job
from .calls import read, unknown
from .chain import Chain, Given, Item
from .store import Step

#: The longest pause between a message that was refused because its job is busy and the next poll of the job, in seconds.
LONGEST_BUSY_PAUSE = 300.0
#: How many of the next messages a worker checks at first when it meets another one, and at most.
AHEAD = (200, 20_000)


class Check(NamedTuple):
    """What the store is asked for: it may have changed since."""

    elsewhere: List[str]
    """The messages whose outcomes or results other workers may record."""
    ahead: List[str]
    """The next ones to send, which other workers may have sent."""
    taken: int
    """How many chains threads of this worker had taken before."""


class Worklist:
    """The list of a run. waits: for the jobs' results."""

    def __init__(self, given: Sequence[Given], waits: bool, max_busy: float) -> None:
        self.waits, self.max_busy = waits, max_busy
        self.left = len(given)
        #: The outcomes or the results of other workers' messages are waited for. A check of the store may find that they no longer are.
        self.has_others = False
        self.chains: List[Chain] = []
        self.outcomes: List[BatchOutcome] = []
        self._of_key: Dict[str, Tuple[Chain, Item]] = {}
        self._ready: List[Tuple[int, int]] = []
        self._due: List[Tuple[float, int]] = []
        self._held: Deque[Chain] = deque()
        #: Where in the list this worker began, or continued.
        self._start, self._size, self._ahead = 0, max(1, len(given)), AHEAD[0]
        self._taken = 0
        of_job: Dict[str, Chain] = {}
        for at, one in enumerate(given):
            item = Item(at, one)
            chain = of_job.get(item.job_id)
            if chain is None:
                chain = of_job[item.job_id] = Chain(len(self.chains))
                self.chains.append(chain)
            chain.items.append(item)
            self._of_key[item.key] = (chain, item)
        self.open = len(self.chains)

    @property
    def keys(self) -> List[str]:
        return list(self._of_key)

    def begin(self, steps: Iterable[Step]) -> None:
        """What the store has of the list."""
        self._update(steps)
        for chain in self.chains:
            self.advance(chain, True)

    def check(self) -> Check:
        """What the store is asked for."""
        elsewhere = [chain.items[0].key for chain in self.chains if chain.state in ("elsewhere", "working")]
        places = (place for place in self._ready if self._is_ready(place))
        ahead = [self.chains[number].items[0].key for _, number in heapq.nsmallest(self._ahead, places)]
        return Check(elsewhere, ahead, self._taken)

    def update(self, check: Check, steps: Iterable[Step]) -> None:
        """What the store had of these."""
        found = {step.key: step for step in steps}
        for key in check.elsewhere + check.ahead:
            chain, item = self._of_key[key]
            if not chain.items or chain.items[0] is not item or chain.state in ("here", "held") or chain.taken > check.taken:
                # It has ended, or a thread of this worker knows better.
                continue
            if key in found:
                self._update([found[key]])
            elif chain.state == "elsewhere":
                # It was removed.
                item.step = None
            if chain.state != "busy":
                self.advance(chain)
        self.has_others = any(
            chain.state == "elsewhere" or (chain.state == "working" and not chain.items[0].is_sent_here) for chain in self.chains
        )
        known = sum(key in found for key in check.ahead)
        self._ahead = min(2 * self._ahead, AHEAD[1]) if 2 * known > len(check.ahead) else AHEAD[0]

    def _update(self, steps: Iterable[Step]) -> None:
        for step in steps:
            chain, item = self._of_key[step.key]
            if step.message != item.digest:
                raise _native.other_message(item.key, step.job_id, item.job_id)
            item.step = step
            if step.state in ("accepted", "unknown", "sending"):
                chain.last_sent = max(chain.last_sent, (step.taken_at or "", item.at))

    def has_ready(self) -> bool:
        """Whether there is a message to send."""
        while self._ready and not self._is_ready(self._ready[0]):
            self._pop()
        return bool(self._ready)

    def next(self) -> Chain:
        """The chain whose first message is sent next; there is one."""
        return self._take(self._pop())

    def next_due(self, now: float) -> Tuple[Optional[Chain], str, float]:
        """The chain whose job is polled next, if one is due: it, what it was, and how long until one is."""
        while self._due:
            due, number = self._due[0]
            chain = self.chains[number]
            is_waiting = chain.state in ("working", "busy") and chain.due == due
            if is_waiting and due > now:
                return None, "", due - now
            heapq.heappop(self._due)
            if is_waiting:
                state = chain.state
                return self._take(chain), state, 0.0
        return None, "", math.inf

    def wait(self, chain: Chain, state: str, due: float) -> None:
        """The chain's job is working or busy, and is polled then."""
        chain.state, chain.due = state, due
        if state == "working" and not chain.items[0].is_sent_here:
            self.has_others = True
        heapq.heappush(self._due, (due, chain.number))

    def found(self, chain: Chain, step: Step) -> None:
        """The chain's first message is another worker's."""
        self.has_others = True
        self._update([step])
        self.advance(chain)

    def next_held(self) -> Optional[Chain]:
        """A chain whose messages are held, if there is one."""
        return self._take(self._held.popleft()) if self._held else None

    def end_held(self, chain: Chain, steps: Iterable[Step]) -> None:
        """Ends the messages that have to wait for another run, of which the store has these."""
        self._update(steps)
        behind, is_unknown = chain.behind
        while chain.items:
            item = chain.items.popleft()
            step = item.step
            if step is not None and step.state in ("accepted", "rejected", "unknown") and not item.may_be_sent:
                self._end_known(item, step)
                continue
            delivery = "not_sent" if step is None or step.state == "not_sent" else "unknown"
            self._end(item, delivery, None, _native.step_held(item.key, item.job_id, behind, is_unknown, delivery))
        self._done(chain)

    def continue_from(self, draw: float) -> None:
        """Continues elsewhere in the list, because another worker is here. draw: a random number from 0 to 1."""
        self._start = min(int(draw * self._size), self._size - 1)
        chains = [self.chains[number] for _, number in self._ready]
        self._ready = []
        for chain in chains:
            chain.at = -1
        for chain in chains:
            if chain.state == "ready":
                self.put_back(chain)

    def advance(self, chain: Chain, is_begin: bool = False) -> None:
        """Moves a chain to its first message that has not ended. is_begin: the store was just asked for all of them."""
        while chain.items:
            item = chain.items[0]
            step = item.step
            if step is None or item.may_be_sent:
                return self.put_back(chain)
            if step.state == "sending":
                chain.state, self.has_others = "elsewhere", True
                return
            if step.state == "accepted" and self.waits and step.result is None and chain.last_sent[1] == item.at:
                if chain.state != "working":
                    self.wait(chain, "working", 0.0)
                return
            self._end_known(chain.items.popleft(), step)
            if step.state == "accepted":
                chain.not_busy()
            if step.state == "unknown":
                self._hold(chain, item, True)
                return self.end_held(self._take(self._held.pop()), []) if is_begin and chain.items else None
        self._done(chain)

    def put_back(self, chain: Chain) -> None:
        """The chain's first message may be sent."""
        at = (chain.items[0].at - self._start) % self._size
        if chain.at != at:
            heapq.heappush(self._ready, (at, chain.number))
        chain.state, chain.at, chain.poller = "ready", at, None

    def sent(self, chain: Chain, step: Step, job: Optional[Job], error: Optional[Error]) -> None:
        """A thread of this worker has sent the first message, and this is what the store has of it. It has not stayed `not_sent`."""
        self._sent_here(chain, job)
        chain.not_busy()
        self._update([step])
        if error is not None and not (step.state == "accepted" and self.waits):
            return self.ended(chain, step.state, job, error)
        self.advance(chain)

    def decided(self, chain: Chain, step: Step) -> None:
        """A thread of this worker has sent the first message, and meanwhile a person has decided about it."""
        self._sent_here(chain, None)
        self.found(chain, step)

    def sent_once(self, chain: Chain, delivery: Any, job: Optional[Job], error: Error) -> None:
        """A thread of this worker has sent the first message, and only it knows how that ended."""
        self._sent_here(chain, job)
        self.ended(chain, delivery, job, error)

    def ended(self, chain: Chain, delivery: Any, job: Optional[Job], error: Optional[Error]) -> None:
        """The first message has ended so."""
        item = chain.items.popleft()
        chain.poller = None
        self._end(item, delivery, job, error, delivery == "accepted" and not item.is_sent_here)
        if delivery == "unknown" or (delivery == "accepted" and error is not None and self.waits):
            return self._hold(chain, item, delivery == "unknown")
        self.advance(chain)

    def refused(self, chain: Chain, error: Error, pause: float, now: float) -> Optional[float]:
        """The service refused the first message, because its job is busy. Returns how many seconds the job may still be; None: it was for
        too long. pause: the shortest until the job is polled; it doubles each time, because a 409 may have another cause."""
        if chain.busy_since is None:
            chain.busy_since = now
        left = chain.busy_since + self.max_busy - now
        if left <= 0 or chain.was_too_busy:
            chain.was_too_busy = True
            if self.max_busy:
                _native.note(error, f"the job was busy for {self.max_busy:g} s (max_busy); the next run sends the message again")
            self.ended(chain, "rejected", None, error)
            return None
        pause = max(min(pause * 2**min(chain.refusals, 16), max(LONGEST_BUSY_PAUSE, pause)), error.retry_after or 0.0)
        chain.refusals += 1
        self.wait(chain, "busy", now + min(pause, left))
        return left

    def _sent_here(self, chain: Chain, job: Optional[Job]) -> None:
        item = chain.items[0]
        item.job, item.is_sent_here = job, True

    def _is_ready(self, place: Tuple[int, int]) -> bool:
        """Otherwise it is an old one."""
        chain = self.chains[place[1]]
        return chain.state == "ready" and chain.at == place[0]

    def _pop(self) -> Chain:
        at, number = heapq.heappop(self._ready)
        chain = self.chains[number]
        if chain.at == at:
            chain.at = -1
        return chain

    def _take(self, chain: Chain) -> Chain:
        self._taken += 1
        chain.state, chain.taken = "here", self._taken
        return chain

    def _hold(self, chain: Chain, behind: Item, is_unknown: bool) -> None:
        """The chain's messages have to wait for another run, because of the one before them."""
        if not chain.items:
            return self._done(chain)
        chain.state, chain.behind = "held", (behind.key, is_unknown)
        self._held.append(chain)

    def _end_known(self, item: Item, step: Step) -> None:
        # Without a result of its own, the job may show that of another message.
        stored = step.result or (None if self.waits else step.record)
        job = item.job
        if job is None or self.waits:
            job = None if stored is None else read(step, lambda: _native.stored_job(stored))
        error = None if step.state == "accepted" else read(step, lambda: unknown(step))
        self._end(item, step.state, job, error, not item.is_sent_here)

    def _end(self, item: Item, delivery: Any, job: Optional[Job], error: Optional[Error], is_earlier: bool = False) -> None:
        self.left -= 1
        self.outcomes.append({
            "item": item.at + 1,
            "line": item.line,
            "key": item.key,
            "job_id": item.job_id,
            "delivery": delivery,
            "job": job,
            "error": error,
            "earlier": is_earlier,
            "extra": item.extra,
        })  # fmt: skip

    def _done(self, chain: Chain) -> None:
        chain.state, chain.poller = "done", None
        self.open -= 1
