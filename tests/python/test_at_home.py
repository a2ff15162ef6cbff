"""What users of other libraries expect of this one: weak references, verdicts on every TypeError, servers, and objects that live long
enough."""

import asyncio
import contextlib
import copy
import functools
import gc
import inspect
import math
import sys
import weakref

import pytest

import agentjob
from agentjob import aio, types
from agentjob.testing import Emulator
from conftest import BUSY, QUICK


def test_weak_references_work(emulator, client, tmp_path):
    token, poller, watch = agentjob.CancelToken(), client.poller("job_demo"), client.watch("job_demo")
    batch = client.send_all([], journal=tmp_path / "journal")
    for thing in (token, poller, watch, batch, aio.AsyncClient.of(client), emulator):
        assert weakref.ref(thing)() is thing
    cache = weakref.WeakValueDictionary(one=agentjob.CancelToken())
    gc.collect()
    assert "one" not in cache
    other = emulator.client()
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None


def test_a_client_keeps_its_emulator_alive(tmp_path):
    assert Emulator().client().get_job("job_demo")["id"] == "job_demo"
    changed = Emulator(work_ms=0).client().with_options(timeout=30)
    gc.collect()
    assert changed.send_and_wait("job_demo", "p")["status"] == "completed"
    assert [job["status"] for job in Emulator().client().watch("job_demo")] == ["completed"]
    assert [outcome["delivery"] for outcome in Emulator().client().send_all([("job_demo", "p")], journal=tmp_path / "j")] == ["accepted"]
    poller = Emulator().client().poller("job_demo")
    gc.collect()
    assert poller.poll()["status"] == "completed"

    async def main():
        return await aio.AsyncClient.of(Emulator().client()).get_job("job_demo")

    assert asyncio.run(main())["id"] == "job_demo"
    # Only as long as they need it.
    emulator = Emulator()
    native, client = weakref.ref(emulator), emulator.client()
    del emulator
    gc.collect()
    assert native() is None and client.get_job("job_demo")


def test_a_stopped_emulator_is_stopped_even_if_a_client_remains():
    with Emulator() as emulator:
        client = emulator.client(max_retries=0)
    with pytest.raises(agentjob.Error):
        client.get_job("job_demo")


def not_sent(call, arguments, named):
    """The sentence of the TypeError that this raises, which says that the message was not sent."""
    with pytest.raises(TypeError) as caught:
        returned = call(*arguments, **named)
        if inspect.isawaitable(returned):

            async def main():
                return await returned

            asyncio.run(main())
    assert caught.value.delivery == "not_sent"
    assert caught.value.__notes__ == ["agentjob: the message was not sent, so it may be sent again"]
    return str(caught.value)


@pytest.mark.parametrize("make", [lambda client: client, aio.AsyncClient.of], ids=["sync", "async"])
def test_every_type_error_of_a_message_says_that_it_was_not_sent(emulator, client, make):
    sender = make(client)
    for call in (sender.send_message, sender.send_and_wait):
        for name, value in [("prompt", 7), ("job_id", b"job"), ("prompt", None), ("timeout", "3"), ("headers", 3), ("meta", "x")]:
            assert f"{name} must be " in not_sent(call, (), {"job_id": "job_demo", "prompt": "p", name: value})
        assert "2 required positional arguments: 'job_id' and 'prompt'" in not_sent(call, (), {})
        assert "1 required positional argument: 'prompt'" in not_sent(call, ("job_demo",), {})
        assert "1 required positional argument: 'job_id'" in not_sent(call, (), {"prompt": "p", "timeout": 3})
        assert "positional arguments but" in not_sent(call, ("job_demo", "p", 3), {})
        assert "multiple values for argument 'job_id'" in not_sent(call, ("job_demo",), {"job_id": "job_demo"})
        for name in ("promt", "first", "surplus", "self_"):
            assert f"an unexpected keyword argument '{name}'" in not_sent(call, ("job_demo", "p"), {name: "p"})
    for name, value in [("check", 1), ("on_update", "x")]:
        assert f"{name} must be " in not_sent(sender.send_and_wait, ("job_demo", "p"), {name: value})
    create = sender.create_job
    assert "prompt must be a str, not NoneType" in not_sent(create, (None,), {})
    assert "1 required positional argument: 'prompt'" in not_sent(create, (), {})
    assert "positional argument" in not_sent(create, ("p", "q"), {})
    assert "an unexpected keyword argument 'job_id'" in not_sent(create, ("p",), {"job_id": "job_demo"})
    assert "multiple values for argument 'prompt'" in not_sent(create, ("p",), {"prompt": "p"})
    assert emulator.ledger() == []


def test_a_message_takes_its_arguments_by_position_and_by_name(emulator, client):
    for call in (client.send_message, functools.partial(client.send_and_wait, **QUICK)):
        call("job_demo", "p", timeout=30)
        call("job_demo", prompt="p")
        call(prompt="p", job_id="job_demo")
    assert client.create_job("p")["id"] != client.create_job(prompt="p")["id"]
    assert len(emulator.ledger()) == 8 and {message["prompt"] for message in emulator.ledger()} == {"p"}


def test_the_methods_of_an_async_client_stay_coroutine_functions():
    for name in ("send_message", "send_and_wait", "create_job", "get_job", "wait"):
        assert inspect.iscoroutinefunction(getattr(aio.AsyncClient, name))


def test_a_type_error_of_a_read_has_no_verdict(client):
    with pytest.raises(TypeError) as caught:
        client.get_job(7)
    assert not hasattr(caught.value, "delivery")


