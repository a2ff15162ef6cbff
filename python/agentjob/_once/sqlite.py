"""Steps in an SQLite database: for the processes of one machine."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from .. import _native
from ..errors import StoreError
from .store import VERSION, Step, refuse_version

#: Of a step that a worker took and whose lease is over, or that was taken before the machine's last start, the outcome is not known.
STATE = "CASE WHEN state = 'sending' AND (boot IS NOT :boot OR lease_until <= :now) THEN 'unknown' ELSE state END"
COLUMNS = ", ".join(STATE if name == "state" else name for name in Step._fields)
#: How long a statement waits for those of other processes, in seconds.
PATIENCE = 30.0
NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"

# The row of the key '' is the store's own: its version. A lease is measured by the clock of the machine, which no one can set.
TABLE = f"""
CREATE TABLE IF NOT EXISTS agentjob_steps (
    key TEXT PRIMARY KEY NOT NULL,
    job_id TEXT NOT NULL,
    message TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('sending', 'accepted', 'rejected', 'not_sent', 'unknown', 'version')),
    sends INTEGER NOT NULL DEFAULT 0,
    may_have_arrived INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    failure TEXT,
    record TEXT,
    poller TEXT,
    result TEXT,
    decision TEXT,
    taken_at TEXT,
    changed_at TEXT,
    boot TEXT,
    lease_until REAL
) WITHOUT ROWID"""
FIRST_ROW = f"INSERT OR IGNORE INTO agentjob_steps (key, job_id, message, state, sends) VALUES ('', '', '', 'version', {VERSION})"

TAKE = f"""
INSERT INTO agentjob_steps (key, job_id, message, state, sends, owner, boot, lease_until, taken_at)
VALUES (:key, :job_id, :message, 'sending', 1, :owner, :boot, :now + :lease, {NOW})
ON CONFLICT (key) DO UPDATE SET
    state = 'sending', sends = sends + (owner IS NOT excluded.owner), owner = excluded.owner, failure = NULL, record = NULL,
    poller = NULL, boot = excluded.boot, lease_until = excluded.lease_until, taken_at = excluded.taken_at, changed_at = NULL
WHERE job_id = excluded.job_id AND message = excluded.message
    AND (state IN ('not_sent', 'rejected') OR ({STATE} = 'sending' AND owner = excluded.owner))
RETURNING {COLUMNS}"""

SETTLE = f"""
UPDATE agentjob_steps SET
    state = CASE WHEN may_have_arrived AND :state IN ('not_sent', 'rejected') THEN 'unknown' ELSE :state END,
    may_have_arrived = CASE WHEN :state = 'accepted' THEN 0 ELSE may_have_arrived END,
    failure = :failure, record = :record, poller = :poller, changed_at = {NOW}
WHERE key = :key AND owner = :owner AND state IN ('sending', 'unknown')
RETURNING {COLUMNS}"""

RESOLVE = f"""
UPDATE agentjob_steps SET
    state = :state, may_have_arrived = :may_have_arrived, decision = :decision, owner = NULL, failure = NULL, changed_at = {NOW}
