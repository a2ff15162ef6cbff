"""Steps in a PostgreSQL database: for the workers of any number of machines."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from typing import List, Optional, Sequence, Tuple

from .. import _native
from ..errors import StoreError
from ..types import Resolution, StepState
from .libpq import Arguments, Connection, Failed, Locator, Lost, Rows
from .store import PATIENCE, VERSION, Step, StepOutcome, StoreBusyError

#: How many connections that are not used now a process keeps, and for how many seconds: firewalls forget them later.
KEPT, IDLE = 4, 60.0
#: How long a server may take to connect and to respond, in seconds, if there is no more patience: then it hangs, or the network does.
RESPONDS = 5.0
#: The pauses between two attempts, in seconds: after other workers' statements, and after a connection was lost.
BUSY_PAUSE, LOST_PAUSE = 0.01, 0.2

#: By the server's clock: of a step that a worker took and whose lease is over, the outcome is not known.
STATE = "CASE WHEN state = 'sending' AND lease_until <= statement_timestamp() THEN 'unknown' ELSE state END"
TIMES = ("taken_at", "changed_at")
COLUMNS = ", ".join(
    STATE if name == "state" else f"""to_char({name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')""" if name in TIMES else name
    for name in Step._fields
)

# One connection at a time, and not another version's. PostgreSQL keeps the comment.
TABLE = [
    "SELECT pg_advisory_xact_lock(hashtext('agentjob_steps'))",
    f"""
DO $$ BEGIN IF to_regclass('agentjob_steps') IS NULL THEN
CREATE TABLE agentjob_steps (
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
COMMENT ON TABLE agentjob_steps IS 'Steps of agentjob.once, version {VERSION}';
END IF; END $$""",
]
TABLE_IS = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass('agentjob_steps')"

#: For the transaction only: what it changes survives a crash of the server, whatever that is set to, and no lock is waited for longer.
DURABLY = """SELECT set_config('lock_timeout', '200ms', true), set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"""

TAKE = f"""
INSERT INTO agentjob_steps AS step (key, job_id, message, owner, state, sends, taken_at, lease_until)
SELECT $1::text, $2::text, $3::text, $4::text, 'sending', 1, statement_timestamp(), statement_timestamp() + $5::float8 * interval '1 second'
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
    failure = $4, record = $5, poller = $6, changed_at = statement_timestamp()
WHERE key = $1 AND owner = $2 AND state IN ('sending', 'unknown')
RETURNING {COLUMNS}"""

RESOLVE = f"""
UPDATE agentjob_steps SET
    state = $3, may_have_arrived = $4 = 'resend', decision = $4, owner = NULL, failure = NULL, changed_at = statement_timestamp()
WHERE key = $1 AND sends = $2::integer AND owner IS NOT DISTINCT FROM $5 AND decision IS NOT DISTINCT FROM $6
    AND ({STATE} = 'unknown' OR (state = 'not_sent' AND owner IS NULL))
RETURNING {COLUMNS}"""

FINISH = "UPDATE agentjob_steps SET result = $3 WHERE key = $1 AND sends = $2::integer AND state = 'accepted'"

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
        if self._locator.has_secrets():
            raise TypeError(
                "an agentjob.once.PostgreSQLStore whose URL has a password cannot be pickled, because the pickle would contain the password; "
                "set PGPASSWORD, or a password file, where it is used"
            )
        return (type(self), (self._url,))

    def take(self, key: str, job_id: str, message: str, owner: str, lease: float, patience: float, /) -> Optional[Step]:
        """Takes a step to send it; see Store."""
        return self._changed(TAKE, (key, job_id, message, owner, repr(lease)), patience)

    def settle(self, key: str, owner: str, outcome: StepOutcome, patience: float, /) -> Optional[Step]:
        """Records an outcome; see Store. Also if the server is restarted meanwhile, or another one takes its place."""
        return self._changed(SETTLE, (key, owner, *outcome), patience, lasting=True)

    def resolve(self, step: Step, state: str, resolution: Resolution, /) -> Optional[Step]:
        """Records a decision; see Store."""
        seen = (step.owner, step.decision)
        return self._changed(RESOLVE, (step.key, str(step.sends), state, resolution, *seen), PATIENCE)

    def finish(self, step: Step, result: str, /) -> None:
        """Records the last record of a job; see Store."""
        self._run(FINISH, (step.key, str(step.sends), result), PATIENCE)

    def get(self, keys: Optional[Sequence[str]], state: Optional[StepState], patience: float, /) -> List[Step]:
        """These steps, or all; see Store."""
        return _steps(self._run(GET, (state, None if keys is None else json.dumps(keys)), patience))

    def _changed(self, statement: str, arguments: Arguments, patience: float, lasting: bool = False) -> Optional[Step]:
        """Executes a statement about a step. If that changes nothing, the step is read as it is."""
        found = _steps(self._run(statement, arguments, patience, lasting)) or self.get([str(arguments[0])], None, patience)
        return found[0] if found else None

    def _run(self, statement: str, arguments: Arguments, patience: float, lasting: bool = False) -> Rows:
        """Executes a statement. Over another connection, if it is lost on one that was kept; and if it is `lasting`, until the patience
        ends: every statement is one that may be executed twice."""
        deadline = time.monotonic() + patience
        limit = max(deadline, time.monotonic() + RESPONDS)
        may_be_executed = False
        while True:
            connection = self._kept_connection()
            was_kept = connection is not None
            try:
                connection = connection or _opened(self._locator, limit)
                rows = connection.execute([(DURABLY, ()), (statement, arguments)], limit)
            except StoreBusyError as error:
                if connection is not None:
                    self._keep(connection)
                if time.monotonic() >= deadline:
                    busy = f"the store {self._locator.name!r} is busy: {_native.escape(str(error))}"
                    raise (StoreError(busy) if may_be_executed else StoreBusyError(busy)) from error
                time.sleep(BUSY_PAUSE)
            except Lost as error:
                may_be_executed = True
                waits = lasting and self._was_reached and time.monotonic() < deadline
                if not waits and (not was_kept or time.monotonic() >= limit):
                    raise self._failed(error) from error.__cause__
                if not was_kept:
                    time.sleep(LOST_PAUSE)
            except Failed as error:
                raise self._failed(error) from error.__cause__
            else:
                self._was_reached = True
                self._keep(connection)
                return rows

    def _kept_connection(self) -> Optional[Connection]:
        with suppress(IndexError):
            while True:
                connection = self._kept.pop()
                if connection.is_usable() and not _is_old(connection):
                    return connection
                connection.close()
        return None

    def _keep(self, connection: Connection) -> None:
        self._kept.append(connection)
        with suppress(IndexError):  # another thread may take it
            while len(self._kept) > KEPT or _is_old(self._kept[0]):
                self._kept.pop(0).close()

    def _failed(self, error: StoreError) -> StoreError:
        return StoreError(f"the store {self._locator.name!r} cannot be used: {_native.escape(str(error))}")


def _opened(locator: Locator, limit: float) -> Connection:
    connection = Connection(locator, limit)
    try:
        _check(connection, limit)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: Connection, limit: float) -> None:
    """Makes the table, if there is none."""
    encoding = connection.server_encoding()
    if encoding != "UTF8":
        raise Failed(f"its database has the encoding {encoding}, and steps need UTF8")
    comment = connection.execute([(TABLE_IS, ())], limit)
    if not comment:
        connection.execute([(statement, ()) for statement in TABLE], limit)
        comment = connection.execute([(TABLE_IS, ())], limit)
    found = re.search(r"version (\d+)$", comment[0][0] or "") if comment else None
    if found is None or int(found[1]) != VERSION:
        has = f"has version {found[1]}" if found else "was not made by agentjob"
        raise Failed(f"its table agentjob_steps {has}, and this agentjob needs version {VERSION}. Use the agentjob that wrote it")


def _is_old(connection: Connection) -> bool:
    return time.monotonic() - connection.used > IDLE


def _steps(rows: Rows) -> List[Step]:
    return [Step(*row)._replace(sends=int(row[4] or 0), may_have_arrived=row[5] == "t") for row in rows]  # type: ignore[arg-type]
