"""Wrong arguments: each is refused before anything is sent, and the refusal names it."""

from pathlib import Path

import pytest

import agentjob
from agentjob.testing import Emulator

NAN, INF = float("nan"), float("inf")
LONE = "\ud800"

CLIENT = [
    *[("timeout", bad, agentjob.InvalidArgumentError) for bad in (0, -1, 0.0, NAN, INF, -INF, 10**400, 604801)],
    *[("timeout", bad, TypeError) for bad in (True, "60", b"60", [1], 1j)],
    *[("connect_timeout", bad, agentjob.InvalidArgumentError) for bad in (0, -0.5, NAN, INF)],
    ("connect_timeout", False, TypeError),
    *[("max_retries", bad, agentjob.InvalidArgumentError) for bad in (-1, 101, 10**30, -(10**30))],
    *[("max_retries", bad, TypeError) for bad in (1.0, True, "2", None.__class__)],
    *[("max_retry_after", bad, agentjob.InvalidArgumentError) for bad in (-1, NAN, INF)],
    ("max_retry_after", True, TypeError),
    *[("max_prompt_bytes", bad, agentjob.InvalidArgumentError) for bad in (0, -1, 2**40, 2**80)],
    *[("max_response_bytes", bad, agentjob.InvalidArgumentError) for bad in (0, -1, 2**40, 2**80)],
    *[("wait_timeout", bad, agentjob.InvalidArgumentError) for bad in (0, -1, NAN, -INF, 10**400, 604801)],
    *[("wait_timeout", bad, TypeError) for bad in (True, "client")],
    *[(name, bad, agentjob.InvalidArgumentError) for name in ("min_interval", "max_interval") for bad in (0, -1, NAN, INF)],
    *[(name, bad, TypeError) for name in ("min_interval", "max_interval", "lateness", "settle") for bad in ("2", True)],
    ("min_interval", 61, agentjob.InvalidArgumentError),
    *[("lateness", bad, agentjob.InvalidArgumentError) for bad in (0, -1, 1.1, NAN)],
    *[("settle", bad, agentjob.InvalidArgumentError) for bad in (-1, NAN, INF)],
    ("max_prompt_bytes", 4.5, TypeError),
    ("max_response_bytes", "1", TypeError),
    *[("base_url", bad, agentjob.InvalidArgumentError) for bad in ("", "x", "ftp://x", "http://example.com", LONE)],
    *[("base_url", bad, TypeError) for bad in (1, b"https://x")],
    *[("api_key", bad, agentjob.InvalidArgumentError) for bad in ("", "a b", "a\r\nb", "é", LONE)],
    *[("api_key", bad, TypeError) for bad in (1, b"key")],
    *[("project_id", bad, agentjob.InvalidArgumentError) for bad in ("", ".", "..", LONE)],
    ("project_id", 7, TypeError),
    ("ca_file", "/nowhere", agentjob.InvalidArgumentError),
    ("ca_file", __file__, agentjob.InvalidArgumentError),
    ("ca_file", 3, TypeError),
    ("client_cert", "/nowhere", agentjob.InvalidArgumentError),
    ("client_cert", 3, TypeError),
    ("client_key", "/nowhere", agentjob.InvalidArgumentError),
    ("proxy", "socks5://127.0.0.1:1", agentjob.InvalidArgumentError),
    ("proxy", 1, TypeError),
    ("trust_env", 1, TypeError),
    ("trust_env", None, TypeError),
    ("allow_plaintext", "no", TypeError),
    ("allow_shared_key_file", 1, TypeError),
    ("user_agent_suffix", "a\nb", agentjob.InvalidArgumentError),
    ("user_agent_suffix", 1, TypeError),
    ("on_event", 1, TypeError),
]

WAIT = [
    *[("timeout", bad, agentjob.InvalidArgumentError) for bad in (0, -1, NAN, -INF, 10**400)],
    *[("timeout", bad, TypeError) for bad in (True, "1", "clients")],
    *[(name, bad, agentjob.InvalidArgumentError) for name in ("min_interval", "max_interval") for bad in (0, -1, NAN)],
    *[(name, bad, TypeError) for name in ("min_interval", "max_interval", "lateness", "settle") for bad in ("2", True)],
    ("min_interval", 61, agentjob.InvalidArgumentError),
    *[("lateness", bad, agentjob.InvalidArgumentError) for bad in (0, -1, 1.1, NAN)],
    *[("settle", bad, agentjob.InvalidArgumentError) for bad in (-1, NAN, INF)],
    ("check", 1, TypeError),
    ("on_update", "print", TypeError),
    ("cancel", "token", TypeError),
]


