"""Gives each statement of this process its turn: one at a time, and none while the process forks.

SQLite (also 3.53) looks for other locks of the process on the same file just before it closes a connection. If another thread locks the
file between the two, closing takes away its lock, and another process writes at the same time. And a child that is forked during a
statement inherits SQLite's idea of which locks this process has, and must not use SQLite.

Ctrl-C may come anywhere, also in what runs before and after a fork, where Python drops its exception. So a statement has its connection,
which is closed before the turn is given up; it ends also when it is collected, a fork after some seconds, and a child notices by its own
id that a statement is its parent's.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from typing import Dict, List, Optional, Tuple

#: How long a fork waits for statements, and a statement for a fork, in seconds.
PATIENCE = 5.0
#: How long a statement sleeps for each one before it, and at most, in seconds, until it looks again.
SLEEP, LONGEST_SLEEP = 0.001, 0.02


class Ended:
    """A statement that has ended."""

    #: The process in which it began.
    pid: Optional[int] = None
    connection: Optional[sqlite3.Connection] = None


class Statement(Ended):
    """A statement that is executed on this thread, or waits for its turn."""

    def __del__(self) -> None:
        end(self)


class Inherited(Exception):
    """This process was forked during a statement."""


class NoTurn(Exception):
    """The deadline has passed, and other threads' statements are still before this one, or a fork."""


#: The process and the thread of each statement, and whether it has its turn, by its id, in the order of their turns. It is read as a
#: whole, while other threads change it.
_statements: Dict[int, Tuple[int, int, bool]] = {}
#: The threads that fork, and when they began.
_forking: Dict[int, float] = {}
#: Statements that are never ended.
_of_parents: List[Ended] = []


def begin(statement: Statement, deadline: float) -> None:
    """A statement begins on this thread. It waits for those before it, and for a fork on another thread; until the deadline, by
    time.monotonic()."""
    pid, me = os.getpid(), threading.get_ident()
    statement.pid = pid
    # Of one that was not ended, and had the same id.
    _statements.pop(id(statement), None)
    while True:
        # First: then either the fork sees the statement, or this sees the fork.
        _statements[id(statement)] = pid, me, False
        # A signal handler may have forked here, too.
        if os.getpid() != pid or any(process != pid and has_turn for process, _, has_turn in list(_statements.values())):
            raise Inherited("this process was forked during a statement of its parent")
        threads = _threads(pid)
        ahead, own = threads.index(me), threads.count(me)
        # A signal handler's statement may come during another one of its thread, for which the fork waits.
        if _others_fork(me) and own == 1:
            _statements.pop(id(statement))
        elif ahead == 0:
            _statements[id(statement)] = pid, me, True
            return
        if time.monotonic() >= deadline:
            raise NoTurn
        time.sleep(min(SLEEP * (ahead + 1), LONGEST_SLEEP))


def end(statement: Ended) -> None:
    """It has ended, or did not begin. Ctrl-C may come before this does anything, so call it twice."""
    if statement.pid not in (None, os.getpid()):
        # A signal handler has forked, and this is the child. Closing the connection would end its parent's transaction.
        _of_parents.append(statement)
    else:
        if statement.connection is not None:
            # An error: it was not opened.
            with contextlib.suppress(sqlite3.Error):
                statement.connection.close()
        _statements.pop(id(statement), None)
    # Nothing is left to do when it is collected: from there, Python drops the exception of Ctrl-C.
    statement.__class__ = Ended


def _threads(pid: int) -> List[int]:
    return [thread for process, thread, _ in list(_statements.values()) if process == pid]


def _others_fork(me: int) -> bool:
    now = time.monotonic()
    return any(thread != me and now - began < PATIENCE for thread, began in list(_forking.items()))


def _before() -> None:
    me = threading.get_ident()
    began = _forking[me] = time.monotonic()
    # Not for the statement in which a signal handler of this thread forks.
    while set(_threads(os.getpid())) - {me} and time.monotonic() - began < PATIENCE:
        time.sleep(SLEEP)


def _after() -> None:
    _forking.pop(threading.get_ident(), None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_forking.clear)
