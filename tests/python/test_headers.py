"""Extra request headers: where they go, what is refused, and that their values are nowhere to be seen."""

import asyncio
import collections.abc
import copy
import json
import pickle

import pytest

import agentjob
from agentjob.aio import AsyncClient
from conftest import QUICK
from test_cli import run

SECRET = "walrus5ginger8comet2"


class Headers(collections.abc.Mapping):
    """A mapping that is no dict."""

    def __init__(self, fields):
        self.fields = fields

    def __getitem__(self, name):
        return self.fields[name]

    def __iter__(self):
        return iter(self.fields)

    def __len__(self):
        return len(self.fields)


def sent(emulator, name):
    """The values of a header, a list for each request."""
    requests = emulator.requests()["requests"]
    return [[value for field, value in request["headers"] if field.lower() == name.lower()] for request in requests]


def test_every_request_has_the_clients_headers_and_those_of_its_call(emulator):
    with emulator.client(headers={"X-Tenant": "acme", "traceparent": "client"}) as client:
        call = {"headers": {"Traceparent": "call"}}
        client.send_message("job_demo", "p", **call)
        client.get_job("job_demo", **call)
        client.create_job("p", headers=Headers({"TRACEPARENT": "call"}))
        client.send_and_wait("job_demo", "p", **QUICK, **call)
        client.wait("job_demo", **QUICK, **call)
        list(client.watch("job_demo", **QUICK, **call))
        poller = client.poller("job_demo", **QUICK, **call)
        poller.poll()
        client.resume(str(poller), **call).poll()
        assert "call" not in str(poller)
        assert {tuple(values) for values in sent(emulator, "traceparent")} == {("call",)}
        assert {tuple(values) for values in sent(emulator, "x-tenant")} == {("acme",)}
        client.get_job("job_demo")
        client.with_options(headers={"x-tenant": "other"}).get_job("job_demo")
        assert sent(emulator, "traceparent")[-2:] == [["client"], ["client"]]
        assert sent(emulator, "x-tenant")[-2:] == [["acme"], ["other"]]


def test_every_request_of_a_batch_has_its_headers(emulator, tmp_path):
    journal = tmp_path / "journal"
    with emulator.client() as client:
        items = [("job_demo", "p"), ("job_busy", "p")]
        outcomes = list(client.send_all(items, journal=journal, wait=True, **QUICK, headers={"X-Session": SECRET}))
    assert [outcome["delivery"] for outcome in outcomes] == ["accepted", "accepted"]
    assert {tuple(values) for values in sent(emulator, "x-session")} == {(SECRET,)}
    assert SECRET not in journal.read_text()


def test_an_async_client_has_them_too(emulator, tmp_path):
    async def main():
        async with AsyncClient(**given(emulator), headers={"X-Tenant": "acme"}) as client:
            call = {"headers": {"X-Call": "c"}}
            await client.send_message("job_demo", "p", **call)
            await client.get_job("job_demo", **call)
            await client.create_job("p", **call)
            await client.send_and_wait("job_demo", "p", **QUICK, **call)
            await client.wait("job_demo", **QUICK, **call)
            async for _ in client.watch("job_demo", **QUICK, **call):
                pass
            poller = client.poller("job_demo", **call)
            await poller.poll()
            await client.resume(str(poller), **call).poll()
            async for _ in client.send_all([("job_demo", "p")], journal=tmp_path / "journal", **call):
                pass
            await client.with_options(headers={"X-Tenant": "other"}).get_job("job_demo", **call)

    asyncio.run(main())
    assert {tuple(values) for values in sent(emulator, "x-call")} == {("c",)}
    assert [values for values in sent(emulator, "x-tenant")][-1] == ["other"]
    assert {tuple(values) for values in sent(emulator, "x-tenant")[:-1]} == {("acme",)}


def given(emulator):
    return {"base_url": emulator.base_url, "api_key": emulator.api_key, "project_id": emulator.project_id}


@pytest.mark.parametrize(
    ("headers", "error", "text"),
    [
        ({"Authorization": "x"}, agentjob.InvalidArgumentError, "header Authorization cannot be set"),
        ({"X-Tenant": "a\r\nB: c"}, agentjob.InvalidArgumentError, "contains a line break"),
        ({"X-Tenant": "a", "x-tenant": "b"}, agentjob.InvalidArgumentError, "header x-tenant is given twice"),
        ({"X-Tenant": "\ud800"}, agentjob.InvalidArgumentError, "lone surrogate"),
        ({"X-Tenant": 1}, TypeError, "a header's value must be a str, not int"),
        ({"adm_secret7": 1}, TypeError, "a header's value must be a str, not int"),
        ({"X-Tenant": b"acme"}, TypeError, "a header's value must be a str, not bytes"),
        ({1: "a"}, TypeError, "a header's name must be a str, not int"),
        ([("X-Tenant", "a")], TypeError, "headers must be a mapping of str to str, not list"),
        ("X-Tenant: a", TypeError, "headers must be a mapping of str to str, not str"),
    ],
)
def test_wrong_headers_are_refused_before_anything_is_sent(emulator, tmp_path, headers, error, text):
    client = emulator.client()
    for make in (
        lambda: emulator.client(headers=headers),
        lambda: client.with_options(headers=headers),
        lambda: client.send_message("job_demo", "p", headers=headers),
        lambda: client.wait("job_demo", headers=headers),
        lambda: client.poller("job_demo", headers=headers),
        lambda: client.send_all([("job_demo", "p")], journal=tmp_path / "journal", headers=headers),
    ):
        with pytest.raises(error) as caught:
            make()
        assert text in str(caught.value) and "adm_secret7" not in str(caught.value)
    with pytest.raises(error):
        asyncio.run(AsyncClient.of(client).send_message("job_demo", "p", headers=headers))
    assert emulator.requests()["total"] == 0


