"""Steps in a PostgreSQL database: for the workers of any number of machines."""

from __future__ import annotations

import json
import re
import time
from typing import List, Optional, Sequence, Tuple

from .. import _native
from ..errors import StoreError
from ..types import Resolution, StepState
from .libpq import Connection, Failed, Locator, Lost, Rows
from .store import PATIENCE, VERSION, Step, StoreBusyError

#: How many connections that are not used now a process keeps.
KEPT = 4
#: The pause between two attempts, in seconds.
PAUSE = 0.2

#: By the server's clock: of a step that a worker took and whose lease is over, the outcome is not known.
STATE = "CASE WHEN state = 'sending' AND lease_until <= clock_timestamp() THEN 'unknown' ELSE state END"
TIMES = ("taken_at", "changed_at")
COLUMNS = ", ".join(
    STATE if name == "state" else f"""to_char({name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')""" if name in TIMES else name
    for name in Step._fields
)

# One connection at a time. PostgreSQL keeps the comment.
TABLE = f"""
SELECT pg_advisory_xact_lock(hashtext('agentjob_steps'));
CREATE TABLE IF NOT EXISTS agentjob_steps (
    key text COLLATE "C" PRIMARY KEY,
    job_id text NOT NULL,
    message text NOT NULL,
    state text NOT NULL CHECK (state IN ('sending', 'accepted', 'rejected', 'not_sent', 'unknown')),
    sends integer NOT NULL DEFAULT 0,
    may_have_arrived boolean NOT NULL DEFAULT false,
    owner text,
    failure text,
    record text,
    poller text,
    result text,
    decision text,
    taken_at timestamptz,
    changed_at timestamptz,
    lease_until timestamptz
);
COMMENT ON TABLE agentjob_steps IS 'Steps of agentjob.once, version {VERSION}'"""
TABLE_IS = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass('agentjob_steps')"

#: For the statement's transaction only: what it changes survives a crash of the server, whatever that is set to, and a lock of another
#: transaction is not waited for longer than this.
DURABLY = """(SELECT
    set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
    set_config('lock_timeout', '200ms', true)) AS durably"""

TAKE = f"""
INSERT INTO agentjob_steps AS step (key, job_id, message, owner, state, sends, taken_at, lease_until)
SELECT $1::text, $2::text, $3::text, $4::text, 'sending', 1, clock_timestamp(), clock_timestamp() + $5::float8 * interval '1 second' FROM {DURABLY}
ON CONFLICT (key) DO UPDATE SET
    state = 'sending', sends = step.sends + 1, owner = excluded.owner, failure = NULL, record = NULL, poller = NULL, result = NULL,
    lease_until = excluded.lease_until, taken_at = excluded.taken_at, changed_at = NULL
WHERE step.message = excluded.message
    AND (step.state IN ('not_sent', 'rejected') OR (step.state = 'unknown' AND step.decision = 'resend' AND step.owner IS NULL))
RETURNING {COLUMNS}"""

SETTLE = f"""
UPDATE agentjob_steps SET
    state = CASE WHEN may_have_arrived AND $3 IN ('not_sent', 'rejected') THEN 'unknown' ELSE $3 END,
    may_have_arrived = may_have_arrived AND $3 <> 'accepted',
    failure = $4, record = $5, poller = $6, changed_at = clock_timestamp()
FROM {DURABLY}
WHERE key = $1 AND owner = $2 AND state IN ('sending', 'unknown')
RETURNING {COLUMNS}"""

RESOLVE = f"""
UPDATE agentjob_steps SET
    state = $2, may_have_arrived = $3 = 'resend', decision = $3, owner = NULL, failure = NULL, changed_at = clock_timestamp()
FROM {DURABLY}
WHERE key = $1 AND ({STATE} = 'unknown' OR (state = 'not_sent' AND owner IS NULL))
RETURNING {COLUMNS}"""

FINISH = f"UPDATE agentjob_steps SET result = $3 FROM {DURABLY} WHERE key = $1 AND sends = $2::integer AND state = 'accepted'"

GET = f"""
SELECT {COLUMNS} FROM agentjob_steps
WHERE ($1::text IS NULL OR {STATE} = $1)
    AND ($2::json IS NULL OR key IN (SELECT json_array_elements_text($2::json)))
ORDER BY key"""


