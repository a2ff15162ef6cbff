"""Keeps forks and the statements of this process apart: a child that is forked during one inherits SQLite's idea of which locks this
process has, and must not use SQLite.

Ctrl-C may come anywhere, also in what runs before and after a fork, where Python drops its exception. So nothing here depends on a line
that has to be executed: a statement is forgotten when it is collected, a fork after some seconds, and a child notices by its own id.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Dict

#: How long a fork waits for statements, and a statement for a fork, in seconds.
PATIENCE = 5.0


class Statement:
    """A statement that is executed on this thread."""

    def __del__(self) -> None:
        end(self)


class Inherited(Exception):
    """This process was forked during a statement."""


_pid = os.getpid()
_inherited = False
#: The threads of the statements that are executed, by the statements' ids. It is read as a whole, while other threads change it.
_statements: Dict[int, int] = {}
#: The threads that fork, and when they began.
_forking: Dict[int, float] = {}


def begin(statement: Statement) -> None:
    """A statement begins on this thread. It waits for a fork on another one."""
    if os.getpid() != _pid:
        _become_child()
    if _inherited:
        raise Inherited("this process was forked during a statement of its parent")
    me = threading.get_ident()
    while True:
        # First: then either the fork sees the statement, or this sees the fork.
        _statements[id(statement)] = me
        # A signal handler's statement may come during another one, for which the fork waits.
        if not _others_fork(me) or list(_statements.values()).count(me) > 1:
            return
        end(statement)
        time.sleep(0.001)


def end(statement: Statement) -> None:
    """It has ended, or did not begin."""
    _statements.pop(id(statement), None)


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
    # Not for the statement in which a signal handler of this thread forks.
    while set(_statements.values()) - {me} and time.monotonic() - began < PATIENCE:
        time.sleep(0.001)


def _after() -> None:
    _forking.pop(threading.get_ident(), None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after)
