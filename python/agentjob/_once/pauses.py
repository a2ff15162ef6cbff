"""When the workers of a run send nothing: the rate is used up, the service said that it is called too often, or it fails. Nothing here has a
clock. After a pause, one message alone goes first."""

from __future__ import annotations

from typing import Optional

#: The first pause after a service failure, in seconds, which doubles; the longest; and by how much each varies.
BACKOFFS, JITTER = (1.0, 300.0), 0.1


class Pauses:
    """The pauses of a run, and how long the service may fail, in seconds."""

    def __init__(self, max_outage: float) -> None:
        self.max_outage = max_outage
        #: When messages may be sent again, and whether the first is in flight alone until then.
        self.until, self.is_paused = 0.0, False
        #: How many pauses there were since the service failed first, without a response meanwhile; and when that was.
        self.failures, self.failing_since = 0, 0.0

    def next(self, now: float, sending: int) -> Optional[float]:
        """How long the next message has to wait at least; None: it may be sent now. sending: how many are in flight."""
        if now < self.until:
            return self.until - now
        return 0.0 if self.is_paused and sending else None

    def pause(self, until: float) -> None:
        """Nothing is sent until then."""
        self.until, self.is_paused = max(self.until, until), True

    def responded(self) -> bool:
        """The service responded to a message. Returns whether that ended a pause."""
        was_paused, self.is_paused, self.failures = self.is_paused, False, 0
        return was_paused

    def failed(self, now: float, draw: float) -> Optional[float]:
        """The service failed, or can't be reached. Returns how long it has, if that is longer than `max_outage`. draw: a random number from 0
        to 1."""
        if self.failures == 0:
            self.failing_since = now
        elif now - self.failing_since >= self.max_outage:
            return now - self.failing_since
        # Several messages in flight report one failure.
        if self.failures == 0 or now >= self.until:
            pause = min(BACKOFFS[0] * 2.0 ** min(self.failures, 16), BACKOFFS[1])
            self.failures += 1
            self.pause(now + pause * (1 - JITTER + 2 * JITTER * draw))
        return None
