"""Steps in an SQLite database: for the processes of one machine.

Each statement has a connection of its own. SQLite's connections don't survive a fork: not even one that a child opens itself, while its
parent has another one open. And it has its turn in this process: see turns.py.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, TypeVar, Union

from .. import _native
from ..errors import StoreError, wrong_store
from ..types import Resolution, StepState
from . import turns
from .store import LATEST_LEASE, LATEST_PAUSE, LONGEST_SPAN, PATIENCE, VERSION, Step, StepOutcome, StoreBusyError, Taker, Throttled, may_be_taken

T = TypeVar("T")
#: How long SQLite itself waits for other statements, in seconds, before Python looks for signals.
SLICE = 0.05
TIME = "strftime('%Y-%m-%dT%H:%M:%fZ', "
NOW = f"{TIME}'now')"
#: Of a step that a worker took and whose lease is over, or that was taken before the machine's last start, the outcome is not known. The
#: difference, because SQLite 3.40 compares a number with a parameter as texts in RETURNING.
STATE = "CASE WHEN state = 'sending' AND (boot IS NOT :boot OR lease_until - :now <= 0) THEN 'unknown' ELSE state END"
COLUMNS = ", ".join(STATE if name == "state" else name for name in Step._fields)

# What makes each version of the table of the one before. SQLite keeps the text of the table's columns, with the comments in it.
VERSIONS = [["""
CREATE TABLE agentjob_steps ( -- version 1
    key TEXT PRIMARY KEY NOT NULL,
    job_id TEXT NOT NULL,
    message TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('sending', 'accepted', 'rejected', 'not_sent', 'unknown')),
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
    boot TEXT, -- by the clock of this start of the machine, which no one can set
    lease_until REAL
) WITHOUT ROWID"""], [
    "ALTER TABLE agentjob_steps ADD COLUMN scope /* version 2 */ TEXT",
    "ALTER TABLE agentjob_steps ADD COLUMN counts_from TEXT",
    "ALTER TABLE agentjob_steps ADD COLUMN earlier_counts_from TEXT",
    "ALTER TABLE agentjob_steps ADD COLUMN pause_until TEXT",
    "CREATE INDEX agentjob_steps_job ON agentjob_steps (job_id, taken_at)",
    "CREATE INDEX agentjob_steps_counts ON agentjob_steps (scope, counts_from) WHERE counts_from IS NOT NULL",
    "CREATE INDEX agentjob_steps_paused ON agentjob_steps (scope, pause_until) WHERE pause_until IS NOT NULL",
]]
TABLE_IS = "SELECT sql FROM sqlite_master WHERE name = 'agentjob_steps'"

COUNTS = f"BETWEEN {TIME}'now', -:span || ' seconds') AND {TIME}'now', '{LATEST_LEASE}')"
# Until when no message may be sent: the pauses, and the time at which the first of the last `messages` ones counts no more. One that is
# being sent may still end now.
LIMITS = f"""(
    SELECT 'pause' AS reason, max(pause_until) AS until FROM agentjob_steps
    WHERE scope = :scope AND pause_until BETWEEN {NOW} AND {TIME}'now', '{LATEST_PAUSE}')
    UNION ALL SELECT 'rate', {TIME}min(sent, {NOW}), (:span + 0.001) || ' seconds') FROM (
        SELECT counts_from AS sent FROM agentjob_steps WHERE scope = :scope AND counts_from {COUNTS}
        UNION ALL SELECT value FROM agentjob_steps, json_each(earlier_counts_from)
        WHERE scope = :scope AND counts_from {COUNTS} AND value {COUNTS}
        ORDER BY sent DESC LIMIT 1 OFFSET coalesce(:messages, 1) - 1 -- without a rate, none counts
    )
)"""
THROTTLED = f"SELECT reason, round((julianday(until) - julianday('now')) * 86400, 3) FROM {LIMITS} WHERE until > {NOW} ORDER BY until DESC"

TAKE = f"""
INSERT INTO agentjob_steps (key, job_id, message, state, sends, owner, boot, lease_until, taken_at, scope, counts_from)
SELECT :key, :job_id, :message, 'sending', 1, :owner, :boot, :now + :lease, {NOW}, :scope, {TIME}'now', :lease || ' seconds')
WHERE NOT EXISTS (SELECT 1 FROM {LIMITS} WHERE until > {NOW})
ON CONFLICT (key) DO UPDATE SET
    state = 'sending', sends = sends + 1, owner = excluded.owner, failure = NULL, record = NULL, poller = NULL, result = NULL,
    boot = excluded.boot, lease_until = excluded.lease_until, taken_at = excluded.taken_at, changed_at = NULL, pause_until = NULL,
    scope = excluded.scope, counts_from = excluded.counts_from, earlier_counts_from = (
        SELECT nullif(json_group_array(sent), '[]') FROM (
            SELECT value AS sent FROM json_each(earlier_counts_from) UNION ALL SELECT agentjob_steps.counts_from
        ) WHERE sent >= {TIME}'now', '-{LONGEST_SPAN}')
    )
