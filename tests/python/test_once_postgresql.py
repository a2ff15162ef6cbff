"""The store of steps in PostgreSQL: what it costs, and what is in the table, and what happens if it can't be used. The protocol is in
test_once_stores.py, what the network may do in test_once_postgresql_network.py."""

import collections
import contextlib
import multiprocessing
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import PATIENCE, QUICK, wait_for
from steps import POST, prompts, raised, state, taken

import agentjob
from agentjob._once import postgresql as stores
from agentjob.once import AsyncOnce, Once, PostgreSQLStore, StepOutcome, StoreBusyError

FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12's, about threads


@pytest.fixture
def once(client, postgresql_url):
    return Once(client, postgresql_url)


def test_a_step_is_sent_once_waited_for_and_readable_with_psql(emulator, once, server, postgresql_url):
    assert once.send_message("k", "job_demo", "p")["id"] == once.send_message("k", "job_demo", "p")["id"] == "job_demo"
    assert once.wait("k", **QUICK)["status"] == "completed" and prompts(emulator) == ["p"]
    columns = "key, job_id, state, sends, may_have_arrived, failure, record::json->>'id', result::json->>'status', decision"
    assert server.sql(f"SELECT {columns} FROM agentjob_steps", postgresql_url) == "k|job_demo|accepted|1|f||job_demo|completed|"
    assert server.sql("SELECT now() - taken_at < interval '1 hour', changed_at >= taken_at FROM agentjob_steps", postgresql_url) == "t|t"
    row = server.sql("SELECT agentjob_steps FROM agentjob_steps", postgresql_url)
    assert "p" not in row.replace("job_demo", "").split(",") and emulator.environment()["AGENTJOB_API_KEY"] not in row


@FORKS
def test_workers_with_threads_and_forked_children_send_each_message_once(emulator, once):
    emulator.reset(hourly_limit=100_000)
    once.steps()  # The connection of this process is inherited.

    def work():
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda n: once.send_message(f"k{n % 20}", "job_demo", f"p{n % 20}"), range(60)))

    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    work()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert collections.Counter(prompts(emulator)) == {f"p{i}": 1 for i in range(20)}
    assert {step["state"] for step in once.steps()} == {"accepted"}


def test_asyncio_sends_each_message_once_too(emulator, client, postgresql_url):
    import asyncio

    async def main():
        async with agentjob.aio.AsyncClient.of(client) as service:
            once = AsyncOnce(service, postgresql_url)
            await asyncio.gather(*(once.send_message(f"k{n % 5}", "job_demo", f"p{n % 5}") for n in range(20)))
            return (await once.wait("k1", **QUICK))["status"]

    assert asyncio.run(main()) == "completed" and prompts(emulator) == [f"p{n}" for n in range(5)]


@pytest.mark.parametrize("rate", [None, "100000/h"])
def test_a_message_costs_two_statements_a_known_one_two_and_100_000_keys_one(client, far, network, server, postgresql_url, rate):
    far = Once(client, far.store, rate=rate)
    far.send_message("first", "job_demo", "p")
    before = network.responses
    far.send_message("k", "job_demo", "p")
    assert network.responses - before == 2
    far.send_message("k", "job_demo", "p")
    assert network.responses - before == 4
    rows = "SELECT 'known ' || lpad(n::text, 6, '0'), 'job_demo', 'm', 'accepted' FROM generate_series(0, 99999) AS n"
    server.sql(f"INSERT INTO agentjob_steps (key, job_id, message, state) {rows}", postgresql_url)
    before = network.responses
    assert len(far.steps(f"known {n:06}" for n in range(100_000))) == 100_000
    assert network.responses - before == 1
    assert network.connections == 1


