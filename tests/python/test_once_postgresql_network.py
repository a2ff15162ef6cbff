"""The store of steps in PostgreSQL when the server or the network between is gone, hangs, breaks, or loses what it has committed."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import postgresql
import pytest
from conftest import wait_for
from steps import POST, prompts, raised, state, taken

import agentjob
from agentjob._once import calls, libpq, lookup
from agentjob._once import postgresql as stores
from agentjob.once import Once, PostgreSQLStore, StepOutcome

pytestmark = pytest.mark.skipif(postgresql.programs() is None, reason="needs PostgreSQL's server: apt-get install postgresql")
FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12's, about threads


@pytest.fixture
def once(client, postgresql_url):
    return Once(client, postgresql_url)


def test_a_step_that_was_taken_outlives_a_crash_of_a_server_that_may_lose_commits(client):
    """A server that is set so writes a commit to its log some time later: here, not before it crashes."""
    with postgresql.Server(wal_writer_delay="10s", wal_writer_flush_after="1GB", bgwriter_delay="10s", autovacuum="off", synchronous_commit="off") as server:
        server.sql("CREATE TABLE lost (n integer)")
        store = PostgreSQLStore(server.url())
        assert store.get(None, None, 5.0) == []
        time.sleep(0.5)
        server.sql("INSERT INTO lost VALUES (1)")
        server.crash()
        server.start()
        assert server.sql("SELECT count(*) FROM lost") == "0", "this server loses nothing, so the test shows nothing"
        for method in (
            lambda: taken(store, client, "owner")[0],
            lambda: store.settle("k", "owner", StepOutcome("unknown", "why"), 5.0),
            lambda: store.resolve(store.get(["k"], None, 5.0)[0], "unknown", "resend"),
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
        network.refuses = 3
        network.after(broken_after, "broken")
        if error is None:
            far.send_message("k", "job_demo", "p")
        else:
            # The step was taken. It could not be read again, but later it could be written.
            assert raised(far.send_message, "k", "job_demo", "p").delivery == error
        assert network.state == "passes"
        assert state(far) == found
    assert prompts(emulator) == ["first", "p"]


@pytest.mark.parametrize("becomes", ["broken", "stuck"])
def test_a_network_that_breaks_for_a_while_loses_no_result(emulator, far, network, monkeypatch, becomes):
    monkeypatch.setattr(stores, "RESPONDS", 1.0)
    far.send_message("k", "job_demo", "p")
    network.refuses = 3
    network.after(2, becomes)  # instead of that which records the result
    job = far.wait("k", min_interval=0.05)
    assert network.state == "passes"
    assert far.steps(["k"])[0]["job"]["prLink"] == job["prLink"] is not None


def test_a_server_that_falls_silent_leaves_time_for_the_one_that_takes_its_place(emulator, far, network, monkeypatch):
    monkeypatch.setattr(stores, "RESPONDS", 1.0)
    far.send_message("first", "job_demo", "first")
    network.after(2, "stuck")  # instead of that which records the outcome
    far.send_message("k", "job_demo", "p")
    assert state(far) == "accepted"


def test_a_connection_that_the_server_ended_meanwhile_is_replaced(emulator, once, server, postgresql_url):
    once.send_message("first", "job_demo", "p")
    for n in range(3):
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'agentjob'", postgresql_url)
        once.send_message(f"k{n}", "job_demo", "p")
    assert len(emulator.ledger()) == 4


def test_a_server_that_is_restarted_during_the_request_gets_the_outcome(emulator, client):
    emulator.reset(rules=[{**POST, "delay_ms": 1500}])
    with postgresql.Server() as server:
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
    emulator.reset(rules=[{**POST, "delay_ms": 2000}])
    with postgresql.Server() as server:
        once = Once(client, server.url())

        def stop():
            wait_for(lambda: emulator.requests()["requests"], "the request is there")
            server.stop()

        stopping = threading.Thread(target=stop)
        stopping.start()
        error = raised(once.send_message, "k", "job_demo", "p")
        stopping.join(60)
        assert (error.kind, error.delivery, error.job["id"]) == ("store", "accepted", "job_demo")
        assert any("could not be recorded" in note for note in error.__notes__)
        error = raised(once.send_message, "k2", "job_demo", "p")
        assert (error.kind, error.delivery) == ("store", "not_sent")
    assert prompts(emulator) == ["p"]


@pytest.mark.parametrize("when", ["a statement", "connecting"])
def test_a_server_that_hangs_does_not_hold_a_call(emulator, far, network, monkeypatch, when):
    monkeypatch.setattr(calls, "SETTLES", 1.0)
    monkeypatch.setattr(stores, "RESPONDS", 1.0)
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


@pytest.mark.parametrize("statement", ["that reads the step", "that records the result"])
def test_a_server_that_hangs_does_not_hold_a_wait_for_longer_than_each_statement_may_last(emulator, far, network, monkeypatch, statement):
    far.send_message("k", "job_demo", "p")
    for module in (stores, lookup):
        monkeypatch.setattr(module, "PATIENCE", 1.0)
    monkeypatch.setattr(stores, "RESPONDS", 1.0)
    network.after(1 if statement == "that reads the step" else 2, "silent")
    began = time.monotonic()
    if statement == "that reads the step":
        assert raised(far.wait, "k").kind == "store"
    else:
        assert far.wait("k", min_interval=0.05)["status"] == "completed"
    assert network.state == "silent" and time.monotonic() - began < 20
    network.state = "passes"
    assert far.wait("k", min_interval=0.05)["status"] == "completed", "a later call has it"


def test_ctrl_c_ends_a_statement_that_reads_at_once(far, network, monkeypatch):
    far.steps()
    monkeypatch.setattr(lookup, "PATIENCE", 150.0)
    monkeypatch.setattr(libpq, "ENDS", 150.0)
    network.state = "silent"

    began = []

    def interrupt():
        network.holds.wait(60)
        began.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        threading.Thread(target=interrupt).start()
        far.steps()  # which otherwise raises StoreError, after 150 s
    assert time.monotonic() - began[0] < 100
    assert not hasattr(caught.value, "delivery")


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)", "os.abort()"])
def test_a_child_does_not_close_its_parents_connection(script, network, far, end):
    program = script(
        f"""
        import os, warnings
        from agentjob.once import Once
        warnings.simplefilter("error")
        once = Once(client, {far.store._url!r})
        once.steps()
        child = os.fork()
        if child == 0:
            once.steps()
            {end}
        os.waitpid(child, 0)
        print(once.steps())
        """
    )
    assert program.end() == ("[]\n", "", 0)
    assert network.connections == 2, "one of the parent, and one of the child"


@FORKS
def test_a_child_that_is_forked_in_a_statement_reads_no_response_of_its_parent(far, network):
    far.steps()
    network.state, children = "silent", []

    def fork(*_):
        children.append(os.fork())
        if children[-1] != 0:
            network.state = "passes"

    def interrupt():
        network.holds.wait(60)
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, fork)
    threading.Thread(target=interrupt).start()
    try:
        found = far.steps()
    except agentjob.StoreError as error:
        os._exit(0 if children == [0] and "was forked during a statement" in str(error) else 1)
    finally:
        if children == [0]:
            os._exit(2)
        signal.signal(signal.SIGUSR1, before)
    assert found == [] and os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0


def test_no_more_connections_are_kept_than_a_store_needs(client, server, postgresql_url):
    once = Once(client, postgresql_url + "&application_name=many")
    workers = [threading.Thread(target=lambda: [once.steps() for _ in range(5)]) for _ in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    open_now = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'many'"
    wait_for(lambda: int(server.sql(open_now)) <= 4, "the others are closed")
    assert once.steps() == []


def test_a_connection_that_was_not_used_for_long_is_replaced(far, network, monkeypatch):
    monkeypatch.setattr(stores, "IDLE", 0.0)
    for _ in range(3):
        far.steps()
    assert network.connections == 3


def test_a_replica_that_takes_its_primary_s_place_is_waited_for(emulator, client, server, postgresql_url):
    """It is connected to before it knows. Here: the database is read-only for new transactions."""
    emulator.reset(rules=[{**POST, "delay_ms": 2000}])
    database = "failover"
    server.sql(f"CREATE DATABASE {database}")
    once, sent = Once(client, server.url(database)), []
    worker = threading.Thread(target=lambda: sent.append(once.send_message("k", "job_demo", "p")))
    worker.start()
    wait_for(lambda: emulator.requests()["requests"], "the request is there")
    server.sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
    time.sleep(3)
    server.sql(f"ALTER DATABASE {database} RESET default_transaction_read_only")
    worker.join(60)
    assert sent[0]["id"] == "job_demo" and state(once) == "accepted"


def test_a_statement_that_may_be_executed_later_is_not_called_one_that_changed_nothing(client, network, far, server, postgresql_url):
    """The connection of one is cut while it waits for a lock; the next one finds the lock, too."""
    far.send_message("first", "job_demo", "p")
    network.after(1, "cut")
    lock = f"BEGIN; LOCK TABLE {postgresql_url.rsplit('%3D', 1)[1]}.agentjob_steps IN EXCLUSIVE MODE; SELECT 'locked';\n"
    command = [f"{server.programs}/psql", "-Xqt", postgresql_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        other.stdin.write(lock)
        other.stdin.flush()
        assert other.stdout.readline() == " locked\n"
        with pytest.raises(agentjob.StoreError) as caught:
            taken(far.store, client, patience=0.5)
        assert type(caught.value) is agentjob.StoreError and "is busy" in str(caught.value)
        other.communicate("ROLLBACK;\n", timeout=60)


@pytest.mark.parametrize("order", ["{network},127.0.0.1", "127.0.0.1,{network}"])
def test_of_several_hosts_one_that_is_silent_takes_no_time_of_the_next(client, network, server, postgresql_url, monkeypatch, order):
    monkeypatch.setattr(stores, "RESPONDS", 2.0)
    network.state = "silent"
    ports = order.replace("127.0.0.1", str(server.port)).format(network=network.port)
    schema = postgresql_url.split("?")[1]
    once = Once(client, f"postgresql://agentjob@127.0.0.1,127.0.0.1/postgres?port={ports}&{schema}")
    assert once.store.get(None, None, 1.0) == []


@pytest.mark.parametrize("hosts", [1, 2])
def test_of_several_hosts_one_that_only_reads_does_not_hide_the_one_that_writes(emulator, client, server, postgresql_url, monkeypatch, hosts):
    """A single one may be a replica that a program only reads."""
    Once(client, postgresql_url).steps()
    with postgresql.Server(default_transaction_read_only="on") as replica:
        schema = postgresql_url.split("?")[1]
        url = f"postgresql://agentjob@127.0.0.1,127.0.0.1/postgres?port={replica.port},{server.port}&{schema}"
        once = Once(client, url if hosts == 2 else postgresql_url + "%20-cdefault_transaction_read_only%3Don")
        if hosts == 1:
            assert once.steps() == []
            return
        once.send_message("k", "job_demo", "p")
        assert state(once) == "accepted"
        monkeypatch.setenv("PGTARGETSESSIONATTRS", "any")
        assert "read-only" in str(raised(Once(client, url).send_message, "k2", "job_demo", "p"))
    assert prompts(emulator) == ["p"]


@pytest.mark.skipif(not os.path.exists("/usr/sbin/pgbouncer"), reason="needs PgBouncer: apt-get install pgbouncer")
@pytest.mark.parametrize("mode", ["session", "transaction", "statement"])
def test_through_a_pooler_each_message_is_sent_once_and_durably(emulator, client, server, mode):
    emulator.reset(hourly_limit=100_000)
    database, port = f"pooled_{mode}", postgresql.free_port()
    server.sql(f"CREATE DATABASE {database}")
    folder = tempfile.mkdtemp(prefix="agentjob-pgbouncer-")
    os.chmod(folder, 0o755)
    with open(os.path.join(folder, "ini"), "w") as ini:
        ini.write(
            f"[databases]\n{database} = host=127.0.0.1 port={server.port} user=agentjob\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {port}\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = 8\nunix_socket_dir =\n"
        )
    command = ["setpriv", *server.user, "/usr/sbin/pgbouncer", "-q", os.path.join(folder, "ini")]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as pooler:
        try:
            once = Once(client, f"postgresql://agentjob@127.0.0.1:{port}/{database}")
            wait_for(lambda: works(once), "the pooler is there")
            with ThreadPoolExecutor(3) as pool:
                list(pool.map(lambda n: once.send_message(f"k{n % 20}", "job_demo", f"p{n % 20}"), range(60)))
            assert prompts(emulator) == sorted(f"p{n}" for n in range(20))
            settings = "SELECT current_setting('lock_timeout'), current_setting('synchronous_commit')"
            assert server.sql(settings, f"postgresql://agentjob@127.0.0.1:{port}/{database}") == "0|on", "no setting is left behind"
        finally:
            pooler.terminate()
            shutil.rmtree(folder)


def works(once):
    with contextlib.suppress(agentjob.StoreError):
        return once.steps() == []
