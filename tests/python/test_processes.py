"""A client that goes to other processes: pickled without its key, to worker processes of the standard library and of Dask."""

import copy
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

import pytest
from conftest import QUICK

import agentjob
from agentjob.testing import Emulator

KEY = "adm_marker_0123456789"
EXAMPLES = pathlib.Path(__file__).parents[2] / "python" / "examples"
METHODS = multiprocessing.get_all_start_methods()


@pytest.fixture
def surroundings(emulator, monkeypatch):
    """The emulator's settings as the environment's, for this process and its workers."""
    emulator.reset(api_key=KEY, work_ms=300)
    for name, value in {**emulator.environment(), "AGENTJOB_API_KEY": KEY}.items():
        monkeypatch.setenv(name, value)
    return emulator


def test_a_pickled_client_has_every_setting_but_the_key(surroundings, monkeypatch):
    client = agentjob.Client(timeout=7, max_retries=1, trust_env=False, user_agent_suffix="worker", on_event=print)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        text = pickle.dumps(client, protocol)
        assert KEY.encode() not in text
        copied = pickle.loads(text)
        assert (copied.timeout, copied.max_retries, copied.base_url) == (7, 1, surroundings.base_url)
        assert copied.get_job("job_demo")["id"] == "job_demo"
    changed = pickle.loads(pickle.dumps(client.with_options(timeout=9)))
    assert (changed.timeout, changed.max_retries) == (9, 1)
    agents = {request["headers"]["user-agent"] for request in requests_of(surroundings)}
    assert agents == {f"agentjob/{agentjob.__version__} worker"}
    # A process that unpickles it has the key itself, or gets an error.
    text = pickle.dumps(client)
    monkeypatch.delenv("AGENTJOB_API_KEY")
    with pytest.raises(agentjob.InvalidArgumentError, match="api_key is missing"):
        pickle.loads(text)


def test_every_setting_travels(surroundings, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTJOB_TIMEOUT", "7")
    monkeypatch.chdir(tmp_path)
    pathlib.Path("key").write_text(KEY)
    pathlib.Path("key").chmod(0o600)

    class Name(str):
        secret = KEY

    given = {
        "connect_timeout": 3.0,
        "max_retries": 4,
        "max_retry_after": 5.0,
        "max_prompt_bytes": 6,
        "max_response_bytes": 7,
        "proxy": "http://127.0.0.1:9",
        "trust_env": False,
        "allow_plaintext": True,
        "allow_shared_key_file": False,
        "on_event": print,
    }
    client = agentjob.Client(api_key_file=pathlib.Path("key"), user_agent_suffix=Name("worker"), **given)
    words, settings = client.__getnewargs_ex__()
    own = {"base_url": surroundings.base_url, "project_id": "demo", "timeout": 7.0, "user_agent_suffix": "worker"}
    assert (words, settings) == ((), {**given, **own, "api_key_file": str(tmp_path / "key")})
    assert type(settings["user_agent_suffix"]) is str and KEY.encode() not in pickle.dumps(client)
    # A client made of them has them all.
    assert agentjob.Client(**settings).__getnewargs_ex__() == (words, settings)


def requests_of(emulator):
    def fields(headers):
        return {name.lower(): value for name, value in (headers.items() if isinstance(headers, dict) else headers)}

    return [{**request, "headers": fields(request["headers"])} for request in emulator.requests()["requests"]]


def test_a_key_file_travels_by_its_name(surroundings, tmp_path, monkeypatch):
    monkeypatch.delenv("AGENTJOB_API_KEY")
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o600)
    text = pickle.dumps(agentjob.Client(api_key_file=file, trust_env=False))
    assert KEY.encode() not in text
    assert pickle.loads(text).get_job("job_demo")["id"] == "job_demo"


def test_a_secret_that_was_given_is_not_pickled(surroundings):
    for secret in ({"api_key": KEY}, {"proxy": "http://user:hunter2@127.0.0.1:9"}):
        client = agentjob.Client(**secret)
        for pickled in (pickle.dumps, lambda it: it.__reduce_ex__(4)):
            with pytest.raises(TypeError, match="cannot be pickled, because the pickle would contain the (key|password)") as caught:
                pickled(client)
            assert KEY not in str(caught.value) and "hunter2" not in str(caught.value)
        assert copy.copy(client) is client and copy.deepcopy([client])[0] is client, "a copy is itself"


def follow_up(client, job_id, prompt):
    return os.getpid(), client.send_and_wait(job_id, prompt, **QUICK)


@pytest.fixture
def short_paths(monkeypatch):
    """The fork server listens on a socket in the folder for temporary files, and a socket's path has at most 107 bytes."""
    if len(tempfile.gettempdir()) > 60:
        monkeypatch.setattr(tempfile, "tempdir", "/tmp")


@pytest.mark.parametrize("method", METHODS)
def test_worker_processes_send_and_wait(surroundings, short_paths, method):
    client = agentjob.Client(trust_env=False)
    client.get_job("job_demo")  # a connection that the workers must not use
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as workers:
        sent = [workers.submit(follow_up, client, "job_demo", f"go {n}") for n in range(6)]
        ended = [future.result(timeout=60) for future in sent]
        lost = workers.submit(follow_up, client, "nobody", "go").exception(timeout=60)
    assert {job["status"] for _, job in ended} == {"completed"} and os.getpid() not in {pid for pid, _ in ended}
    assert isinstance(lost, agentjob.NotFoundError) and (lost.delivery, lost.http_status) == ("rejected", 404)
    assert sorted(message["prompt"] for message in surroundings.ledger()) == [f"go {n}" for n in range(6)]
    assert client.get_job("job_demo")["id"] == "job_demo", "this process's own connection lives on"


@pytest.mark.parametrize("name", ["process_pool", "dask_workers"])
def test_the_examples_follow_up_on_many_jobs(name):
    if name == "dask_workers":
        pytest.importorskip("distributed", reason="dask.distributed is not installed")
    jobs = [{"id": f"job_{n}"} for n in range(5)]
    with Emulator(jobs=jobs, work_ms=300) as emulator:
        environment = {**os.environ, **emulator.environment(), "NO_PROXY": "127.0.0.1", "PYTHONWARNINGS": "ignore"}
        words = [sys.executable, EXAMPLES / f"{name}.py", "go", *(job["id"] for job in jobs), "nobody"]
        ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
        lines = sorted(ran.stdout.splitlines())
        assert [line.split()[:2] for line in lines] == [[job["id"], "completed"] for job in jobs] + [["nobody", "rejected"]], ran
        assert ran.returncode == 1 and emulator.api_key not in ran.stdout + ran.stderr
        assert sorted(message["job_id"] for message in emulator.ledger()) == [job["id"] for job in jobs], "each once"