class PostgreSQLStore:
    """Steps in a PostgreSQL database, for the workers of any number of machines.

    url: `postgresql://USER@HOST/DATABASE`, or another connection string of libpq; what it leaves out, libpq's variables say, such as
        PGPASSWORD. The steps are in one table, `agentjob_steps`, in the first schema of the search path; it is made if it isn't there. All
        workers must see the same table.

    Raises StoreError: psycopg 3 is not installed, or the URL is not valid. The first use of the store connects.
    """

    def __init__(self, url: str) -> None:
        self._locator = Locator.of(url)
        self._url = url
        #: Connections that no thread uses now.
        self._kept: List[Connection] = []
        #: The database was there before: it can be waited for.
        self._was_reached = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._locator.name!r})"

    def __reduce__(self) -> Tuple[object, ...]:
        if {"password", "sslpassword"} & set(self._locator.settings):
            raise TypeError(
                "an agentjob.once.PostgreSQLStore whose URL has a password cannot be pickled, because the pickle would contain the password; "
                "set PGPASSWORD, or a password file, where it is used"
            )
        return (type(self), (self._url,))

    def take(self, key: str, job_id: str, message: str, owner: str, lease: float, patience: float, /) -> Optional[Step]:
        """Takes a step to send it; see Store."""
        return self._changed(TAKE, (key, job_id, message, owner, repr(lease)), patience)

    def settle(
        self,
        key: str,
        owner: str,
        state: str,
        failure: Optional[str],
        record: Optional[str],
        poller: Optional[str],
        patience: float,
        /,
    ) -> Optional[Step]:
        """Records an outcome; see Store. Also if the server is restarted meanwhile, or another one takes its place."""
        return self._changed(SETTLE, (key, owner, state, failure, record, poller), patience, lasting=True)

    def resolve(self, key: str, state: str, resolution: Resolution, /) -> Optional[Step]:
        """Records a decision; see Store."""
        return self._changed(RESOLVE, (key, state, resolution), PATIENCE)

    def finish(self, step: Step, result: str, /) -> None:
        """Records the last record of a job; see Store."""
        self._run(FINISH, (step.key, str(step.sends), result), PATIENCE)

    def get(self, keys: Optional[Sequence[str]], state: Optional[StepState], patience: float, /) -> List[Step]:
        """These steps, or all; see Store."""
        return _steps(self._run(GET, (state, None if keys is None else json.dumps(keys)), patience))

    def _changed(
        self, statement: str, arguments: Tuple[Optional[str], ...], patience: float, lasting: bool = False
    ) -> Optional[Step]:
        """Executes a statement about a step. If that changes nothing, the step is read as it is."""
        found = _steps(self._run(statement, arguments, patience, lasting)) or self.get([str(arguments[0])], None, patience)
        return found[0] if found else None

    def _run(self, statement: str, arguments: Tuple[Optional[str], ...], patience: float, lasting: bool = False) -> Rows:
        """Executes a statement. Over another connection, if it is lost on one that was kept; and if it is `lasting`, until the patience
        ends: every statement is one that may be executed twice."""
        deadline = time.monotonic() + patience
        while True:
            connection = self._kept_connection()
            was_kept = connection is not None
            try:
                connection = connection or _opened(self._locator, deadline)
                rows = connection.execute(statement, arguments, deadline)
            except StoreBusyError as error:
                if connection is not None:
                    self._keep(connection)
                if time.monotonic() >= deadline:
                    raise StoreBusyError(f"the store {self._locator.name!r} is locked by another transaction: {error}") from error
            except Lost as error:
                if not was_kept:
                    if not (lasting and self._was_reached) or time.monotonic() >= deadline:
                        raise self._failed(error) from error.__cause__
                    time.sleep(PAUSE)
            except Failed as error:
                raise self._failed(error) from error.__cause__
            else:
                self._was_reached = True
                self._keep(connection)
                return rows

    def _kept_connection(self) -> Optional[Connection]:
        while self._kept:
            try:
                connection = self._kept.pop()
            except IndexError:  # another thread was faster
                return None
            if connection.is_fresh():
                return connection
            connection.close()
        return None

    def _keep(self, connection: Connection) -> None:
        if len(self._kept) < KEPT:
            self._kept.append(connection)
        else:
            connection.close()

    def _failed(self, error: StoreError) -> StoreError:
        return StoreError(f"the store {self._locator.name!r} cannot be used: {_native.escape(str(error))}")


def _opened(locator: Locator, deadline: float) -> Connection:
    connection = Connection(locator)
    encoding = connection.server_encoding()
    if encoding not in ("UTF8", "SQL_ASCII"):
        raise Failed(f"its database has the encoding {encoding}, and steps need UTF8")
    version = connection.execute(TABLE_IS, (), deadline)
    if not version:
        connection.execute(TABLE, None, deadline)
        version = connection.execute(TABLE_IS, (), deadline)
    found = re.search(r"version (\d+)$", version[0][0] or "")
    if found is None or int(found[1]) != VERSION:
        has = f"has version {found[1]}" if found else "was not made by agentjob"
        raise Failed(f"its table agentjob_steps {has}, and this agentjob needs version {VERSION}. Use the agentjob that wrote it")
    return connection


def _steps(rows: Rows) -> List[Step]:
    return [Step(*row)._replace(sends=int(row[4] or 0), may_have_arrived=row[5] == "t") for row in rows]  # type: ignore[arg-type]
