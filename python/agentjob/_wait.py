"""The loop of a wait, without the sleeping and the polling: those block in one face, and are awaited in another."""

TYPE_CHECKING = False  # typing's own, without the time that importing typing takes
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Optional

    from ._native import Poller
    from .types import Job


def records(poller: "Poller") -> "Iterator[Optional[Job]]":
    """Drives a Poller to its end. Yields each record that differs from the one before it. Yields None for each pause: sleep
    `poller.due_in` seconds, call `poller.poll()`, then continue.

    A poller that begins with the response to a message yields that record first.
    """
    job = poller.job
    if job is not None:
        yield job
    while not poller.done or job is None:
        yield None
        job = poller.job
        if poller.changed:
            yield job