@pytest.fixture(scope="module")
def emulator():
    with Emulator() as emulator:
        yield emulator
        assert emulator.requests()["total"] == 0, "a refused call must send nothing"


@pytest.mark.parametrize(("name", "bad", "error"), CLIENT, ids=lambda value: repr(value)[:30])
def test_a_wrong_setting(emulator, name, bad, error):
    with pytest.raises(error, match=name):
        emulator.client(**{name: bad})


@pytest.mark.parametrize(("name", "bad", "error"), WAIT, ids=lambda value: repr(value)[:30])
def test_a_wrong_wait_option(emulator, name, bad, error):
    client = emulator.client()
    with pytest.raises(error, match=name) as caught:
        client.send_and_wait("job_demo", "go", **{name: bad})
    assert getattr(caught.value, "delivery", "not_sent") == "not_sent"
    with pytest.raises(error, match=name):
        client.wait("job_demo", **{name: bad})
    if name not in ("check", "on_update"):
        with pytest.raises(error, match=name):
            client.watch("job_demo", **{name: bad})
    if name not in ("check", "on_update", "cancel"):
        with pytest.raises(error, match=name):
            client.poller("job_demo", **{name: bad})


@pytest.mark.parametrize("bad", ["", ".", "..", LONE])
@pytest.mark.parametrize("method", ["get_job", "send_message", "wait", "watch", "poller", "send_and_wait"])
def test_a_wrong_job_id(emulator, method, bad):
    arguments = [bad, "go"] if method.startswith("send") else [bad]
    with pytest.raises(agentjob.InvalidArgumentError, match="job_id") as caught:
        getattr(emulator.client(), method)(*arguments)
    assert caught.value.delivery == ("not_sent" if method.startswith("send") else None)


@pytest.mark.parametrize("bad", ["", LONE, "x" * 11])
def test_a_wrong_prompt(emulator, bad):
    client = emulator.client(max_prompt_bytes=10)
    for call in (lambda: client.send_message("job_demo", bad), lambda: client.create_job(bad)):
        with pytest.raises(agentjob.InvalidArgumentError, match="prompt") as caught:
            call()
        assert caught.value.delivery == "not_sent"


@pytest.mark.parametrize("bad", [None, 1, b"go"])
def test_a_prompt_or_id_of_another_type(emulator, bad):
    client = emulator.client()
    with pytest.raises(TypeError, match="prompt must be a str, not"):
        client.send_message("job_demo", bad)
    with pytest.raises(TypeError, match="job_id must be a str, not"):
        client.get_job(bad)


def test_a_call_has_its_own_timeout_checked(emulator):
    with pytest.raises(agentjob.InvalidArgumentError, match="timeout") as caught:
        emulator.client().send_message("job_demo", "go", timeout=0)
    assert caught.value.delivery == "not_sent"


def test_options_are_keywords_and_known(emulator):
    with pytest.raises(TypeError):
        agentjob.Client("key")
    with pytest.raises(TypeError, match="apikey"):
        emulator.client(apikey="x")
    with pytest.raises(TypeError):
        emulator.client().get_job("job_demo", 5)


def test_a_missing_setting_names_its_variable():
    with pytest.raises(agentjob.InvalidArgumentError, match="AGENTJOB_BASE_URL"):
        agentjob.Client()
    with pytest.raises(agentjob.InvalidArgumentError, match="AGENTJOB_API_KEY_FILE"):
        agentjob.Client(base_url="https://example.com", project_id="p")


def test_settings_come_from_the_environment_and_arguments_win(monkeypatch):
    monkeypatch.setenv("AGENTJOB_BASE_URL", "https://example.com/api/")
    monkeypatch.setenv("AGENTJOB_API_KEY", "k")
    monkeypatch.setenv("AGENTJOB_PROJECT_ID", "p")
    monkeypatch.setenv("AGENTJOB_TIMEOUT", "7.5")
    client = agentjob.Client()
    assert (client.base_url, client.project_id, client.timeout) == ("https://example.com/api", "p", 7.5)
    assert agentjob.Client(timeout=3, project_id="other").timeout == 3.0
    monkeypatch.setenv("AGENTJOB_TIMEOUT", "soon")
    with pytest.raises(agentjob.InvalidArgumentError, match="AGENTJOB_TIMEOUT"):
        agentjob.Client()


def test_ints_floats_and_paths_are_taken_as_they_come(tmp_path):
    class Half:
        def __float__(self):
            return 0.5

    key = tmp_path / "key"
    key.write_text("k\n")
    key.chmod(0o600)
    options = {"base_url": "https://example.com", "project_id": "p"}
    assert agentjob.Client(api_key_file=key, timeout=5, **options).timeout == 5.0
    assert agentjob.Client(api_key_file=str(key), timeout=Half(), **options).timeout == 0.5
    assert agentjob.Client(api_key_file=Path(key), max_retries=0, max_retry_after=0, **options).max_retries == 0
    assert agentjob.Client(api_key="k", on_event=None, **options).max_retries == 2


