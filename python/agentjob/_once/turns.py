"""Gives each statement of this process its turn: one at a time, and none while the process forks.

SQLite (also 3.53) looks for other connections of the process to the same file just before it closes one. If another thread locks the file
between the two, closing takes away its lock, and another process writes at the same time. And a child that is forked during a statement
inherits SQLite's idea of which locks this process has, and must not use SQLite.

Ctrl-C may come anywhere, also in what runs before and after a fork, where Python drops its exception. So nothing here depends on a line
that has to be executed: a statement is forgotten when it is collected, a fork after some seconds, and a child notices by its own id.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Dict, List

#: How long a fork waits for statements, and a statement for a fork, in seconds.
PATIENCE = 5.0
#: How long a statement sleeps for each one before it, and at most, in seconds, until it looks again.
SLEEP, LONGEST_SLEEP = 0.001, 0.02


class Statement:
    """A statement that is executed on this thread, or waits for its turn."""

    def __del__(self) -> None:
        end(self)


class Inherited(Exception):
    """This process was forked during a statement."""


class NoTurn(Exception):
    """The deadline has passed, and other threads' statements are still before this one."""


_pid = os.getpid()
_inherited = False
#: The threads of the statements, by the statements' ids, in the order in which they have their turns. It is read as a whole, while other
#: threads change it.
_statements: Dict[int, int] = {}
#: The threads that fork, and when they began.
_forking: Dict[int, float] = {}


def begin(statement: Statement, deadline: float) -> None:
    """A statement begins on this thread. It waits for those before it, and for a fork on another thread; until the deadline, by
    time.monotonic()."""
    if os.getpid() != _pid:
        _become_child()
    if _inherited:
        raise Inherited("this process was forked during a statement of its parent")
    me = threading.get_ident()
    while True:
        # First: then either the fork sees the statement, or this sees the fork.
        _statements.setdefault(id(statement), me)
        threads = _threads()
        ahead = threads.index(me)
        # A signal handler's statement may come during another one of its thread, for which the fork waits.
        if _others_fork(me) and threads.count(me) == 1:
            end(statement)
        elif ahead == 0:
            return
        if time.monotonic() >= deadline:
            raise NoTurn
        time.sleep(min(SLEEP * (ahead + 1), LONGEST_SLEEP))


def end(statement: Statement) -> None:
    """It has ended, or did not begin."""
    _statements.pop(id(statement), None)


def _threads() -> List[int]:
    return list(_statements.values())


def _others_fork(me: int) -> bool:
    now = time.monotonic()
    return any(thread != me and now - began < PATIENCE for thread, began in list(_forking.items()))


def _become_child() -> None:
    global _inherited, _pid
    _inherited = _inherited or bool(_statements)
    _forking.clear()
    _pid = os.getpid()


def _before() -> None:
    me = threading.get_ident()
    began = _forking[me] = time.monotonic()
    # Only one has its turn. If that is the one in which a signal handler of this thread forks, it can't end.
    while _threads()[:1] not in ([], [me]) and time.monotonic() - began < PATIENCE:
        time.sleep(SLEEP)


def _after() -> None:
    _forking.pop(threading.get_ident(), None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after)
