"""Dask's workers that send messages, one of which has one thread."""

import pickle
import time

import pytest
from conftest import PATIENCE, QUICK
from steps import LOST, POST, prompts, settings

import agentjob
from agentjob.once import Once

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and a worker with one thread, in this process."""
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with distributed.Client(**options, set_as_default=False) as cluster:
        yield cluster


@pytest.fixture
def once(emulator, database, monkeypatch):
    """Its client takes the key from the environment, because it is pickled."""
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    return Once(agentjob.Client(max_retries=0, settle=1.0, **QUICK), database)


@pytest.fixture
def submit(cluster, once):
    """Runs the function in the worker: each submission is an execution, with whatever step's key."""
    from agentjob.engines.dask import send_message

    def submit(key, job_id, prompt, **options):
        return cluster.submit(send_message, once, key, job_id, prompt, **options, pure=False)

    return submit


def result(future):
    return future.result(timeout=PATIENCE)


def test_a_function_that_runs_again_sends_nothing_and_returns_the_same(emulator, submit):
    records = [result(submit("k", "job_demo", "p")) for _ in range(2)]
    assert [record["id"] for record in records] == ["job_demo", "job_demo"]
    assert prompts(emulator) == ["p"]


def test_while_a_job_works_its_function_holds_no_slot(emulator, submit):
    emulator.reset(jobs=[{"id": "long"}, {"id": "job_demo"}], work_ms=600_000)
    long = submit("a", "long", "first", wait=True)
    assert result(submit("b", "job_demo", "second"))["status"] == "active"
    assert not long.done(), "the only thread is free although its job works"
    assert prompts(emulator) == ["first", "second"]
    emulator.reset(jobs=[{"id": "long", "status": "completed"}])
    assert result(long)["status"] == "completed"


def test_while_it_waits_to_send_again_it_holds_no_slot(emulator, submit):
    emulator.reset(jobs=[{"id": "job_busy", "status": "active"}, {"id": "job_demo"}], busy=True)
    busy = submit("a", "job_busy", "first")
    assert result(submit("b", "job_demo", "second"))["id"] == "job_demo"
    assert not busy.done() and prompts(emulator) == ["second"]
    emulator.reset(jobs=[{"id": "job_busy"}])
    assert result(busy)["id"] == "job_busy"
    assert prompts(emulator) == ["first"]


def test_what_may_have_arrived_is_raised_and_never_sent_again(emulator, submit):
    emulator.reset(rules=[LOST])
    for _ in range(2):
        with pytest.raises(agentjob.ConnectionLostError, match="resolve the step") as caught:
            result(submit("k", "job_demo", "p"))
        assert caught.value.delivery == "unknown"
    assert prompts(emulator) == ["p"]


def test_after_too_many_failures_in_a_row_the_last_one_is_raised(emulator, submit):
    emulator.reset(rules=[{**POST, "nth": nth, "status": 409} for nth in range(1, 9)])
    with pytest.raises(agentjob.ConflictError):
        result(submit("k", "job_demo", "p", max_failures=1))
    assert emulator.requests()["total"] == 2


@pytest.mark.parametrize(("options", "error"), [({"timeout": -1}, agentjob.InvalidArgumentError), ({"tiemout": 3}, TypeError)])
def test_wrong_options_are_refused_before_anything_is_sent(emulator, submit, options, error):
    with pytest.raises(error, match=next(iter(options))):
        result(submit("k", "job_demo", "p", wait=True, **options))
    assert emulator.requests()["total"] == 0


def test_a_relative_path_is_refused_in_a_worker_that_made_it_but_not_in_a_copy(emulator, cluster, once, tmp_path, monkeypatch):
    """It is another file in each worker. A copy has the path that it had where it was made."""
    from agentjob.engines.dask import send_message

    monkeypatch.chdir(tmp_path)

    def makes():
        return send_message(Once(once.client, "steps.db"), "k", "job_demo", "p")

    with pytest.raises(agentjob.InvalidArgumentError, match="steps.db' was given as a relative path. Give an absolute one") as caught:
        result(cluster.submit(makes, pure=False))
    assert caught.value.delivery == "not_sent" and prompts(emulator) == []
    copy = pickle.loads(pickle.dumps(Once(once.client, "steps.db")))
    assert copy.store.path == f"{tmp_path}/steps.db"
    result(cluster.submit(send_message, copy, "k", "job_demo", "p", pure=False))
    assert prompts(emulator) == ["p"]


def test_the_functions_of_a_worker_share_the_connections_of_one_client(emulator, submit):
    for number in range(5):
        result(submit(f"k{number}", "job_demo", "p"))
    assert emulator.requests()["connections"] == 1


def test_a_function_may_send_several_messages_and_wait_for_each(emulator, cluster, once):
    from agentjob.engines.dask import send_message

    def both(once):
        return [send_message(once, key, "job_demo", key, wait=True)["status"] for key in ("a", "b")]

    assert result(cluster.submit(both, once, pure=False)) == ["completed", "completed"]
    assert prompts(emulator) == ["a", "b"]


def test_headers_go_with_the_message_and_with_each_poll(emulator, submit):
    result(submit("k", "job_demo", "p", wait=True, headers={"x-tenant": "t"}))
    assert {dict(request["headers"]).get("x-tenant") for request in emulator.requests()["requests"]} == {"t"}


def test_a_rate_holds_over_all_workers(emulator, cluster, once):
    from agentjob.engines.dask import send_message

    limited = Once(once.client, once.store, rate="1/h")
    result(cluster.submit(send_message, limited, "a", "job_demo", "p"))
    second = cluster.submit(send_message, limited, "b", "job_demo", "q")
    assert result(cluster.submit(send_message, once, "c", "job_demo", "r"))["id"] == "job_demo", "the slot is free although b waits"
    assert prompts(emulator) == ["p", "r"] and not second.done()
    second.cancel()


def test_submitting_the_same_key_again_gets_the_same_future(emulator, cluster, once):
    from agentjob.engines.dask import send_message

    futures = [cluster.submit(send_message, once, "k", "job_demo", "p", key="k") for _ in range(2)]
    assert futures[0].key == futures[1].key and [result(future)["id"] for future in futures] == ["job_demo", "job_demo"]
    assert prompts(emulator) == ["p"]


def test_a_function_in_a_worker_may_make_its_own_client_with_a_key(emulator, cluster, database):
    def send(settings, database):
        import agentjob
        from agentjob.engines.dask import send_message
        from agentjob.once import Once

        return send_message(Once(agentjob.Client(**settings), database), "k", "job_demo", "p")["id"]

    assert result(cluster.submit(send, settings(emulator), str(database), pure=False)) == "job_demo"


def test_outside_of_a_worker_each_call_has_the_client_that_it_is_given(emulator, database):
    from agentjob.engines.dask import send_message

    for key in ("a", "b"):  # the first client is closed when the second one sends, and neither can be pickled
        with emulator.client() as client:
            assert send_message(Once(client, database), key, "job_demo", key)["id"] == "job_demo"
    assert prompts(emulator) == ["a", "b"]


def test_it_works_outside_of_a_worker_too(emulator, once):
    from agentjob.engines.dask import send_message

    emulator.reset(rules=[{**POST, "status": 409}])
    begin = time.monotonic()
    assert send_message(once, "k", "job_demo", "p", wait=True)["status"] == "completed"
    assert time.monotonic() - begin > 0.5, "it paused before it sent again"