WHERE message = excluded.message
    AND (state = 'not_sent' OR (state = 'rejected' AND :takes_rejected) OR (state = 'unknown' AND decision = 'resend' AND owner IS NULL))
RETURNING {COLUMNS}"""

SETTLE = f"""
UPDATE agentjob_steps SET
    state = CASE WHEN may_have_arrived AND :state IN ('not_sent', 'rejected') THEN 'unknown' WHEN :again THEN 'not_sent' ELSE :state END,
    may_have_arrived = CASE WHEN :state = 'accepted' THEN 0 ELSE may_have_arrived END,
    failure = :failure, record = :record, poller = :poller, changed_at = {NOW}, pause_until = {TIME}'now', :pause || ' seconds'),
    counts_from = CASE WHEN state <> 'sending' THEN counts_from WHEN :state = 'not_sent' THEN json_extract(earlier_counts_from, '$[#-1]') ELSE {NOW} END,
    earlier_counts_from = CASE WHEN state = 'sending' AND :state = 'not_sent' THEN json_remove(earlier_counts_from, '$[#-1]') ELSE earlier_counts_from END
WHERE key = :key AND owner = :owner AND state IN ('sending', 'unknown')
RETURNING {COLUMNS}"""

RESOLVE = f"""
UPDATE agentjob_steps SET
    state = :state, may_have_arrived = :resolution = 'resend', decision = :resolution, owner = NULL, failure = NULL, changed_at = {NOW}
WHERE key = :key AND sends = :sends AND owner IS :owner AND decision IS :decision
    AND ({STATE} = 'unknown' OR (state = 'not_sent' AND owner IS NULL))
RETURNING {COLUMNS}"""

FINISH = """
UPDATE agentjob_steps SET result = coalesce(result, :result)
WHERE key = :key AND sends = :sends AND state = 'accepted' AND (result IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM agentjob_steps AS later
    WHERE later.job_id = agentjob_steps.job_id AND later.scope IS agentjob_steps.scope AND later.key <> agentjob_steps.key
        AND later.taken_at >= agentjob_steps.taken_at AND later.state IN ('sending', 'accepted', 'unknown')))