def test_a_wrong_emulator_configuration_is_explained():
    with pytest.raises(TypeError, match="work"):
        Emulator(work=1)
    with pytest.raises(agentjob.InvalidArgumentError, match="nht: unknown field"):
        Emulator(rules=[{"nht": 1}])
    with Emulator() as emulator, pytest.raises(agentjob.InvalidArgumentError, match="rules"):
        emulator.reset(rules=[{"nth": 0}])


def interrupt(*_):
    raise KeyboardInterrupt


def that_raises_in(*names):
    """An object with these methods and properties."""
    return type("Own", (), {name: property(interrupt) if name in ("keys", "__class__") else interrupt for name in names})()


def prompts():
    yield "go"
    raise KeyboardInterrupt


class Name(str):
    __str__ = interrupt


class Number:
    """One that no integer of the core can hold."""

    def __index__(self):
        return 10**30

    __lt__ = interrupt


class Extra(dict):
    """One that is no JSON."""

    def items(self):
        raise type("Own", (TypeError,), {"__str__": interrupt})


HEADERS = type("Headers", (), {"keys": list, "items": interrupt})()
#: Code of the program that runs while a call reads its arguments; Ctrl-C comes in it.
MESSAGES = {
    "the float of a timeout": {"timeout": that_raises_in("__float__")},
    "whether it is a mapping": {"headers": that_raises_in("keys")},
    "the items of a mapping": {"headers": HEADERS},
}
BATCHES = {
    "the path of the journal": {"journal": that_raises_in("__fspath__")},
    "the prompts of a generator": {"retry_prompts": prompts()},
    "the iterator of prompts": {"retry_prompts": that_raises_in("__iter__")},
    "a whole number": {"concurrency": that_raises_in("__index__")},
    "a number that is compared": {"concurrency": Number()},
    "the class of an item": {"items": [that_raises_in("__class__")]},
    "the error of an item's JSON": {"items": [{"job_id": "j", "prompt": "p", "extra": Extra(x=1)}]},
}


@pytest.mark.parametrize("method", ["send_message", "send_and_wait"])
@pytest.mark.parametrize("own", MESSAGES.values(), ids=MESSAGES)
def test_ctrl_c_in_the_programs_own_code_is_raised_and_the_message_was_not_sent(emulator, own, method):
    own = {"min_interval" if name == "timeout" and method == "send_and_wait" else name: given for name, given in own.items()}
    with pytest.raises(KeyboardInterrupt) as caught:
        getattr(emulator.client(), method)("job_demo", "go", **own)
    assert caught.value.delivery == "not_sent"
    assert caught.value.__notes__ == ["agentjob: the message was not sent, so it may be sent again"]


@pytest.mark.parametrize("own", BATCHES.values(), ids=BATCHES)
def test_ctrl_c_in_the_programs_own_code_is_raised_before_a_batch_begins(emulator, own, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        emulator.client().send_all(**{"items": [("job_demo", "go")], "journal": tmp_path / "journal", **own})
    assert not (tmp_path / "journal").exists()


@pytest.mark.parametrize("items", [that_raises_in("__iter__"), [that_raises_in("__index__")]])
def test_ctrl_c_in_the_programs_own_code_is_raised_by_a_decision(items, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        agentjob.batch_resolve(tmp_path / "journal", items, "resend")


def test_ctrl_c_in_the_programs_own_code_is_raised_by_a_new_client(emulator):
    for own in ({"ca_file": that_raises_in("__fspath__")}, {"max_retries": that_raises_in("__index__")}):
        with pytest.raises(KeyboardInterrupt):
            emulator.client(**own)


@pytest.mark.parametrize(("raised", "expected"), [(TimeoutError, TimeoutError), (LookupError, LookupError), (ValueError, TypeError)])
def test_the_exception_of_a_programs_own_code_is_raised_unless_it_says_that_the_argument_is_wrong(emulator, raised, expected):
    class Own:
        def __float__(self):
            raise raised("mine")

    with pytest.raises(expected, match="mine" if raised is expected else "timeout must be a number, not Own") as caught:
        emulator.client().send_message("job_demo", "go", timeout=Own())
    assert caught.value.delivery == "not_sent"


def test_the_name_of_an_option_is_read_without_the_programs_own_code(emulator):
    with pytest.raises(TypeError, match="unexpected keyword argument 'tmeout'"):
        emulator.client().get_job("job_demo", **{Name("tmeout"): 1})
