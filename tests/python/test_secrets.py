"""The key is nowhere to be seen."""

import copy
import gc
import pickle
import traceback

import pytest
from conftest import unix

import agentjob
from agentjob.aio import AsyncClient
from agentjob.testing import Emulator

KEY = "marker_QVdxN7rT2pLz9"


def pieces():
    return [KEY[at : at + 6] for at in range(len(KEY) - 5)]


def assert_hidden(text):
    assert not [piece for piece in pieces() if piece in text], text


@pytest.fixture
def emulator():
    with Emulator(api_key=KEY, work_ms=300) as emulator:
        yield emulator


def test_repr_shows_where_the_key_came_from_but_not_the_key(emulator, monkeypatch, tmp_path):
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o600)
    given = {"base_url": "https://example.com", "project_id": "a'b"}
    start = "Client(base_url='https://example.com', project_id=\"a'b\", api_key="
    assert repr(agentjob.Client(api_key=KEY, **given)) == start + "<given>)"
    assert repr(agentjob.Client(api_key_file=file, **given)) == start + "<from api_key_file>)"
    monkeypatch.setenv("AGENTJOB_API_KEY_FILE", str(file))
    assert repr(agentjob.Client(**given)) == start + "<from AGENTJOB_API_KEY_FILE>)"
    monkeypatch.setenv("AGENTJOB_API_KEY", KEY)
    assert str(agentjob.Client(**given)) == start + "<from AGENTJOB_API_KEY>)"


def test_a_client_shows_the_key_nowhere(emulator):
    client = emulator.client()
    assert not hasattr(client, "__dict__") and not hasattr(client, "api_key")
    assert not [name for name in dir(client) if emulator.api_key in repr(getattr(client, name))]


def test_errors_events_and_tracebacks_do_not_show_it(emulator, capfd, monkeypatch):
    monkeypatch.setenv("AGENTJOB_LOG", "debug")
    seen = []
    client = emulator.client(on_event=seen.append, max_retries=1)
    client.send_and_wait("job_demo", "go", min_interval=0.02)
    for rule in ({"status": 401}, {"fault": {"do": "reset", "at": "request"}}, {"status": 500, "json": {"error": "x"}}):
        emulator.reset(api_key=KEY, rules=[rule])
        with pytest.raises(agentjob.Error) as caught:
            client.send_message("job_demo", "go")
        error = caught.value
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        assert_hidden(text + repr(error) + repr(vars(error)))
        assert KEY.encode() not in pickle.dumps(error)
    for bad in ({"api_key": KEY + " "}, {"api_key": KEY + "é"}, {"api_key": KEY, "api_key_file": "/x"}):
        with pytest.raises(agentjob.InvalidArgumentError) as caught:
            emulator.client(**bad)
        assert_hidden(str(caught.value))
    assert seen
    assert_hidden(repr(seen))
    printed = capfd.readouterr()
    assert "agentjob: send_message job_demo" in printed.err
    assert_hidden(printed.out + printed.err)


def test_no_python_object_of_ours_holds_the_key(emulator):
    client = emulator.client(api_key="".join(["marker_", "QVdxN7rT2pLz9"]))
    client.get_job("job_demo")
    assert client.closed is False
    assert not [thing for thing in gc.get_referents(client) if isinstance(thing, str) and KEY in thing]


def test_a_pollers_text_holds_no_secret(emulator):
    poller = emulator.client().poller("job_demo")
    poller.poll()
    assert_hidden(str(poller) + repr(poller))


@unix
def test_a_key_file_is_this_users_alone_unless_it_may_be_shared(monkeypatch, tmp_path):
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o640)
    given = {"base_url": "https://example.com", "project_id": "p", "api_key_file": file}
    for make in (agentjob.Client, AsyncClient):
        with pytest.raises(agentjob.InvalidArgumentError, match=r"\(mode 0640\)\..* run: chmod 600 "):
            make(**given)
        make(**given, allow_shared_key_file=True)
    monkeypatch.setenv("AGENTJOB_ALLOW_SHARED_KEY_FILE", "1")
    agentjob.Client(**given)
    with pytest.raises(agentjob.InvalidArgumentError):
        agentjob.Client(**given, allow_shared_key_file=False)


def test_a_log_line_escapes_invisible_characters(emulator, caplog):
    caplog.set_level("DEBUG", logger="agentjob")
    emulator.reset(rules=[{"status": 404, "json": {"error": "no\u2028\u202e\u200b\U000e0041 job"}}])
    job = "👩\u200d💻"
    with pytest.raises(agentjob.NotFoundError) as caught:
        emulator.client().wait(job, timeout=5)
    assert caplog.messages and all(message.isprintable() for message in [*caplog.messages, str(caught.value)])
    assert "👩\\u{200d}💻" in caplog.messages[0]
    assert "no\\u{2028}\\u{202e}\\u{200b}\\u{e0041} job" in str(caught.value)