def test_a_closed_client_cannot_be_entered(emulator):
    client = emulator.client()
    client.close()
    with pytest.raises(agentjob.ClosedError, match="the client was closed"), client:
        pass
    service = aio.AsyncClient.of(client)

    async def main():
        with pytest.raises(agentjob.ClosedError, match="the client was closed"):
            async with service:
                pass

    asyncio.run(main())


def test_a_source_that_is_no_object_has_no_fields(emulator, client):
    emulator.reset(rules=[{"status": 200, "json": {"id": "job_demo", "status": "active", "source": ["x"], "other": {"source": "y"}}}])
    job = client.get_job("job_demo")
    assert job["source"] == {"repository": None, "ref": None} and job["other"] == {"source": "y"}
    emulator.reset(rules=[{"status": 200, "json": {"id": "job_demo", "status": "active", "source": {"source": "z"}}}])
    assert client.get_job("job_demo")["source"] == {"repository": None, "ref": None, "source": "z"}


def test_a_watch_is_a_context_manager(client, emulator):
    emulator.reset(jobs=[BUSY])
    with client.watch("job_busy", **QUICK) as watch:
        assert next(watch)["status"] == "active"
    assert list(watch) == []
    watch.close()


def test_an_asynchronous_watch_can_be_closed(emulator):
    emulator.reset(jobs=[BUSY])

    async def main():
        service = aio.AsyncClient.of(emulator.client())
        async with service.watch("job_busy") as watch:
            async for job in watch:
                assert job["status"] == "active"
                break
        assert [job async for job in watch] == []
        watch = service.watch("job_busy")
        assert (await watch.__anext__())["id"] == "job_busy"
        await watch.aclose()
        await watch.aclose()
        if sys.version_info >= (3, 10):
            async with contextlib.aclosing(service.watch("job_busy")) as watch:
                async for job in watch:
                    break

    asyncio.run(main())


def test_a_wait_takes_its_clients_settings(emulator, monkeypatch):
    def schedule(client, **options):
        return client.poller("job_demo", **options).to_text()

    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AGENTJOB_WAIT_TIMEOUT", "none")
    monkeypatch.setenv("AGENTJOB_LATENESS", "0.5")
    client = agentjob.Client()
    found = schedule(client)
    assert all(part in found for part in ('"timeout_ms":null', '"min_interval_ms":20,', '"lateness_millionths":500000', '"settle_ms":250,'))
    assert '"timeout_ms":3000,' in schedule(client, timeout=3)
    given = agentjob.Client(wait_timeout=7, min_interval=0.03, max_interval=4, lateness=1, settle=0)
    ours = '"timeout_ms":7000,"min_interval_ms":30,"max_interval_ms":4000,"lateness_millionths":1000000,"settle_ms":0,'
    assert ours in schedule(given)
    assert ours in schedule(copy.copy(given))
    assert '"timeout_ms":null' in schedule(given.with_options(wait_timeout=math.inf))
    assert '"timeout_ms":null' in schedule(given, timeout=None) and '"timeout_ms":null' in schedule(given, timeout=math.inf)
    assert '"timeout_ms":7000,' in schedule(given, timeout="client")
    service = aio.AsyncClient(wait_timeout=7, min_interval=0.03, max_interval=4, lateness=1, settle=0)
    assert ours in str(service.poller("job_demo"))
    assert '"settle_ms":50,' in str(service.with_options(settle=0.05).poller("job_demo"))
    monkeypatch.setenv("AGENTJOB_LATENESS", "2")
    with pytest.raises(agentjob.InvalidArgumentError, match="AGENTJOB_LATENESS is 2"):
        agentjob.Client()


def test_the_settle_of_an_emulator_fits_its_stale_records(emulator):
    assert Emulator(stale_ms=2000).environment()["AGENTJOB_SETTLE"] == "2.25"
    emulator.reset(work_ms=100, stale_ms=300, jobs=[{"id": "job_demo", "status": "completed", "prLink": "https://example.com/old"}])
    assert emulator.client().send_and_wait("job_demo", "p")["prLink"] != "https://example.com/old"


def test_fastapi_takes_a_job_as_its_response_model(emulator):
    pytest.importorskip("fastapi", reason="it needs Python 3.11")
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    app, service = FastAPI(), emulator.client()

    @app.post("/follow-up", response_model=types.Job)
    def follow_up(prompt: str):
        return service.send_message("job_demo", prompt)

    @app.get("/job")
    async def job() -> types.Job:
        return await aio.AsyncClient.of(service).get_job("job_demo")

    with TestClient(app) as browser:
        response = browser.post("/follow-up", params={"prompt": "p"})
        assert response.status_code == 200 and response.json()["status"] == "active" and response.json()["source"]["ref"] == "main"
        assert browser.get("/job").json()["id"] == "job_demo"
        schema = browser.get("/openapi.json").json()["components"]["schemas"]["Job"]
    assert sorted(schema["properties"]) == sorted(types.Job.__annotations__)


def test_pydantic_takes_every_dict_of_a_job():
    pydantic = pytest.importorskip("pydantic")
    adapter = pydantic.TypeAdapter(types.Job)
    record = {"id": "j", "status": "active", "source": {"repository": None, "ref": None}, "model": None, "prLink": None, "createdAt": None, "archivedAt": None}
    assert adapter.validate_python(record) == record
    with pytest.raises(pydantic.ValidationError):
        adapter.validate_python({"id": "j"})
    pydantic.TypeAdapter(types.Event)
    pydantic.TypeAdapter(types.BatchItem)
