"""Connections to PostgreSQL, and statements, that end in time: with psycopg's wrapper of libpq, because its own statements wait for a server
that hangs as long as the server does.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from ..errors import StoreError, wrong_store
from .store import StoreBusyError

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult

Rows = List[Tuple[Optional[str], ...]]
Arguments = Sequence[Optional[str]]
Statements = Sequence[Tuple[str, Arguments]]

#: After how long a thread that waits finds at the latest that it is in a process that a signal handler forked, in seconds.
FORKS = 0.5
#: For how long a call that Ctrl-C ends waits at most until the server has executed a statement, in seconds.
ENDS = 5.0
#: The SQLSTATEs of statements that changed nothing because of other transactions: a deadlock, a conflict, a lock that is held, an end
#: that the server's settings or an operator gave it.
BUSY = ("40P01", "40001", "55P03", "57014")
#: That of a server that only reads: a replica that does not know yet that it takes its primary's place.
ONLY_READS = "25006"
#: The settings that are secrets themselves.
SECRETS = ("password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret")


class Failed(StoreError):
    """The server refused a statement."""


class Lost(StoreError):
    """There is no connection to a server that writes, or no more: a statement that was sent may have been executed, and may still be."""


class Locator(NamedTuple):
    """Which database it is."""

    settings: Dict[str, str]
    name: str
    """Without the password."""

    @classmethod
    def of(cls, url: str) -> Locator:
        try:
            import psycopg
            from psycopg import conninfo, pq
        except ImportError as error:
            raise wrong_store(f"steps in PostgreSQL need psycopg: {error}. Run: pip install 'agentjob[postgresql]'") from error
        if pq.version() < 140000:
            raise wrong_store(f"steps in PostgreSQL need libpq 14, and psycopg has {pq.version() // 10000}. Run: pip install 'psycopg[binary]'")
        settings = None
        if not _is_split(url):
            try:
                settings = {name: str(value) for name, value in conninfo.conninfo_to_dict(url).items() if value is not None}
            except (psycopg.Error, UnicodeError):
                # Its text may have a part of the password.
                pass
        if settings is None:
            reason = "the store's URL is not one that PostgreSQL understands"
            raise wrong_store(f"{reason}. Give postgresql://USER@HOST/DATABASE, with special characters percent-encoded.")
        user = f"{settings['user']}@" if "user" in settings else ""
        port = f":{settings['port']}" if "port" in settings else ""
        return cls(settings, f"postgresql://{user}{settings.get('host', '')}{port}/{settings.get('dbname', '')}")

    def attempts(self) -> List[Dict[str, str]]:
        """The settings of each host: one that is silent takes no time of the next."""
        lists = {name: value.split(",") for name, value in self.settings.items() if name in ("host", "hostaddr", "port")}
        hosts = max((len(values) for values in lists.values()), default=1)
        if any(len(values) not in (1, hosts) for values in lists.values()):
            return [self.settings]  # libpq says what is wrong
        # One that only reads does not hide the one that writes, unless the environment or a service says which is meant.
        is_said = "service" in self.settings or any(name in os.environ for name in ("PGTARGETSESSIONATTRS", "PGSERVICE"))
        writes = {"target_session_attrs": "read-write"} if hosts > 1 and not is_said else {}
        return [{**writes, **self.settings, **{name: values[n % len(values)] for name, values in lists.items()}} for n in range(hosts)]

    def has_secrets(self) -> bool:
        return any(name in self.settings for name in SECRETS)


class Connection:
    """A connection, for one thread at a time."""

    def __init__(self, locator: Locator, deadline: float) -> None:
        self._pid = os.getpid()
        self.used = time.monotonic()
        attempts = locator.attempts()
        for n, settings in enumerate(attempts):
            now = time.monotonic()
            try:
                self._connect(settings, now + (deadline - now) / (len(attempts) - n))
                break
            except Lost:
                if n == len(attempts) - 1:
                    raise

    def _connect(self, settings: Dict[str, str], deadline: float) -> None:
        import psycopg
        from psycopg import conninfo, pq
        from psycopg.pq import ConnStatus, PollingStatus

        settings = {"fallback_application_name": "agentjob", **settings, "client_encoding": "UTF8"}
        try:
            self._libpq: PGconn = pq.PGconn.connect_start(conninfo.make_conninfo(**settings).encode())
            waits = PollingStatus.WRITING
            while waits != PollingStatus.OK:
                if waits == PollingStatus.FAILED or self._libpq.status == ConnStatus.BAD:
                    raise Lost(_line(self._libpq.error_message))
                self._wait(select.POLLIN if waits == PollingStatus.READING else select.POLLOUT, deadline)
                waits = PollingStatus(self._libpq.connect_poll())
            self._libpq.nonblocking = 1
            self._libpq.enter_pipeline_mode()
        except psycopg.Error as error:
            raise Lost(_line(error)) from error

    def close(self) -> None:
        """Only in the process that it belongs to: a child must not end what its parent uses. What is dropped is closed, too."""
        if self._pid == os.getpid():
            self._libpq.finish()

    def is_usable(self) -> bool:
        """It belongs to this process, and the server has not ended it."""
        import psycopg

        try:
            return self._pid == os.getpid() and not self._ready(select.POLLIN, 0)
        except psycopg.Error:
            return False

    def server_encoding(self) -> str:
        return (self._libpq.parameter_status(b"server_encoding") or b"").decode("ascii")

    def execute(self, statements: Statements, deadline: float, is_ended: bool = False) -> Rows:
        """Executes statements in one transaction and one round trip. Returns the rows of the last. Whatever it raises but StoreBusyError
        closes the connection. is_ended: Ctrl-C, and what else a signal handler raises, waits for the statements' end, because what is
        executed next must find what they did."""
        import psycopg
        from psycopg.pq import ExecStatus

        results: List[PGresult] = []
        is_sent = False
        try:
            for statement, arguments in statements:
                values = [None if value is None else value.encode() for value in arguments]
                self._libpq.send_query_params(statement.encode(), values)
            # From here on the server may execute them.
            is_sent = True
            self._libpq.pipeline_sync()
            while True:
                result = self._result(deadline)
                if result is not None and result.status == ExecStatus.PIPELINE_SYNC:
                    break
                if result is not None:
                    results.append(result)
            for result in results:
                if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
                    raise _refused(result)
        except StoreBusyError:
            raise
        except psycopg.Error as error:
            self.close()
            # It may have said why before it ended the connection.
            said = [_line(result.error_message) for result in results if result.status == ExecStatus.FATAL_ERROR]
            raise Lost(said[0] if said else _line(error)) from error
        except UnicodeError as error:
            self.close()
            raise Failed(str(error)) from error
        except (Failed, Lost):
            self.close()
            raise
        except BaseException:
            try:
                if is_sent and is_ended and self._pid == os.getpid():
                    self._end(time.monotonic() + ENDS)
            finally:
                self.close()
            raise
        self.used = time.monotonic()
        columns = range(results[-1].nfields)
        rows = ([results[-1].get_value(row, column) for column in columns] for row in range(results[-1].ntuples))
        return [tuple(None if value is None else _text(value) for value in row) for row in rows]

    def _end(self, deadline: float) -> None:
        """Waits for the end of statements that were all sent."""
        import psycopg
        from psycopg.pq import TransactionStatus

        with suppress(psycopg.Error, StoreError):
            # Perhaps once more. Without it the server does not end the transaction.
            self._libpq.pipeline_sync()
            while self._libpq.transaction_status == TransactionStatus.ACTIVE:
                self._result(deadline)

    def _result(self, deadline: float) -> Optional[PGresult]:
        """Sends what is not sent yet, and waits for the next result; None between those of two statements."""
        from psycopg.pq import ConnStatus

        while True:
            unsent = self._libpq.flush()
            if not unsent and not self._libpq.is_busy():
                break
            self._wait(select.POLLIN | (select.POLLOUT if unsent else 0), deadline)
            self._libpq.consume_input()
        result = self._libpq.get_result()
        if result is None and self._libpq.status != ConnStatus.OK:
            raise Lost(_line(self._libpq.error_message))
        return result

    def _wait(self, events: int, deadline: float) -> None:
        """Waits until the connection is ready."""
        while True:
            remaining = deadline - time.monotonic()
            is_ready = self._ready(events, max(0.0, min(remaining, FORKS)))
            if self._pid != os.getpid():
                raise Failed("this process was forked during a statement of its parent")
            if is_ready:
                return
            if remaining <= 0:
                raise Lost("the server does not respond")

    def _ready(self, events: int, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._libpq.socket, events)
        return bool(poll.poll(seconds * 1000))


def _refused(result: PGresult) -> StoreError:
    import psycopg
    from psycopg.pq import DiagnosticField

    message = _line(result.error_field(DiagnosticField.MESSAGE_PRIMARY) or result.error_message)
    sqlstate = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode("ascii")
    if sqlstate in BUSY:
        return StoreBusyError(message)
    # Without one, it is of libpq: the connection broke.
    error: StoreError = Failed(message) if sqlstate and sqlstate != ONLY_READS else Lost(message)
    error.__cause__ = psycopg.errors.error_from_result(result)
    return error


def _is_split(url: str) -> bool:
    """A password with `@` or `/` would be taken for other parts of the URL, and shown."""
    _, is_url, rest = url.partition("://")
    authority, _, database = rest.partition("?")[0].partition("/")
    return bool(is_url) and (authority.count("@") > 1 or "@" in database)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _line(message: Union[bytes, Exception]) -> str:
    return " ".join((_text(message) if isinstance(message, bytes) else str(message)).split())
