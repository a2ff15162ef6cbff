"""Connections to PostgreSQL, and statements that end in time: with psycopg's wrapper of libpq, because its own statements wait for a server
that hangs as long as the server does.
"""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..errors import StoreError
from .store import StoreBusyError

if TYPE_CHECKING:
    import psycopg

Rows = List[Tuple[Optional[str], ...]]

#: How long a connection may take, in whole seconds, unless the store's URL or the environment says otherwise.
CONNECTS = "5"
#: How long a server may take to respond, in seconds: then it hangs, or the network does.
RESPONDS = 5.0
#: After how long a statement's thread finds at the latest that it is in a process that a signal handler forked, in seconds.
FORKS = 0.5
#: How long a connection is kept, in seconds: firewalls forget it later.
KEPT = 60.0
#: The SQLSTATEs of statements that changed nothing because of other transactions: a deadlock, a conflict, a lock that is held, an end
#: that the server's settings or an operator gave it.
BUSY = ("40P01", "40001", "55P03", "57014")

#: Connections of a parent, which only it may close.
_of_parents: List[psycopg.Connection[Any]] = []


class Failed(StoreError):
    """The server refused a statement."""


class Lost(StoreError):
    """There is no connection, or no more: a statement that was sent may have been executed, and may still be."""


class Locator(NamedTuple):
    """Which database it is."""

    settings: Dict[str, str]
    name: str
    """Without the password."""

    @classmethod
    def of(cls, url: str) -> Locator:
        try:
            import psycopg
            from psycopg import conninfo
        except ImportError as error:
            raise StoreError(f"steps in PostgreSQL need psycopg: {error}. Run: pip install 'agentjob[postgresql]'") from error
        try:
            settings = {name: str(value) for name, value in conninfo.conninfo_to_dict(url).items() if value is not None}
        except (psycopg.Error, UnicodeError):
            # Its text may have a part of the password.
            settings = None
        if settings is None or _is_split(settings):
            reason = "the store's URL is not one that PostgreSQL understands"
            raise StoreError(f"{reason}. Give postgresql://USER@HOST/DATABASE, with special characters percent-encoded.")
        user = f"{settings['user']}@" if "user" in settings else ""
        port = f":{settings['port']}" if "port" in settings else ""
        return cls(settings, f"postgresql://{user}{settings.get('host', '')}{port}/{settings.get('dbname', '')}")


class Connection:
    """A connection, for one thread at a time."""

    def __init__(self, locator: Locator) -> None:
        import psycopg
        from psycopg import conninfo

        settings = {"fallback_application_name": "agentjob", **locator.settings, "client_encoding": "UTF8"}
        if "PGCONNECT_TIMEOUT" not in os.environ:
            settings.setdefault("connect_timeout", CONNECTS)
        self._pid = os.getpid()
        try:
            self._psycopg = psycopg.Connection.connect(conninfo.make_conninfo(**settings))
        except psycopg.Error as error:
            raise Lost(_line(error)) from error
        self._libpq = self._psycopg.pgconn
        self._poll = select.poll()
        self._used = time.monotonic()

    def __del__(self) -> None:
        if hasattr(self, "_psycopg"):
            self.close()

    def close(self) -> None:
        if self._pid == os.getpid():
            self._psycopg.close()
        else:
            _of_parents.append(self._psycopg)

    def is_fresh(self) -> bool:
        """It belongs to this process, was used not long ago, and the server has not ended it."""
        if self._pid != os.getpid() or time.monotonic() - self._used > KEPT:
            return False
        return not self._ready(select.POLLIN, 0)

    def server_encoding(self) -> str:
        return (self._libpq.parameter_status(b"server_encoding") or b"").decode("ascii")

    def execute(self, statement: str, arguments: Optional[Sequence[Optional[str]]], deadline: float) -> Rows:
        """Executes one statement with arguments, or any number without. Whatever it raises but StoreBusyError closes the connection."""
        import psycopg
        from psycopg.pq import ExecStatus

        try:
            if arguments is None:
                self._libpq.send_query(statement.encode())
            else:
                self._libpq.send_query_params(statement.encode(), [None if value is None else value.encode() for value in arguments])
            results = []
            while result := self._result(max(deadline, time.monotonic() + RESPONDS)):
                results.append(result)
            for result in results:
                if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
                    raise self._refused(result)
        except StoreBusyError:
            raise
        except psycopg.Error as error:
            self.close()
            raise Lost(_line(error)) from error
        except BaseException:
            self.close()
            raise
        self._used = time.monotonic()
        columns = range(results[-1].nfields)
        return [tuple(_text(results[-1].get_value(row, column)) for column in columns) for row in range(results[-1].ntuples)]

    def _result(self, deadline: float) -> Optional[psycopg.pq.abc.PGresult]:
        """Sends what is not sent yet, and waits for the next result; None if there are no more."""
        while True:
            unsent = self._libpq.flush()
            if not unsent and not self._libpq.is_busy():
                return self._libpq.get_result()
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise Lost("the server does not respond")
            is_ready = self._ready(select.POLLIN | (select.POLLOUT if unsent else 0), min(remaining, FORKS))
            if self._pid != os.getpid():
                raise Failed("this process was forked during a statement of its parent")
            if is_ready:
                self._libpq.consume_input()

    def _ready(self, events: int, seconds: float) -> bool:
        self._poll.register(self._libpq.socket, events)
        return bool(self._poll.poll(seconds * 1000))

    def _refused(self, result: psycopg.pq.abc.PGresult) -> StoreError:
        import psycopg
        from psycopg.pq import ConnStatus, DiagnosticField

        message = " ".join((_text(result.error_field(DiagnosticField.MESSAGE_PRIMARY)) or _text(result.error_message) or "").split())
        if self._libpq.status != ConnStatus.OK:
            return Lost(message)
        sqlstate = _text(result.error_field(DiagnosticField.SQLSTATE)) or ""
        if sqlstate in BUSY:
            return StoreBusyError(message)
        error = Failed(message)
        error.__cause__ = psycopg.errors.lookup(sqlstate)(message) if sqlstate else None
        return error


def _is_split(settings: Dict[str, str]) -> bool:
    """A password with `@` or `/` was taken for other parts of the URL."""
    ports = settings.get("port", "").replace(",", "")
    return any("@" in settings.get(name, "")[1:] for name in ("host", "dbname")) or not (ports.isdecimal() or ports == "")


def _text(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode("utf-8", "replace")


def _line(error: Exception) -> str:
    """What psycopg says, on one line."""
    return " ".join(str(error).split())