WHERE key = :key AND {STATE} = 'unknown'
RETURNING {COLUMNS}"""

FINISH = "UPDATE agentjob_steps SET result = :result WHERE key = :key AND state = 'accepted'"

GET = f"SELECT {COLUMNS} FROM agentjob_steps WHERE key <> '' AND (:state IS NULL OR {STATE} = :state)"
GET_KEYS = f"{GET} AND key IN (SELECT value FROM json_each(:keys))"


class SQLiteStore:
    """Steps in an SQLite database, for any number of processes of one machine: threads, forked workers, and programs that run at the same
    time. Not for a network file system.

    path: the database's file. It is made if it isn't there, readable by this user only; its folder must exist. The steps are in one
        table, `agentjob_steps`, so it may be a database that has other tables.

    Raises StoreError: it can't be opened, read or written, or a later version of agentjob has written it. Needs SQLite 3.35 (2021).
    """

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        self.path: str = os.path.abspath(os.fspath(path))
        self._by_pid: Dict[int, _Here] = {}

    def __repr__(self) -> str:
        return f"SQLiteStore({self.path!r})"

    def __reduce__(self) -> Tuple[Any, ...]:
        return SQLiteStore, (self.path,)

    def take(self, key: str, job_id: str, message: str, owner: str, lease: float) -> Step:
        """Takes a step to send it; see Store."""
        arguments = {"key": key, "job_id": job_id, "message": message, "owner": owner, "lease": lease}
        with self._connection() as connection:
            step = _step(connection, TAKE, arguments) or _find(connection, key)
        if step is None:
            raise StoreError(f"step {_native.escape(key)!r} was removed from the store {self.path!r} meanwhile")
        return step

    def settle(
        self, key: str, owner: str, state: str, failure: Optional[str], record: Optional[str], poller: Optional[str], /
    ) -> Optional[Step]:
        """Records an outcome; see Store."""
        arguments = {"key": key, "owner": owner, "state": state, "failure": failure, "record": record, "poller": poller}
        with self._connection() as connection:
            return _step(connection, SETTLE, arguments) or _find(connection, key)

    def resolve(self, key: str, state: str, may_have_arrived: bool, decision: str, /) -> Optional[Step]:
        """Records a decision; see Store."""
        arguments = {"key": key, "state": state, "may_have_arrived": may_have_arrived, "decision": decision}
        with self._connection() as connection:
            return _step(connection, RESOLVE, arguments) or _find(connection, key)

    def finish(self, key: str, result: str, /) -> None:
        """Records the last record of a job; see Store."""
        with self._connection() as connection:
            connection.execute(FINISH, {"key": key, "result": result})

    def get(self, keys: Optional[Iterable[str]] = None, state: Optional[str] = None, /) -> List[Step]:
        """These steps, or all; see Store."""
        wanted = None if keys is None else json.dumps(list(keys))
        with self._connection() as connection:
            return _steps(connection, GET if wanted is None else GET_KEYS, {"keys": wanted, "state": state}, " ORDER BY key")

    def close(self) -> None:
        """Closes this process's connection. The next call opens another one."""
        here = self._by_pid.pop(os.getpid(), None)
        if here is not None:
            with here.lock:
                here.connection.close()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            # SQLite must not use a connection that was open before a fork, nor close it.
            pid = os.getpid()
            here = self._by_pid.get(pid)
            if here is None:
                # If two threads open it, one of their connections is kept.
                here = self._by_pid.setdefault(pid, _Here(_open(self.path)))
            with here.lock:
                yield here.connection
        except (sqlite3.Error, sqlite3.Warning, OSError) as error:
            raise StoreError(f"the store {self.path!r} cannot be used: {error}") from error


class _Here:
    """The connection of one process."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.pid = os.getpid()
        self.connection = connection
        self.lock = threading.Lock()

    def __del__(self) -> None:
        if self.pid == os.getpid():
            self.connection.close()


def _open(path: str) -> sqlite3.Connection:
    if sqlite3.sqlite_version_info < (3, 35):
        raise StoreError(f"this Python has SQLite {sqlite3.sqlite_version}, and a store needs 3.35. Use a newer Python, or PostgreSQL.")
    _create(path)
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        _until_unlocked(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
        # A commit is on the disk when it returns.
        connection.execute("PRAGMA synchronous = FULL")
        version = _version(connection)
        if version is None:
            connection.execute(TABLE)
            connection.execute(FIRST_ROW)
            version = _version(connection)
        if version != VERSION:
            refuse_version(repr(path), version)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: str) -> None:
    """Makes an empty file, if there is none: which jobs got which messages is for this user only, and SQLite gives its other files the
    permissions of this one. The file gets its name when it is closed again, because closing a file takes away the locks that SQLite
    has on it in this process."""
    if os.path.exists(path):
        return
    new = f"{path}.{os.getpid()}.{threading.get_ident()}.new"
    os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
    finally:
        os.unlink(new)


def _version(connection: sqlite3.Connection) -> Any:
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'agentjob_steps'").fetchone() is None:
        return None
    row = connection.execute("SELECT sends FROM agentjob_steps WHERE key = ''").fetchone()
    return None if row is None else row[0]


def _until_unlocked(statement: Any) -> None:
    """SQLite itself does not wait when two processes begin with the same database."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            statement()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _steps(connection: sqlite3.Connection, statement: str, arguments: Dict[str, Any], order: str = "") -> List[Step]:
    boot, now = _native.machine_time() or (None, time.time())
    # All rows are read: only then the statement is executed to its end, and committed.
    rows = connection.execute(statement + order, {**arguments, "boot": boot, "now": now}).fetchall()
    return [step._replace(may_have_arrived=bool(step.may_have_arrived)) for step in (Step(*row) for row in rows)]


def _step(connection: sqlite3.Connection, statement: str, arguments: Dict[str, Any]) -> Optional[Step]:
    steps = _steps(connection, statement, arguments)
    return steps[0] if steps else None


def _find(connection: sqlite3.Connection, key: str) -> Optional[Step]:
    return _step(connection, GET_KEYS, {"keys": json.dumps([key]), "state": None})