RETURNING result"""

GET = f"SELECT {COLUMNS} FROM agentjob_steps WHERE (:state IS NULL OR {STATE} = :state)"
GET_KEYS = f"{GET} AND key IN (SELECT value FROM json_each(:keys))"


class SQLiteStore:
    """Steps in an SQLite database, for any number of processes of one machine: threads, forked workers, and programs that run at the same
    time. Not for a network file system.

    path: the database's file. It is made if it isn't there, readable by this user only; its folder must exist. The steps are in one
        table, `agentjob_steps`, so it may be a database that has other tables; but not one to which other threads of this process connect,
        as SQLite can lose its locks then.

    Raises StoreError: it can't be opened, read or written, or another version of agentjob has written it. Needs SQLite 3.35 (2021).
    """

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        given = os.fsdecode(os.fspath(path))
        self.path: str = os.path.abspath(given)
        #: Whether the path depends on the working directory in which the store was made.
        self.was_relative: bool = not os.path.isabs(given)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    def __getstate__(self) -> Dict[str, Any]:
        # A copy has the absolute path, and so is the same store in any working directory.
        return {**self.__dict__, "was_relative": False}

    def take(self, key: str, job_id: str, message: str, taker: Taker, patience: float, /) -> Tuple[Optional[Step], Optional[Throttled]]:
        """Takes a step to send it; see Store."""
        arguments = {"job_id": job_id, "message": message, **taker._asdict()}

        def take(connection: sqlite3.Connection) -> Tuple[Optional[Step], Optional[Throttled]]:
            step = _change(connection, TAKE, key, arguments)
            if step is not None and not may_be_taken(step, message, taker.takes_rejected):
                return step, None
            throttled = connection.execute(THROTTLED, arguments).fetchall()
            return step, Throttled(*throttled[0]) if throttled else None

        return self._run(take, patience)

    def settle(self, key: str, owner: str, outcome: StepOutcome, patience: float, /) -> Optional[Step]:
        """Records an outcome; see Store."""
        return self._run(lambda connection: _change(connection, SETTLE, key, {"owner": owner, **outcome._asdict()}), patience)

    def resolve(self, step: Step, state: str, resolution: Resolution, /) -> Optional[Step]:
        """Records a decision; see Store."""
        seen = {"sends": step.sends, "owner": step.owner, "decision": step.decision}
        arguments = {**seen, "state": state, "resolution": resolution}
        return self._run(lambda connection: _change(connection, RESOLVE, step.key, arguments), PATIENCE)

    def finish(self, step: Step, result: str, /) -> Optional[str]:
        """Records the last record of a job; see Store."""
        arguments = {"key": step.key, "sends": step.sends, "result": result}
        rows = self._run(lambda connection: connection.execute(FINISH, arguments).fetchall(), PATIENCE)
        return str(rows[0][0]) if rows else None

    def get(self, keys: Optional[Sequence[str]], state: Optional[StepState], patience: float, /) -> List[Step]:
        """These steps, or all; see Store."""
        statement = GET if keys is None else GET_KEYS
        arguments = {"keys": json.dumps(keys), "state": state}
        return self._run(lambda connection: _steps(connection, statement + " ORDER BY key", arguments), patience)

    def _run(self, work: Callable[[sqlite3.Connection], T], patience: float) -> T:
        deadline = time.monotonic() + max(patience, SLICE)
        while True:
            try:
                return self._once(work, deadline)
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise self._failed(error) from error
                if time.monotonic() >= deadline:
                    raise StoreBusyError(f"the store {self.path!r} is locked by another program") from error
            except turns.NoTurn as error:
                raise StoreBusyError(f"the store {self.path!r} had to wait for other threads, or is locked by another program") from error
            except (sqlite3.Error, sqlite3.Warning, OSError, ValueError, turns.Inherited) as error:
                raise self._failed(error) from error

    def _once(self, work: Callable[[sqlite3.Connection], T], deadline: float) -> T:
        statement = turns.Statement()
        try:
            turns.begin(statement, deadline)
            # Before it is opened: then Ctrl-C can't come between.
            connection = statement.connection = sqlite3.Connection.__new__(sqlite3.Connection)
            _open(connection, self.path)
            return work(connection)
        finally:
            try:
                turns.end(statement)
            finally:
                turns.end(statement)

    def _failed(self, error: Exception) -> StoreError:
        # SQLite's own name of it, which Python knows since 3.11: "disk I/O error" is thirty different ones.
        name = getattr(error, "sqlite_errorname", None)
        return StoreError(f"the store {self.path!r} cannot be used: {error}{f' ({name})' if name else ''}")


def _open(connection: sqlite3.Connection, path: str) -> None:
    if sqlite3.sqlite_version_info < (3, 35):
        raise wrong_store(f"this Python has SQLite {sqlite3.sqlite_version}, and a store needs 3.35. Use a newer Python.")
    _create(os.path.realpath(path))
    # After Ctrl-C, another thread may collect it, and close it.
    sqlite3.Connection.__init__(connection, path, timeout=SLICE, isolation_level=None, check_same_thread=False)
    # What was committed survives a loss of power, in every journal mode.
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA fullfsync = ON")
    version = _version(connection)
    if version is not None and version < VERSION:
        connection.execute("BEGIN IMMEDIATE")
        # Perhaps another process has done it.
        for statements in VERSIONS[_version(connection) or 0 :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute("COMMIT")
        version = _version(connection)
    if version is None:
        raise wrong_store(f"the table agentjob_steps in {path!r} was not made by agentjob. Give another file.")
    if version != VERSION:
        raise wrong_store(f"the store {path!r} has version {version}, and this agentjob needs {VERSION}. Use the agentjob that wrote it.")


def _create(path: str) -> None:
    """Makes an empty file, if there is none: which jobs got which messages is for this user only, and SQLite gives its other files the
    permissions of this one. It has its turn, as closing a file takes away the locks that SQLite has on it."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600))
    except FileExistsError:
        pass


def _version(connection: sqlite3.Connection) -> Optional[int]:
    """The version of the table, 0 if there is none; None: it is not agentjob's."""
    table: Optional[Tuple[str]] = connection.execute(TABLE_IS).fetchone()
    if table is None:
        return 0
    versions = re.findall(r"(?:--|/\*) version (\d+)", table[0] or "")
    return int(versions[-1]) if versions else None


def _change(connection: sqlite3.Connection, statement: str, key: str, arguments: Dict[str, Any]) -> Optional[Step]:
    """Executes a statement about a step. If that changes nothing, the step is read as it is."""
    found = _steps(connection, statement, {**arguments, "key": key}) or _steps(
        connection, GET_KEYS, {"keys": json.dumps([key]), "state": None}
    )
    return found[0] if found else None


def _steps(connection: sqlite3.Connection, statement: str, arguments: Dict[str, Any]) -> List[Step]:
    boot, now = _native.machine_time() or (None, time.time())
    # All rows are read: only then the statement is executed to its end, and committed.
    rows = connection.execute(statement, {**arguments, "boot": boot, "now": now}).fetchall()
    return [step._replace(may_have_arrived=bool(step.may_have_arrived)) for step in (Step(*row) for row in rows)]
