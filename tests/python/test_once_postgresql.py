"""The store of steps in PostgreSQL: what it costs, and what happens when the server or the network between is gone, hangs, or is set to lose
what it has committed. The protocol is in test_once_stores.py."""

import collections
import contextlib
import multiprocessing
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import postgresql
import pytest
from conftest import QUICK, wait_for
from steps import POST, prompts, raised, state

import agentjob
from agentjob._once import calls, libpq
from agentjob.once import AsyncOnce, Once, PostgreSQLStore, StoreBusyError


@pytest.fixture
def once(client, postgresql_url):
    return Once(client, postgresql_url)


class Network:
    """Passes on what clients and the server say, until a test wants something else. `port` is the server's, as clients see it."""

    def __init__(self, port):
        self.server_port, self.state = port, "passes"
        #: After this many responses to statements, it becomes so: "silent", nothing is passed on; "broken", connections end; "cut", one ends.
        self.then = (None, None)
        self.responses, self.connections, self.over = 0, 0, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over = True
        self.listener.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(60)
        self.listener.close()

    def after(self, responses, becomes):
        """It becomes so instead of passing on this many responses from now."""
        self.then = (self.responses + responses, becomes)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                self.connections += 1
                thread = threading.Thread(target=self._pass, args=(client,))
                self.threads.append(thread)
                thread.start()

    def _pass(self, client):
        with client, socket.create_connection(("127.0.0.1", self.server_port)) as server, contextlib.suppress(OSError):
            while not self.over:
                for ready in select.select([client, server], [], [], 0.05)[0]:
                    data = ready.recv(65536)
                    # A statement with arguments was executed.
                    if ready is server and b"2\0\0\0\4" in data:
                        self.responses += 1
                        if self.responses == self.then[0]:
                            self.state = self.then[1]
                    while self.state == "silent" and not self.over:
                        time.sleep(0.02)
                    if self.state == "broken" or not data:
                        return
                    if self.state == "cut":
                        self.state = "passes"
                        return
                    (server if ready is client else client).sendall(data)


@pytest.fixture
def network(server):
    with Network(server.port) as network:
        yield network


@pytest.fixture
def far(client, network, postgresql_url, server):
    """Steps on a server behind that network."""
    return Once(client, postgresql_url.replace(f":{server.port}/", f":{network.port}/"))


@contextlib.contextmanager
def own_server(**settings):
    """For what disturbs other tests."""
    with postgresql.Server(**settings) as server:
        yield server


def test_a_step_is_sent_once_waited_for_and_readable_with_psql(emulator, once, server, postgresql_url):
    assert once.send_message("k", "job_demo", "p")["id"] == once.send_message("k", "job_demo", "p")["id"] == "job_demo"
    assert once.wait("k", **QUICK)["status"] == "completed" and prompts(emulator) == ["p"]
    columns = "key, job_id, state, sends, may_have_arrived, failure, record::json->>'id', result::json->>'status', decision"
    assert server.sql(f"SELECT {columns} FROM agentjob_steps", postgresql_url) == "k|job_demo|accepted|1|f||job_demo|completed|"
    assert server.sql("SELECT now() - taken_at < interval '1 hour', changed_at >= taken_at FROM agentjob_steps", postgresql_url) == "t|t"
    row = server.sql("SELECT agentjob_steps FROM agentjob_steps", postgresql_url)
    assert "p" not in row.replace("job_demo", "").split(",") and emulator.environment()["AGENTJOB_API_KEY"] not in row


