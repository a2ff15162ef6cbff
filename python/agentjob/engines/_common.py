"""What the modules of the engines share: when a step that failed runs again, what is checked before it sends, and one Once a process."""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from typing import Any, Dict, Tuple

from .. import _native
from .._native import Client
from ..aio import _check
from ..errors import Error, InvalidArgumentError, RateLimitError
from ..once import Once

#: After how many failures in a row a step is given up: with their pauses, of 1 s doubling up to 5 minutes, after about an hour.
MAX_FAILURES = 20
#: How many different Once a process keeps.
KEEPS = 4

_kept: OrderedDict[bytes, Once] = OrderedDict()
_lock = threading.Lock()


def pause_after(error: Error, failures: int, max_failures: int) -> Tuple[float, int]:
    """For how many seconds to wait before the step runs again, and how many failures in a row those are then. Raises the error if running it
    again doesn't help, or it failed too often. A rate limit is no failure."""
    pause = _native.step_retry(error, failures)
    is_failure = not isinstance(error, RateLimitError)
    if pause is None or is_failure and failures >= max_failures:
        raise error
    return pause, failures + is_failure


def poller_options(client: Client, wait_options: Dict[str, Any]) -> Dict[str, Any]:
    """The options of the wait without `check`. They are checked here, before a message is sent."""
    options = {name: option for name, option in wait_options.items() if name != "check"}
    _check(wait_options.get("check", False), None)
    _native.resume_step(client, "any", None, **options)
    return options


def refused(reason: str, hint: str) -> InvalidArgumentError:
    """The error of a step that lacks something."""
    return InvalidArgumentError(f"{reason}. {hint}", {"reason": reason, "hint": hint, "delivery": "not_sent"})


def shared(once: Once) -> Once:
    """The same for each task that got a copy of one Once: their connections are kept, and a task that waits holds none."""
    text = pickle.dumps(once)
    with _lock:
        kept = _kept[text] = _kept.pop(text, once)
        if len(_kept) > KEEPS:
            _kept.popitem(last=False)
        return kept
