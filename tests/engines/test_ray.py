"""Ray's actor that sends messages, in a cluster with one CPU, whose processes are killed, too."""

import os
import signal
import time

import pytest
from conftest import LOST, POST

ray = pytest.importorskip("ray", reason="Ray is not installed")

import agentjob  # noqa: E402
from agentjob.once import Once  # noqa: E402

QUICK = {"min_interval": 0.05, "max_interval": 0.05, "settle": 1.0}
#: How long a result may take, in seconds.
PATIENCE = 90


@pytest.fixture(scope="module")
def cluster(service):
    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def service():
    """One emulator for all tests, because Ray's processes get its settings from the environment that the cluster begins in."""
    from agentjob.testing import Emulator

    with Emulator() as emulator, pytest.MonkeyPatch.context() as patch:
        for name, value in {**emulator.environment(), "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}.items():
            patch.setenv(name, value)
        yield emulator


@pytest.fixture
def emulator(service):
    service.reset(jobs=[{"id": "job_demo", "status": "completed"}], rules=[], work_ms=600)
    return service


@pytest.fixture
def client(emulator):
    return agentjob.Client(max_retries=0, **QUICK)


@pytest.fixture
def jobs(cluster, client, database):
    from agentjob.engines.ray import AgentJobs

    actor = AgentJobs.remote(client, database)
    yield actor
    ray.kill(actor)


def result(reference):
    return ray.get(reference, timeout=PATIENCE)


def test_a_call_that_is_made_again_sends_nothing_and_returns_the_same(prompts, jobs):
    records = [result(jobs.send_message.remote("k", "job_demo", "p")) for _ in range(2)]
    assert [record["id"] for record in records] == ["job_demo", "job_demo"] and prompts() == ["p"]


def test_one_actor_follows_many_jobs_at_a_time_and_takes_no_cpu(emulator, prompts, jobs):
    emulator.reset(jobs=[{"id": f"job_{number}"} for number in range(50)], work_ms=600_000)
    waits = [jobs.send_message.remote(f"k{number}", f"job_{number}", "p", wait=True) for number in range(50)]
    assert result(ray.remote(num_cpus=1)(lambda: "the CPU is free").remote()) == "the CPU is free"
    until(lambda: len(prompts()) == 50)
    assert ray.wait(waits, num_returns=50, timeout=0)[0] == []
    emulator.reset(jobs=[{"id": f"job_{number}", "status": "completed"} for number in range(50)])
    assert {job["status"] for job in result(waits)} == {"completed"}


def test_the_calls_of_an_actor_that_is_killed_run_again_and_send_nothing(emulator, prompts, jobs, client, database):
    emulator.reset(jobs=[{"id": "job_demo"}], work_ms=600_000)
    wait = jobs.send_message.remote("k", "job_demo", "p", wait=True)
    until(lambda: Once(client, database).steps(state="accepted"))
    pids = actors()
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert result(jobs.send_message.remote("k2", "job_demo", "q"))["id"] == "job_demo", "the actor is started again"
    assert prompts() == ["p", "q"]
    emulator.reset(jobs=[{"id": "job_demo", "status": "completed"}])
    assert result(wait)["status"] == "completed" and prompts() == []


def test_what_may_have_arrived_is_raised_with_its_verdict_and_never_sent_again(emulator, prompts, jobs):
    emulator.reset(rules=[LOST])
    for _ in range(2):
        with pytest.raises(agentjob.ConnectionLostError, match="resolve the step") as caught:
            result(jobs.send_message.remote("k", "job_demo", "p"))
        error = caught.value
        assert (error.delivery, error.cause.delivery, error.to_dict()) == ("unknown", "unknown", error.cause.to_dict())
    assert prompts() == ["p"]


def test_what_certainly_did_not_arrive_is_sent_again(emulator, prompts, jobs):
    emulator.reset(rules=[{**POST, "status": 409}])
    assert result(jobs.send_message.remote("k", "job_demo", "p", wait=True))["status"] == "completed"
    assert prompts() == ["p"]


def test_headers_go_with_the_message_and_with_each_poll(emulator, jobs):
    result(jobs.send_message.remote("k", "job_demo", "p", wait=True, headers={"x-tenant": "t"}))
    assert {dict(request["headers"]).get("x-tenant") for request in emulator.requests()["requests"]} == {"t"}


def test_a_rate_holds_and_a_named_actor_is_found_again(emulator, prompts, cluster, client, database):
    from agentjob.engines.ray import AgentJobs

    named = AgentJobs.options(name="agentjob", namespace="agentjob", get_if_exists=True)
    actors = [named.remote(client, database, rate="1/h") for _ in range(2)]
    assert actors[0]._actor_id == actors[1]._actor_id
    assert result(actors[0].send_message.remote("a", "job_demo", "p"))["id"] == "job_demo"
    second = actors[1].send_message.remote("b", "job_demo", "q")
    assert ray.wait([second], timeout=3)[0] == [] and prompts() == ["p"]
    assert result(actors[0].send_message.remote("a", "job_demo", "p"))["id"] == "job_demo"
    ray.kill(actors[0])


def test_a_relative_path_is_refused_because_it_is_another_file_on_each_node(cluster, client):
    from agentjob.engines.ray import AgentJobs

    jobs = AgentJobs.remote(client, "steps.db")
    with pytest.raises(ray.exceptions.ActorDiedError, match="was given as a relative path. Give an absolute one"):
        result(jobs.send_message.remote("k", "job_demo", "p"))


def test_a_subclass_of_the_actor_has_methods_of_its_own(cluster, client, database):
    from agentjob.engines.ray import AgentJobsActor

    class Nightly(AgentJobsActor):
        async def tests(self, job_id):
            return await self.send_message(f"night/{job_id}", job_id, "Write tests")

    actor = ray.remote(Nightly).remote(client, database)
    assert result(actor.tests.remote("job_demo"))["id"] == "job_demo"
    ray.kill(actor)


def test_after_too_many_failures_in_a_row_the_last_one_is_raised(emulator, jobs):
    emulator.reset(rules=[{**POST, "nth": nth, "status": 409} for nth in range(1, 9)])
    with pytest.raises(agentjob.ConflictError):
        result(jobs.send_message.remote("k", "job_demo", "p", max_failures=1))
    assert emulator.requests()["total"] == 2


@pytest.mark.parametrize(("options", "error"), [({"timeout": -1}, agentjob.InvalidArgumentError), ({"tiemout": 3}, TypeError)])
def test_wrong_options_are_refused_before_anything_is_sent(emulator, jobs, options, error):
    with pytest.raises(error, match=next(iter(options))):
        result(jobs.send_message.remote("k", "job_demo", "p", wait=True, **options))
    assert emulator.requests()["total"] == 0


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def actors():
    """The processes of this cluster's actors, which are below this one."""
    pids = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline") as words, open(f"/proc/{entry}/environ") as environment:
                if "ray::AgentJobs" in words.read() and os.environ["AGENTJOB_BASE_URL"] in environment.read():
                    pids.append(int(entry))
        except OSError:
            continue
    return pids