def test_a_value_is_in_no_error_event_log_or_repr(emulator, capfd, monkeypatch):
    monkeypatch.setenv("AGENTJOB_LOG", "debug")
    emulator.reset(rules=[{"status": 400, "headers": {"X-Request-Id": SECRET}, "json": {"error": f"no session {SECRET}"}}])
    seen = []
    client = emulator.client(headers={"X-Session": SECRET}, on_event=seen.append)
    with pytest.raises(agentjob.BadRequestError) as caught:
        client.send_message("job_demo", "p", headers={"X-Other": SECRET[::-1]})
    error = caught.value
    assert "no session ***" in str(error)
    shown = f"{error} {error!r} {vars(error)} {error.to_dict()} {seen} {client!r} {capfd.readouterr()}"
    assert SECRET not in shown and SECRET[::-1] not in shown


def test_a_client_with_headers_is_not_pickled_but_one_with_the_variable_is(emulator, monkeypatch):
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    for client in (agentjob.Client(headers={"X-Session": SECRET}), agentjob.Client().with_options(headers={"X-Session": SECRET})):
        with pytest.raises(TypeError, match="headers cannot be pickled"):
            pickle.dumps(client)
        assert copy.copy(client) is client
    monkeypatch.setenv("AGENTJOB_HEADERS", f"X-Session: {SECRET}\nX-Tenant: acme")
    pickled = pickle.dumps(agentjob.Client())
    assert SECRET.encode() not in pickled
    pickle.loads(pickled).get_job("job_demo")
    assert sent(emulator, "x-session") == [[SECRET]]


def test_the_command_line_takes_headers_as_flags_files_and_a_variable(emulator, tmp_path):
    file = tmp_path / "headers"
    file.write_text(f"# for the gateway\nX-Session: {SECRET}\n")
    flags = ["--header", "X-Tenant: acme", "--header", f"@{file}"]
    status, _, err = run(emulator, "send", *flags, "job_demo", "p", env={"AGENTJOB_HEADERS": "X-Tenant: variable\nX-More: m"})
    assert (status, err) == (0, "")
    assert sent(emulator, "x-tenant") == [["acme"]]
    assert sent(emulator, "x-session") == [[SECRET]]
    assert sent(emulator, "x-more") == [["m"]]
    for flag, text in [
        (["Host: a"], "--header: header Host cannot be set: it comes from base_url"),
        (["X-Tenant"], "--header: a header has no colon. Write it as Name: value."),
        (["A: 1", "a: 2"], "header a is given twice"),
        (["@/nowhere"], "the headers in /nowhere cannot be read: No such file or directory"),
    ]:
        words = [word for value in flag for word in ("--header", value)]
        status, out, err = run(emulator, "get", *words, "job_demo")
        assert (status, out) == (2, "") and text in err, err
    assert emulator.requests()["total"] == 1


def test_a_byte_order_mark_before_a_file_of_headers_is_no_part_of_them(emulator, tmp_path):
    file = tmp_path / "headers"
    for text in ("X-Tenant: acme\n", "# for the gateway\nX-Tenant: acme\n"):
        file.write_text(text, "utf-8-sig")
        status, _, err = run(emulator, "get", "--header", f"@{file}", "job_demo")
        assert (status, err) == (0, "")
    assert sent(emulator, "x-tenant") == [["acme"], ["acme"]]


def test_commands_that_are_printed_have_no_header_values(emulator, tmp_path):
    emulator.reset(jobs=[{"id": "job_busy", "status": "active"}])
    header = ["--header", f"X-Session: {SECRET}"]
    status, _, err = run(emulator, "wait", *header, "job_busy", "--wait-timeout", "0.3", "--min-interval", "0.02", "--json-events")
    assert status == 4 and SECRET not in err and "X-Session: ***" in err, err
    file = tmp_path / "list.jsonl"
    file.write_text(json.dumps({"job_id": "job_busy", "prompt": "p"}))
    emulator.reset(rules=[{"status": 401}])
    journal = str(tmp_path / "journal")
    for form in (header, ["=".join(header)]):
        status, _, err = run(emulator, "batch", "run", str(file), "--journal", journal, *form)
        assert status == 6 and SECRET not in err and "X-Session: ***" in err, err
