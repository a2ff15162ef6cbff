"""Keeps forks and the statements of this process apart: a child that is forked during one would inherit SQLite's idea of which locks this
process has."""

from __future__ import annotations

import os
import threading
import time

#: The longest that a fork waits for statements, in seconds.
PATIENCE = 60.0

_forking = 0
_at_work: dict[int, int] = {}


def begin() -> None:
    """A statement begins on this thread."""
    me = threading.get_ident()
    while True:
        _at_work[me] = _at_work.get(me, 0) + 1
        # A signal handler may fork during a statement, and may have one of its own.
        if not _forking or _at_work[me] > 1:
            return
        end()
        time.sleep(0.001)


def end() -> None:
    """It has ended."""
    me = threading.get_ident()
    _at_work[me] -= 1
    if not _at_work[me]:
        del _at_work[me]


def _before() -> None:
    global _forking
    _forking += 1
    deadline = time.monotonic() + PATIENCE
    while set(_at_work) - {threading.get_ident()} and time.monotonic() < deadline:
        time.sleep(0.001)


def _after_in_parent() -> None:
    global _forking
    _forking -= 1


def _after_in_child() -> None:
    global _forking
    _forking = 0
    _at_work.clear()


os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
