"""Steps in a PostgreSQL database: for the workers of any number of machines."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from typing import List, Optional, Sequence, Tuple

from .. import _native
from ..errors import StoreError, wrong_store
from ..types import Resolution, StepState
from .libpq import Arguments, Connection, Failed, Locator, Lost, Rows, Statements
from .store import LATEST_LEASE, LATEST_PAUSE, LONGEST_SPAN, PATIENCE, VERSION, Step, StepOutcome, StoreBusyError, Taker, Throttled, may_be_taken

#: How many connections that are not used now a process keeps, and for how many seconds: firewalls forget them later.
KEPT, IDLE = 4, 60.0
#: How long a server may take to connect and to respond, in seconds, if there is no more patience: then it hangs, or the network does.
RESPONDS = 5.0
#: The pauses between two attempts, in seconds: after other workers' statements, and after a connection was lost.
BUSY_PAUSE, LOST_PAUSE = 0.01, 0.2

#: Until when a call of a store waits for other workers' statements, and until when at the latest for the server.
Times = Tuple[float, float]

#: By the server's clock: of a step that a worker took and whose lease is over, the outcome is not known.
STATE = "CASE WHEN state = 'sending' AND lease_until <= statement_timestamp() THEN 'unknown' ELSE state END"
TIMES = ("taken_at", "changed_at")
COLUMNS = ", ".join(
    STATE if name == "state" else f"""to_char({name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')""" if name in TIMES else name
    for name in Step._fields
)

# What makes each version of the table of the one before.
VERSIONS = ["""
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
)""", """
ALTER TABLE agentjob_steps ADD scope text, ADD counts_from timestamptz, ADD earlier_counts_from timestamptz[], ADD pause_until timestamptz;
CREATE INDEX agentjob_steps_job ON agentjob_steps (job_id, taken_at);
CREATE INDEX agentjob_steps_counts ON agentjob_steps (scope, counts_from) WHERE counts_from IS NOT NULL;
CREATE INDEX agentjob_steps_paused ON agentjob_steps (scope, pause_until) WHERE pause_until IS NOT NULL"""]
#: The table's comment is its version; none: there is no table.
COMMENT = "Steps of agentjob.once, version "
COMMENT_IS = f"""coalesce(
    (SELECT coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class WHERE oid = to_regclass('agentjob_steps')), '{COMMENT}0')"""
TABLE_IS = f"SELECT {COMMENT_IS}, current_setting('transaction_isolation')"
# One connection at a time.
TABLE = ["SELECT pg_advisory_xact_lock(hashtext('agentjob_steps'))"] + [
    f"""
DO $$ BEGIN IF {COMMENT_IS} = '{COMMENT}{n}' THEN
{statements};
COMMENT ON TABLE agentjob_steps IS '{COMMENT}{n + 1}';
END IF; END $$"""
    for n, statements in enumerate(VERSIONS)
]

#: For the transaction only: what it changes survives a crash of the server, whatever that is set to, and no lock is waited for longer.
DURABLY = """SELECT set_config('lock_timeout', '200ms', true), set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"""

#: Those who have a rate take one after the other, so that each sees what those before it took.
IN_ORDER = "SELECT pg_advisory_xact_lock(hashtext('agentjob_steps'), hashtext($1))"
NOW, SCOPE, MESSAGES, SPAN = "statement_timestamp()", "$1::text", "$2::bigint", "$3::float8 * interval '1 second'"
COUNTS = f"BETWEEN {NOW} - {SPAN} AND {NOW} + interval '{LATEST_LEASE}'"
PAUSES = f"pause_until BETWEEN {NOW} AND {NOW} + interval '{LATEST_PAUSE}'"
# Until when no message may be sent: the pauses, and the time at which the first of the last `messages` ones counts no more. One that is
# being sent may still end now.
LIMITS = f"""(
    SELECT 'pause' AS reason, max(pause_until) AS until FROM agentjob_steps
    WHERE scope = {SCOPE} AND {PAUSES}
    UNION ALL SELECT 'rate', least(sent, {NOW}) + {SPAN} + interval '1 microsecond' FROM (
        SELECT counts_from AS sent FROM agentjob_steps WHERE scope = {SCOPE} AND counts_from {COUNTS}
        UNION ALL SELECT sent FROM agentjob_steps, unnest(earlier_counts_from) AS sent
        WHERE scope = {SCOPE} AND counts_from {COUNTS} AND sent {COUNTS}
        ORDER BY sent DESC LIMIT 1 OFFSET {MESSAGES} - 1
    ) AS sends
) AS limits"""
THROTTLED = f"SELECT reason, extract(epoch FROM until - {NOW}) FROM {LIMITS} WHERE until > {NOW} ORDER BY until DESC"

TAKE = f"""
INSERT INTO agentjob_steps AS step (scope, key, job_id, message, owner, state, sends, taken_at, counts_from, lease_until)
SELECT {SCOPE}, $4::text, $5::text, $6::text, $7::text, 'sending', 1, {NOW}, {NOW} + lease, {NOW} + lease
FROM (SELECT $8::float8 * interval '1 second' AS lease) AS taker
WHERE NOT EXISTS (SELECT 1 FROM {LIMITS} WHERE until > {NOW})
ON CONFLICT (key) DO UPDATE SET
    state = 'sending', sends = step.sends + 1, owner = excluded.owner, failure = NULL, record = NULL, poller = NULL, result = NULL,
    lease_until = excluded.lease_until, taken_at = excluded.taken_at, changed_at = NULL, pause_until = NULL,
    scope = excluded.scope, counts_from = excluded.counts_from,
    earlier_counts_from = (SELECT array_agg(sent) FROM unnest(step.earlier_counts_from || step.counts_from) AS sent WHERE sent >= {NOW} - interval '{LONGEST_SPAN}')
WHERE step.message = excluded.message
    AND (step.state = 'not_sent' OR (step.state = 'rejected' AND $9::boolean) OR (step.state = 'unknown' AND step.decision = 'resend' AND step.owner IS NULL))
    -- Once more, of the row as it is after the statements that this one waited for.
    AND coalesce(step.{PAUSES}, false) IS FALSE
RETURNING {COLUMNS}"""

SETTLE = f"""
UPDATE agentjob_steps SET
    state = CASE WHEN may_have_arrived AND $3 IN ('not_sent', 'rejected') THEN 'unknown' WHEN $8::boolean THEN 'not_sent' ELSE $3 END,
    may_have_arrived = may_have_arrived AND $3 <> 'accepted',
    failure = $4, record = $5, poller = $6, changed_at = {NOW}, pause_until = {NOW} + $7::float8 * interval '1 second',
    counts_from = CASE WHEN state <> 'sending' THEN counts_from WHEN $3 = 'not_sent' THEN earlier_counts_from[cardinality(earlier_counts_from)] ELSE {NOW} END,
    earlier_counts_from = CASE WHEN state = 'sending' AND $3 = 'not_sent' THEN earlier_counts_from[:cardinality(earlier_counts_from) - 1] ELSE earlier_counts_from END
WHERE key = $1 AND owner = $2 AND state IN ('sending', 'unknown')
RETURNING {COLUMNS}"""

RESOLVE = f"""
UPDATE agentjob_steps SET
    state = $3, may_have_arrived = $4 = 'resend', decision = $4, owner = NULL, failure = NULL, changed_at = statement_timestamp()
WHERE key = $1 AND sends = $2::integer AND owner IS NOT DISTINCT FROM $5 AND decision IS NOT DISTINCT FROM $6
    AND ({STATE} = 'unknown' OR (state = 'not_sent' AND owner IS NULL))
RETURNING {COLUMNS}"""

FINISH = """
UPDATE agentjob_steps AS step SET result = coalesce(step.result, $3)
WHERE key = $1 AND sends = $2::integer AND state = 'accepted' AND (result IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM agentjob_steps AS later
    WHERE later.job_id = step.job_id AND later.scope IS NOT DISTINCT FROM step.scope AND later.key <> step.key
        AND later.taken_at >= step.taken_at AND later.state IN ('sending', 'accepted', 'unknown')))
RETURNING result"""

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

    def take(self, key: str, job_id: str, message: str, taker: Taker, patience: float, /) -> Tuple[Optional[Step], Optional[Throttled]]:
        """Takes a step to send it; see Store."""
        pace = (taker.scope, _number(taker.messages), _number(taker.span))
        statements: List[Tuple[str, Arguments]] = [(TAKE, (*pace, key, job_id, message, taker.owner, _number(taker.lease), _boolean(taker.takes_rejected)))]
        if taker.messages is not None:
            statements.insert(0, (IN_ORDER, (taker.scope,)))
        times = _times(patience)
        step = self._changed(key, statements, times, is_ended=True)
        if step is not None and not may_be_taken(step, message, taker.takes_rejected):
            return step, None
        throttled = self._run([(THROTTLED, pace)], times)
        return step, Throttled(str(throttled[0][0]), float(throttled[0][1] or 0)) if throttled else None

    def settle(self, key: str, owner: str, outcome: StepOutcome, patience: float, /) -> Optional[Step]:
        """Records an outcome; see Store. Also if the server is restarted meanwhile, or another one takes its place."""
        made = (outcome.state, outcome.failure, outcome.record, outcome.poller)
        arguments = (key, owner, *made, _number(outcome.pause), _boolean(outcome.again))
        return self._changed(key, [(SETTLE, arguments)], _times(patience), lasting=True)

    def resolve(self, step: Step, state: str, resolution: Resolution, /) -> Optional[Step]:
        """Records a decision; see Store."""
        seen = (step.owner, step.decision)
        return self._changed(step.key, [(RESOLVE, (step.key, str(step.sends), state, resolution, *seen))], _times(PATIENCE))

    def finish(self, step: Step, result: str, /) -> Optional[str]:
        """Records the last record of a job; see Store. Also if the server is restarted meanwhile, or another one takes its place."""
        rows = self._run([(FINISH, (step.key, str(step.sends), result))], _times(PATIENCE), lasting=True)
        return rows[0][0] if rows else None

    def get(self, keys: Optional[Sequence[str]], state: Optional[StepState], patience: float, /) -> List[Step]:
        """These steps, or all; see Store."""
        return self._get(keys, state, _times(patience))

    def _get(self, keys: Optional[Sequence[str]], state: Optional[StepState], times: Times) -> List[Step]:
        return _steps(self._run([(GET, (state, None if keys is None else json.dumps(keys)))], times))

    def _changed(self, key: str, statements: Statements, times: Times, lasting: bool = False, is_ended: bool = False) -> Optional[Step]:
        """Executes statements about a step. If that changes nothing, the step is read as it is."""
        found = _steps(self._run(statements, times, lasting, is_ended)) or self._get([key], None, times)
        return found[0] if found else None

    def _run(self, statements: Statements, times: Times, lasting: bool = False, is_ended: bool = False) -> Rows:
        """Executes statements in one transaction. Over another connection, if it is lost on one that was kept; and if it is `lasting`,
        until the patience ends: all are statements that may be executed twice. is_ended: see Connection.execute."""
        deadline, limit = times
        may_be_executed = False
        while True:
            connection = self._kept_connection()
            was_kept = connection is not None
            # A server that fell silent leaves time for the one that takes its place.
            attempt = min(limit, time.monotonic() + RESPONDS) if lasting else limit
            try:
                connection = connection or _opened(self._locator, attempt)
                rows = connection.execute([(DURABLY, ()), *statements], attempt, is_ended)
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


def _times(patience: float) -> Times:
    now = time.monotonic()
    return now + patience, now + max(patience, RESPONDS)


def _opened(locator: Locator, limit: float) -> Connection:
    connection = Connection(locator, limit)
    try:
        _check(connection, locator.name, limit)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: Connection, name: str, limit: float) -> None:
    """Makes the table, if there is none."""
    encoding = connection.server_encoding()
    if encoding != "UTF8":
        raise wrong_store(f"the store {name!r} has the encoding {encoding}, and steps need UTF8. Use a database with that encoding.")
    ((comment, isolation),) = connection.execute([(TABLE_IS, ())], limit)
    if isolation != "read committed":
        # Others must be seen that were committed while a statement waited for them.
        needs = "steps need default_transaction_isolation = 'read committed'"
        raise wrong_store(f"the store {name!r} has transactions that are {isolation}, and {needs}. Set that for its role or its database.")
    if comment in [f"{COMMENT}{version}" for version in range(VERSION)]:
        connection.execute([(DURABLY, ()), *((statement, ()) for statement in TABLE)], limit)
        ((comment, _),) = connection.execute([(TABLE_IS, ())], limit)
    found = re.search(r"version (\d+)$", comment or "")
    if found is None or int(found[1]) != VERSION:
        if found is None:
            raise wrong_store(f"the table agentjob_steps in {name!r} was not made by agentjob. Give another database or schema.")
        raise wrong_store(f"the store {name!r} has version {found[1]}, and this agentjob needs {VERSION}. Use the agentjob that wrote it.")


def _number(value: Optional[float]) -> Optional[str]:
    return None if value is None else repr(value)


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _is_old(connection: Connection) -> bool:
    return time.monotonic() - connection.used > IDLE


def _steps(rows: Rows) -> List[Step]:
    return [Step(*row)._replace(sends=int(row[4] or 0), may_have_arrived=row[5] == "t") for row in rows]  # type: ignore[arg-type]
