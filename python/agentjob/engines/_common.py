"""What the modules of the engines share: when a step runs again that failed, what is checked before it sends, and one Once for its copies."""

from __future__ import annotations

import os
import pickle
import threading
from collections import OrderedDict
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, TypeVar, Union

from .. import _native
from .._native import CancelToken, Client, Poller
from .._once import lookup
from .._once.calls import Message
from .._once.store import Step
from ..aio import _check
from ..errors import Error, InvalidArgumentError, invalid_argument
from ..once import AsyncOnce, Once, SQLiteStore
from ..types import Job

T = TypeVar("T")
OnceT = TypeVar("OnceT", Once, AsyncOnce)
#: After how many failures in a row a step is given up: with their pauses, of 1 s doubling up to 5 minutes, after about an hour.
MAX_FAILURES = 20
#: How many different Once a process keeps. Nearly all have one.
KEEPS = 4

_kept: OrderedDict[Tuple[bytes, Optional[str]], Once] = OrderedDict()
_lock = threading.Lock()


def patiently(call: Callable[[], T], max_failures: int, pause: Callable[[float], object]) -> T:
    """Calls it again after failures that pass by themselves."""
    failures = 0
    while True:
        try:
            return call()
        except Error as error:
            retry = _native.step_retry(error, failures, max_failures)
            if retry is None:
                raise
        seconds, failures = retry
        pause(seconds)


def check_wait_options(client: Client, wait_options: Dict[str, Any]) -> Dict[str, Any]:
    """Checks the options of Once.wait, before a message is sent. Returns those of Once.poller: all but `check`."""
    options = {name: option for name, option in wait_options.items() if name != "check"}
    _check(wait_options.get("check", False), None)
    try:
        _native.resume_step(client, "any", None, **options)
    except InvalidArgumentError as error:
        error.delivery = "not_sent"
        raise
    return options


def send_without_waiting(
    once: Once, key: str, job_id: str, prompt: str, headers: Optional[Mapping[str, str]], cancel: Optional[CancelToken] = None
) -> Job:
    """Once.send_message for an engine, which runs it again when it may be sent, or when another worker has the outcome."""
    token = once.client._call_token(delivers=True, cancel=cancel)
    return Message(once.client, once.store, once._pace, (key, job_id, prompt), None, headers, is_patient=False).send(token)


def begun_wait(once: Once, key: str, text: Optional[str], options: Dict[str, Any]) -> Tuple[Step, Union[Job, Poller]]:
    """An accepted step, and its result, if the store has it; or else its wait, which begins, or continues from this text."""
    step = lookup.accepted(once.store, key)
    result = lookup.result(once.client, step, options)
    if result is not None:
        return step, result
    if text is not None:
        return step, once.client.resume(text, headers=options.get("headers"))
    return step, _native.resume_step(once.client, step.job_id, step.poller, **options)


def checked(once: OnceT) -> OnceT:
    """Refuses a store whose path means another file in each worker."""
    if isinstance(once.store, SQLiteStore) and once.store.was_relative:
        raise refused(f"{once.store.path!r} was given as a relative path", "Give an absolute one: workers may have other working directories.")
    return once


def refused(reason: str, hint: str) -> InvalidArgumentError:
    """The error of a step that lacks something, or has too much."""
    return invalid_argument(reason, hint, "not_sent")


def shared(once: Once) -> Once:
    """The same for each task of a worker that got a copy of one Once: their connections are kept, and a task that waits holds none."""
    try:
        name = pickle.dumps(once), os.environ.get("AGENTJOB_API_KEY")
    except Exception:  # it is no copy: the function made it, with a secret or a store that can't be pickled
        return once
    with _lock:
        kept = _kept.pop(name, once)
        _kept[name] = once if kept.client.closed else kept
        if len(_kept) > KEEPS:
            _kept.popitem(last=False)
        return _kept[name]