def test_workers_with_threads_and_forked_children_send_each_message_once(emulator, once):
    emulator.reset(hourly_limit=100_000)
    once.steps()  # The connection of this process is inherited.

    def work(n):
        threads = [threading.Thread(target=lambda: [once.send_message(f"k{i}", "job_demo", f"p{i}") for i in range(20)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=work, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    work(0)
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


def test_a_message_costs_two_statements_a_known_one_two_and_100_000_keys_one(client, far, network, server, postgresql_url):
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


@pytest.mark.parametrize("settings", [{"synchronous_commit": "off"}, {"synchronous_commit": "local"}], ids=str)
def test_a_step_that_was_taken_outlives_a_crash_of_a_server_that_may_lose_commits(client, settings):
    """A server that is set so writes a commit to its log some time later: here, not before it crashes."""
    with own_server(wal_writer_delay="10s", wal_writer_flush_after="1GB", bgwriter_delay="10s", autovacuum="off", **settings) as server:
        server.sql("CREATE TABLE lost (n integer)")
        store = PostgreSQLStore(server.url())
        assert store.get(None, None, 5.0) == []
        if settings["synchronous_commit"] == "off":
            time.sleep(0.5)
            server.sql("INSERT INTO lost VALUES (1)")
            server.crash()
            server.start()
            assert server.sql("SELECT count(*) FROM lost") == "0", "this server loses nothing, so the test shows nothing"
        for method in (
            lambda: store.take("k", "job", "m", "owner", 600.0, 5.0),
            lambda: store.settle("k", "owner", "unknown", "why", None, None, 5.0),
            lambda: store.resolve("k", "unknown", "resend"),
        ):
            changed = method()
            server.crash()
            server.start()
            assert store.get(["k"], None, 5.0) == [changed]


@pytest.mark.parametrize("lost", [1, 2])
def test_a_statement_whose_response_is_lost_with_the_connection_is_executed_again(emulator, far, network, lost):
    far.send_message("first", "job_demo", "first")
    before = network.responses
    network.after(lost, "cut")
    far.send_message("k", "job_demo", "p")
    (step,) = far.steps(["k"])
    assert (step["state"], step["sends"]) == ("accepted", 1) and prompts(emulator) == ["first", "p"]
    # Two; the new connection's check of the table, the repeated statement, that which reads the row because that changed nothing; this test's.
    assert (network.responses - before, network.connections) == (2 + 3 + 1, 2)


def test_a_network_that_breaks_for_a_while_loses_no_outcome(emulator, far, network):
    far.send_message("first", "job_demo", "first")
    for broken_after, error, found in [(1, "not_sent", "not_sent"), (2, None, "accepted")]:
        network.after(broken_after, "broken")
        restored = threading.Timer(0.5, setattr, (network, "state", "passes"))
        restored.start()
        if error is None:
            far.send_message("k", "job_demo", "p")
        else:
            # The step was taken. It could not be read again, but later it could be written.
            assert raised(far.send_message, "k", "job_demo", "p").delivery == error
        restored.join()
        assert state(far) == found
    assert prompts(emulator) == ["first", "p"]


def test_a_connection_that_the_server_ended_meanwhile_is_replaced(emulator, once, server, postgresql_url):
    once.send_message("first", "job_demo", "p")
    for n in range(3):
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'agentjob'", postgresql_url)
        once.send_message(f"k{n}", "job_demo", "p")
    assert len(emulator.ledger()) == 4


def test_a_server_that_is_restarted_during_the_request_gets_the_outcome(emulator, client):
    emulator.reset(rules=[{**POST, "delay_ms": 1500}])
    with own_server() as server:
        once = Once(client, server.url())
        sent = []
        worker = threading.Thread(target=lambda: sent.append(once.send_message("k", "job_demo", "p")))
        worker.start()
        wait_for(lambda: emulator.requests()["requests"], "the request is there")
        server.stop()
        time.sleep(2.5)
        server.start()
        worker.join(60)
        assert sent[0]["id"] == "job_demo" and state(once) == "accepted"


def test_a_server_that_is_gone_for_good_leaves_an_error_that_knows_the_delivery(emulator, client, monkeypatch):
    monkeypatch.setattr(calls, "SETTLES", 1.0)
    emulator.reset(rules=[{**POST, "delay_ms": 500}])
    with own_server() as server:
        once = Once(client, server.url())
        once.steps()
        threading.Timer(0.3, server.stop).start()
        error = raised(once.send_message, "k", "job_demo", "p")
        assert (error.kind, error.delivery, error.job["id"]) == ("store", "accepted", "job_demo")
        assert any("could not be recorded" in note for note in error.__notes__)
        error = raised(once.send_message, "k2", "job_demo", "p")
        assert (error.kind, error.delivery) == ("store", "not_sent")
    assert prompts(emulator) == ["p"]


@pytest.mark.parametrize("when", ["a statement", "connecting"])
def test_a_server_that_hangs_does_not_hold_a_call(emulator, far, network, monkeypatch, when):
    monkeypatch.setattr(calls, "SETTLES", 1.0)
    monkeypatch.setattr(libpq, "RESPONDS", 1.0)
    monkeypatch.setattr(libpq, "CONNECTS", "2")
    if when == "a statement":
        far.steps()
    network.state = "silent"
    began = time.monotonic()
    error = raised(far.send_message, "k", "job_demo", "p")
    assert (error.kind, error.delivery) == ("store", "not_sent") and time.monotonic() - began < 20
    assert "does not respond" in str(error) or "timeout" in str(error)
    network.state = "passes"
    assert far.steps() == [] or state(far) == "sending", "a statement that had left is executed, and its lease will be over"
    assert prompts(emulator) == []


def test_ctrl_c_ends_a_statement_at_once(far, network):
    far.steps()
    network.state = "silent"
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        far.steps()
    assert time.monotonic() - began < libpq.RESPONDS and not hasattr(caught.value, "delivery")


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
        assert isinstance(error, StoreBusyError) and "is locked by another transaction" in str(error)
        token = agentjob.CancelToken()
        threading.Timer(0.3, token.cancel).start()
        error = raised(once.send_message, "k", "job_demo", "p", cancel=token)
        assert (error.kind, error.delivery) == ("cancelled", "not_sent")
        assert state(once) == "rejected", "a reader does not wait"
        once.send_message("k2", "job_demo", "p")
        other.communicate("ROLLBACK;\n", timeout=60)
    once.send_message("k", "job_demo", "p")
    assert prompts(emulator) == ["p", "p"]


def test_many_processes_make_the_table_at_once(client, server):
    for _ in range(5):
        url, begin, failed = server.schema(), threading.Barrier(8), []

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
        assert failed == []


#: What is wrong, what is done to the schema, what the URL becomes, and the words of the error.
DAMAGES = [
    ("a later version", "COMMENT ON TABLE agentjob_steps IS 'Steps of agentjob.once, version 2'", "", "has version 2, and this agentjob needs"),
    ("another table", "COMMENT ON TABLE agentjob_steps IS NULL", "", "was not made by agentjob"),
    ("a missing column", "ALTER TABLE agentjob_steps DROP COLUMN sends", "", 'column "sends"'),
    ("only to read", "SELECT 1", "&options=-cdefault_transaction_read_only%3Don", "read-only transaction"),
    ("no such database", "SELECT 1", "&dbname=nowhere", 'database "nowhere" does not exist'),
    ("no server", "SELECT 1", "&port=1", "refused"),
    ("a proxy's port", "SELECT 1", "&sslmode=require", "SSL"),
]


@pytest.mark.parametrize(("damage", "words"), [(damage[1:3], damage[3]) for damage in DAMAGES], ids=[damage[0] for damage in DAMAGES])
def test_a_store_that_cannot_be_used_sends_nothing(emulator, client, server, postgresql_url, damage, words):
    Once(client, postgresql_url).steps()
    server.sql(damage[0], postgresql_url)
    once = Once(client, postgresql_url.replace("@", ":swordfish@") + damage[1])
    for call in (lambda: once.send_message("k", "job_demo", "p"), lambda: once.resolve("k", "arrived")):
        began = time.monotonic()
        error = raised(call)
        assert isinstance(error, agentjob.StoreError) and words in str(error), error
        assert "swordfish" not in repr(error) + repr(error.__cause__) + repr(error.__context__) + repr(once)
        assert "\n" not in str(error) and time.monotonic() - began < 8
    assert raised(once.send_message, "k", "job_demo", "p").delivery == "not_sent"
    assert prompts(emulator) == []


def test_a_role_that_may_not_make_the_table_is_told_and_uses_one_that_is_there(emulator, client, server):
    url = server.schema()
    schema = url.rsplit("%3D", 1)[1]
    with contextlib.suppress(RuntimeError):
        server.sql("CREATE ROLE worker LOGIN")
    server.sql(f"GRANT USAGE ON SCHEMA {schema} TO worker")
    once = Once(client, url.replace("agentjob@", "worker@"))
    assert f"permission denied for schema {schema}" in str(raised(once.send_message, "k", "job_demo", "p"))
    Once(client, url).steps()
    server.sql(f"GRANT SELECT, INSERT, UPDATE ON {schema}.agentjob_steps TO worker")
    once.send_message("k", "job_demo", "p")
    assert once.wait("k", **QUICK)["status"] == "completed" and prompts(emulator) == ["p"]


def test_a_database_in_another_encoding_is_refused(client, server):
    with contextlib.suppress(RuntimeError):
        server.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    assert "has the encoding LATIN1, and steps need UTF8" in str(raised(Once(client, server.url("latin")).steps))


WRONG_URLS = [
    "postgresql://u:sword fish@h/d",
    "postgresql://u:swordfish@h:port/d",
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
    error = raised(Once, client, url)
    assert isinstance(error, agentjob.StoreError) and "the store's URL is not one that PostgreSQL understands" in str(error)
    seen = f"{error!r} {error.__cause__!r} {error.__context__ if not error.__suppress_context__ else None!r}"
    assert "sword" not in seen and "fish" not in seen


def test_a_store_pickles_unless_its_url_has_a_password(server):
    store = PostgreSQLStore("postgresql://agentjob@127.0.0.1/steps")
    assert repr(pickle.loads(pickle.dumps(store))) == repr(store) == "PostgreSQLStore('postgresql://agentjob@127.0.0.1/steps')"
    for url in ("postgresql://agentjob:swordfish@127.0.0.1/steps", "postgresql:///steps?sslpassword=swordfish"):
        with pytest.raises(TypeError, match="the pickle would contain the password"):
            pickle.dumps(PostgreSQLStore(url))


def test_what_the_url_leaves_out_is_in_the_environment(client, server, monkeypatch):
    for name, value in {"PGHOST": "127.0.0.1", "PGPORT": server.port, "PGUSER": "agentjob", "PGDATABASE": "postgres"}.items():
        monkeypatch.setenv(name, str(value))
    assert Once(client, "postgresql://").steps(["none"]) == []


def test_a_child_does_not_close_its_parents_connection(once, network, far):
    far.steps()
    for end in (os._exit, sys.exit):
        child = os.fork()
        if child == 0:
            try:
                far.steps()
                os.write(1, b"")
                end(0)
            except SystemExit:
                del far.store._kept[:]
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        far.steps()
    assert network.connections == 3, "one of this process, and one of each child"


def test_a_child_that_is_forked_in_a_statement_reads_no_response_of_its_parent(far, network):
    far.steps()
    network.state, children = "silent", []

    def fork(*_):
        children.append(os.fork())
        if children[-1] != 0:
            network.state = "passes"

    before = signal.signal(signal.SIGALRM, fork)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        found = far.steps()
    except agentjob.StoreError as error:
        os._exit(0 if children == [0] and "was forked during a statement" in str(error) else 1)
    finally:
        if children == [0]:
            os._exit(2)
        signal.signal(signal.SIGALRM, before)
    assert found == [] and os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0


def test_no_more_connections_are_kept_than_a_process_needs(once, server, postgresql_url):
    workers = [threading.Thread(target=lambda: [once.steps() for _ in range(5)]) for _ in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    open_now = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'agentjob' AND query LIKE '%agentjob_steps%'"
    wait_for(lambda: int(server.sql(open_now)) <= 4 + 1, "the others are closed")


def test_importing_the_stores_loads_no_database():
    code = "import agentjob.once, sys; print('psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_without_psycopg_it_says_what_to_install(client, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = raised(Once, client, "postgresql://host/steps")
    assert isinstance(error, agentjob.StoreError) and "pip install 'agentjob[postgresql]'" in str(error)