def test_a_transaction_that_locks_the_step_does_not_hold_a_call_beyond_its_time(emulator, client, once, server, postgresql_url):
    emulator.reset(rules=[{**POST, "status": 400}])
    raised(once.send_message, "k", "job_demo", "p")
    command = [f"{server.programs}/psql", "-Xqt", postgresql_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        other.stdin.write("BEGIN; UPDATE agentjob_steps SET key = key; SELECT 'locked';\n")
        other.stdin.flush()
        assert other.stdout.readline() == " locked\n"
        impatient = Once(client.with_options(timeout=2), once.store)
        began = time.monotonic()
        error = raised(impatient.send_message, "k", "job_demo", "p")
        assert time.monotonic() - began < 20 and (error.kind, error.delivery) == ("store", "not_sent")
        assert isinstance(error, StoreBusyError) and "is busy: canceling statement due to lock timeout" in str(error)
        token = agentjob.CancelToken()
        threading.Timer(0.3, token.cancel).start()
        error = raised(once.send_message, "k", "job_demo", "p", cancel=token)
        assert (error.kind, error.delivery) == ("cancelled", "not_sent")
        assert state(once) == "rejected", "a reader does not wait"
        once.send_message("k2", "job_demo", "p")
        other.communicate("ROLLBACK;\n", timeout=60)
    once.send_message("k", "job_demo", "p")
    assert prompts(emulator) == ["p", "p"]


def test_a_pause_that_another_transaction_is_recording_counts_for_the_step_itself(client, server, postgresql_url):
    """Its statement waits for that of the other, whose pause is not in its snapshot."""
    store = PostgreSQLStore(postgresql_url)
    taken(store, client)
    command = [f"{server.programs}/psql", "-Xqt", postgresql_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        other.stdin.write("BEGIN; UPDATE agentjob_steps SET state = 'rejected', pause_until = now() + interval '1 hour'; SELECT 'locked';\n")
        other.stdin.flush()
        assert other.stdout.readline() == " locked\n"
        found = []
        taker = threading.Thread(target=lambda: found.append(taken(store, client, "second")))
        taker.start()
        wait_for(lambda: server.sql("SELECT count(*) FROM pg_locks WHERE NOT granted", postgresql_url) != "0", "it waits")
        other.communicate("COMMIT;\n", timeout=60)
    taker.join(60)
    ((step, throttled),) = found
    assert (step.state, step.owner, throttled.reason) == ("rejected", "another", "pause")


@pytest.mark.parametrize("version", [0, 1])
def test_many_workers_make_the_table_at_once_or_bring_it_up_to_date(client, server, version):
    for _ in range(5):
        url, begin, failed = server.schema(), threading.Barrier(8), []
        for statement in stores.TABLE[1 : version + 1]:
            server.sql(statement, url)
        if version:
            server.sql("INSERT INTO agentjob_steps (key, job_id, message, state) VALUES ('earlier', 'j', 'm', 'unknown')", url)

        def make():
            store = PostgreSQLStore(url)
            begin.wait(60)
            try:
                store.get(None, None, 10.0)
            except agentjob.Error as error:
                failed.append(error)

        workers = [threading.Thread(target=make) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert failed == [] and [step["key"] for step in Once(client, url).steps(state="unknown")] == ["earlier"] * version
        assert server.sql("SELECT obj_description('agentjob_steps'::regclass)", url) == "Steps of agentjob.once, version 2"


#: What is wrong, what is done to the schema, what the URL becomes, the words of the error, and whether an engine tries again.
DAMAGES = [
    ("a later version", "COMMENT ON TABLE agentjob_steps IS 'Steps of agentjob.once, version 99'", "", "has version 99, and this agentjob needs 2.", False),
    ("another table", "COMMENT ON TABLE agentjob_steps IS NULL", "", "was not made by agentjob", False),
    ("a missing column", "ALTER TABLE agentjob_steps DROP COLUMN sends", "", 'column "sends"', True),
    ("only to read", "SELECT 1", "&options=-cdefault_transaction_read_only%3Don", "read-only transaction", True),
    ("snapshots that are too old", "SELECT 1", "&options=-cdefault_transaction_isolation%3Dserializable", "default_transaction_isolation", False),
    ("no such database", "SELECT 1", "&dbname=nowhere", 'database "nowhere" does not exist', True),
    ("no server", "SELECT 1", "&port=1", "refused", True),
    ("no port", "SELECT 1", "&port=port", "port", True),
    ("a proxy's port", "SELECT 1", "&sslmode=require", "SSL", True),
]


@pytest.mark.parametrize(("damage", "words", "passes"), [(damage[1:3], *damage[3:]) for damage in DAMAGES], ids=[damage[0] for damage in DAMAGES])
def test_a_store_that_cannot_be_used_sends_nothing(emulator, client, server, postgresql_url, damage, words, passes):
    Once(client, postgresql_url).steps()
    server.sql(damage[0], postgresql_url)
    once = Once(client, postgresql_url.replace("@", ":swordfish@") + damage[1])
    for call in (lambda: once.send_message("k", "job_demo", "p"), lambda: once.resolve("k", "arrived")):
        began = time.monotonic()
        error = raised(call)
        assert isinstance(error, agentjob.StoreError) and words in str(error), error
        assert "swordfish" not in repr(error) + repr(error.__cause__) + repr(error.__context__) + repr(once)
        assert "\n" not in str(error) and time.monotonic() - began < PATIENCE
    error = raised(once.send_message, "k", "job_demo", "p")
    assert error.delivery == "not_sent" and (agentjob._native.step_retry(error, 0, 20) is not None) == passes
    assert prompts(emulator) == []


def test_a_role_that_may_not_make_or_change_the_table_gets_an_error_and_uses_one_that_is_there(emulator, client, server):
    url = server.schema()
    schema = url.rsplit("%3D", 1)[1]
    with contextlib.suppress(RuntimeError):
        server.sql("CREATE ROLE worker LOGIN")
    server.sql(f"GRANT USAGE ON SCHEMA {schema} TO worker")
    once = Once(client, url.replace("agentjob@", "worker@"))
    assert f"permission denied for schema {schema}" in str(raised(once.send_message, "k", "job_demo", "p"))
    server.sql(stores.TABLE[1], url)
    server.sql(f"GRANT SELECT, INSERT, UPDATE ON {schema}.agentjob_steps TO worker")
    assert "must be owner of table agentjob_steps" in str(raised(once.send_message, "k", "job_demo", "p"))
    Once(client, url).steps()
    once.send_message("k", "job_demo", "p")
    assert once.wait("k", **QUICK)["status"] == "completed" and prompts(emulator) == ["p"]


def test_a_database_in_another_encoding_is_refused(client, server):
    with contextlib.suppress(RuntimeError):
        server.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    error = raised(Once(client, server.url("latin")).steps)
    assert "has the encoding LATIN1, and steps need UTF8" in str(error) and agentjob._native.step_retry(error, 0, 20) is None


WRONG_URLS = [
    "postgresql://u:sword fish@h/d",
    "postgresql://u:sword%zzfish@h/d",
    "postgresql://u:sword%00fish@h/d",
    "postgresql://u:swordfish@h/d?a=b",
    "postgresql://u:sword@fish@h/d",
    "postgresql://u:sword/fish@h/d",
    "postgres://u:swordfish@[::1/d",
    "postgresql://u:swordfish\udcff@h/d",
]


@pytest.mark.parametrize("url", WRONG_URLS, ids=ascii)
def test_a_wrong_url_is_refused_without_saying_its_password(client, url):
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg, which has no wheel for this Python")
    if " " in url and psycopg.pq.version() < 180000:
        # It takes the space for a part of the password, and the store keeps that to itself.
        assert "sword" not in repr(Once(client, url).store)
        return
    error = raised(Once, client, url)
    assert isinstance(error, agentjob.StoreError) and "the store's URL is not one that PostgreSQL understands" in str(error)
    seen = f"{error!r} {error.__cause__!r} {error.__context__ if not error.__suppress_context__ else None!r}"
    assert "sword" not in seen and "fish" not in seen


def test_a_store_pickles_unless_its_url_has_a_password(server):
    store = PostgreSQLStore("postgresql://agentjob@127.0.0.1/steps")
    assert repr(pickle.loads(pickle.dumps(store))) == repr(store) == "PostgreSQLStore('postgresql://agentjob@127.0.0.1/steps')"
    for url in ("postgresql://agentjob:swordfish@127.0.0.1/steps", "postgresql:///steps?sslpassword=swordfish", "postgres://u:p%40@h/my%40db"):
        with pytest.raises(TypeError, match="the pickle would contain the password"):
            pickle.dumps(PostgreSQLStore(url))


def test_what_the_url_leaves_out_is_in_the_environment(client, server, monkeypatch):
    for name, value in {"PGHOST": "127.0.0.1", "PGPORT": server.port, "PGUSER": "agentjob", "PGDATABASE": "postgres"}.items():
        monkeypatch.setenv(name, str(value))
    assert Once(client, "postgresql://").steps(["none"]) == []
    monkeypatch.delenv("PGUSER")
    assert Once(client, PostgreSQLStore("user=agentjob connect_timeout=30")).steps(["none"]) == []


COMMITS = [("off", "on"), ("local", "on"), ("remote_write", "on"), ("on", "on"), ("remote_apply", "remote_apply")]


@pytest.mark.parametrize(("setting", "used"), COMMITS)
def test_each_statement_that_changes_a_step_asks_for_a_durable_commit(client, server, postgresql_url, setting, used):
    store = PostgreSQLStore(postgresql_url + f"%20-csynchronous_commit%3D{setting}")
    assert store.get(None, None, 5.0) == []
    server.sql(
        """
        CREATE TABLE seen (change text, setting text);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO seen VALUES (TG_OP, current_setting('synchronous_commit')); RETURN NULL; END $$;
        CREATE TRIGGER note AFTER INSERT OR UPDATE ON agentjob_steps EXECUTE FUNCTION note();
        """,
        postgresql_url,
    )
    taken(store, client, "owner")
    step = store.settle("k", "owner", StepOutcome("unknown", "why"), 5.0)
    store.resolve(step, "accepted", "arrived")
    # Taking it counts as both.
    seen = server.sql("SELECT change, setting FROM seen", postgresql_url)
    assert sorted(seen.split("\n")) == [f"INSERT|{used}", *[f"UPDATE|{used}"] * 3]


def test_a_lock_of_the_whole_table_does_not_hold_a_call_and_leaves_no_statement_behind(emulator, client, once, server, postgresql_url):
    once.steps()
    command = [f"{server.programs}/psql", "-Xqt", postgresql_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        other.stdin.write("BEGIN; LOCK TABLE agentjob_steps; SELECT 'locked';\n")
        other.stdin.flush()
        assert other.stdout.readline() == " locked\n"
        error = raised(Once(client.with_options(timeout=1), once.store).send_message, "k", "job_demo", "p")
        assert isinstance(error, StoreBusyError) and error.delivery == "not_sent"
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%agentjob_steps%'"
        wait_for(lambda: server.sql(waiting) == "0", "nothing waits for the lock any more")
        other.communicate("ROLLBACK;\n", timeout=60)
    assert once.steps() == [] and prompts(emulator) == []


STRANGE = {
    "a state that psycopg does not know": ("RAISE EXCEPTION 'no steps today' USING ERRCODE = 'AJ001'", "no steps today"),
    "a conflict every time": ("RAISE EXCEPTION 'not now' USING ERRCODE = '40001'", "is busy: not now"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_a_trigger_raises_is_a_store_error(emulator, client, once, server, postgresql_url, name):
    once.steps()
    body, words = STRANGE[name]
    server.sql(
        f"""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON agentjob_steps EXECUTE FUNCTION refuse();
        """,
        postgresql_url,
    )
    error = raised(Once(client.with_options(timeout=1), once.store).send_message, "k", "job_demo", "p")
    assert isinstance(error, agentjob.StoreError) and words in str(error) and error.delivery == "not_sent"
    assert prompts(emulator) == []


@pytest.fixture
def taker(once, server, postgresql_url, script):
    """Begins a program that sends a step's message, while the server takes the step until this is opened."""
    once.steps()
    server.sql(
        """
        CREATE TABLE opened (at int);
        CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN WHILE NOT EXISTS (SELECT 1 FROM opened) LOOP PERFORM pg_sleep(0.01); END LOOP; RETURN NEW; END $$;
        CREATE TRIGGER wait BEFORE INSERT ON agentjob_steps FOR EACH ROW EXECUTE FUNCTION wait();
        """,
        postgresql_url,
    )
    takes = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%INSERT INTO agentjob_steps%' AND pid <> pg_backend_pid()"

    def begun(ends):
        program = script(
            f"""
            import os, signal
            from agentjob._once import libpq, postgresql
            from agentjob.once import Once

            def fork(*_):
                child = os.fork() or sys.exit()
                print(os.waitpid(child, 0)[0] == child, flush=True)

            signal.signal(signal.SIGUSR1, fork)
            libpq.FORKS = postgresql.RESPONDS = 1000.0
            libpq.ENDS = {ends}
            try:
                Once(client.with_options(timeout=1000), {postgresql_url!r}).send_message("k", "job_demo", "p")
                print("accepted")
            except KeyboardInterrupt as interrupt:
                print(interrupt.delivery)
            """
        )
        wait_for(lambda: server.sql(takes) == "1", "the server takes the step")
        return program

    yield begun
    server.sql(OPEN, postgresql_url)
    wait_for(lambda: server.sql(takes) == "0", "the server has taken the step")


OPEN = "INSERT INTO opened VALUES (1)"


def test_ctrl_c_while_the_server_takes_a_step_leaves_it_not_sent(emulator, once, server, postgresql_url, taker):
    program = taker(ends=1000)
    program.interrupt()
    time.sleep(0.5)  # in which a call that doesn't wait records its outcome
    server.sql(OPEN, postgresql_url)
    assert program.end() == ("not_sent\n", "", 0)
    assert state(once) == "not_sent" and prompts(emulator) == []


def test_ctrl_c_while_the_server_takes_a_step_for_too_long_ends_the_call(emulator, taker):
    program = taker(ends=0.5)
    program.interrupt()
    assert program.end() == ("not_sent\n", "", 0)
    assert prompts(emulator) == []


def test_a_child_that_a_signal_handler_forks_meanwhile_and_that_exits_leaves_the_statement_to_its_parent(emulator, once, server, postgresql_url, taker):
    program = taker(ends=1000)
    program.process.send_signal(signal.SIGUSR1)
    assert select.select([program.process.stdout], [], [], PATIENCE)[0], "the child has not exited"
    server.sql(OPEN, postgresql_url)
    assert program.end() == ("True\naccepted\n", "", 0)
    assert state(once) == "accepted" and prompts(emulator) == ["p"]


@pytest.mark.parametrize("host", ["a..b", "a" * 64 + ".example", "127.0.0.1,a..b"])
def test_a_host_that_cannot_be_one_is_a_store_error(client, host):
    assert isinstance(raised(Once(client, f"postgresql://{host}:1/steps").steps), agentjob.StoreError)


NOT_URLS = ["postgresql+psycopg://u:swordfish@h/d", " postgresql://u:swordfish@h/d", "Postgresql://u:swordfish@h/d", "host=h password=swordfish"]


@pytest.mark.parametrize("store", NOT_URLS)
def test_what_is_nearly_a_url_is_not_taken_for_a_path(client, tmp_path, monkeypatch, store):
    monkeypatch.chdir(tmp_path)
    error = raised(Once, client, store)
    assert "neither a path nor the URL" in str(error) and "swordfish" not in repr(error)


def test_importing_the_stores_loads_no_database():
    code = "import agentjob.once, sys; print('psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_without_psycopg_it_says_what_to_install(client, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = raised(Once, client, "postgresql://host/steps")
    assert isinstance(error, agentjob.StoreError) and "pip install 'agentjob[postgresql]'" in str(error)
