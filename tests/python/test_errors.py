"""The tree of errors, and what each of them carries."""

import copy
import json
import math
import pickle
import socket
import sys
import traceback

import pytest

import agentjob
from agentjob.testing import Emulator
from conftest import QUICK

TREE = {
    "InvalidArgumentError": ("invalid_argument", ("Error", ValueError)),
    "ConnectError": ("connect", ("Error", ConnectionError)),
    "TlsError": ("tls", ("ConnectError",)),
    "ConnectionLostError": ("connection_lost", ("Error", ConnectionError)),
    "RequestTimeoutError": ("timeout", ("Error", TimeoutError)),
    "CancelledError": ("cancelled", ("Error",)),
    "ClosedError": ("closed", ("Error",)),
    "AuthenticationError": ("authentication", ("StatusError",)),
    "PermissionDeniedError": ("permission_denied", ("StatusError",)),
    "NotFoundError": ("not_found", ("StatusError",)),
    "ConflictError": ("conflict", ("StatusError",)),
    "RateLimitError": ("rate_limit", ("StatusError",)),
    "BadRequestError": ("bad_request", ("StatusError",)),
    "ServerError": ("server", ("StatusError",)),
    "RedirectError": ("redirect", ("StatusError",)),
    "InvalidResponseError": ("invalid_response", ("Error",)),
    "WaitTimeoutError": ("wait_timeout", ("Error", TimeoutError)),
    "JobFailedError": ("job_failed", ("Error",)),
    "InternalError": ("internal", ("Error",)),
    "JournalError": ("journal", ("Error",)),
    "StepInFlightError": ("step_in_flight", ("RequestTimeoutError",)),
    "StoreError": ("store", ("Error",)),
}

FACTS = (
    *("kind", "message", "reason", "hint", "delivery", "http_status", "retry_after", "request_id", "body", "attempts"),
    *("elapsed", "job", "item", "line"),
)


def facts(error):
    return {name: getattr(error, name) for name in FACTS}


def raised(call, *arguments, **options):
    with pytest.raises(agentjob.Error) as caught:
        call(*arguments, **options)
    return caught.value


def test_the_tree_is_the_documented_one():
    classes = {name for name in agentjob.errors.__all__ if name not in ("Error", "StatusError")}
    assert classes == set(TREE)
    assert {kind for kind, _ in TREE.values()} == {*agentjob._native.error_kinds(), "job_failed", "step_in_flight", "store"}
    for name, (kind, bases) in TREE.items():
        cls = getattr(agentjob, name)
        assert cls.kind == kind
        assert cls.__bases__ == tuple(getattr(agentjob, b) if isinstance(b, str) else b for b in bases), name
        assert cls.__doc__


@pytest.mark.parametrize("name", agentjob.errors.__all__)
def test_every_error_pickles_and_copies_with_everything(name):
    error = getattr(agentjob, name)("what failed")
    for fact in FACTS:
        if fact != "message":
            setattr(error, fact, {"job": {"id": "a"}}.get(fact, f"the {fact}"))
    trips = [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in [*trips, copy.copy(error), copy.deepcopy(error)]:
        assert type(other) is type(error)
        assert facts(other) == facts(error)
        assert str(other) == other.message == "what failed" and repr(other) == f"{name}('what failed')"


def rebuilt(error):
    """An error after the trip through a JSON result backend, which keeps the class and the args: Celery's, in its own steps."""
    stored = json.dumps({"type": type(error).__name__, "module": type(error).__module__, "message": error.args})
    found = json.loads(stored)
    return getattr(agentjob.errors, found["type"])(*found["message"])


@pytest.mark.parametrize("name", agentjob.errors.__all__)
def test_an_error_rebuilt_from_its_args_keeps_everything(name):
    error = getattr(agentjob, name)("what failed")
    for fact in FACTS[2:]:
        setattr(error, fact, {"job": {"id": "a"}, "delivery": "rejected"}.get(fact, f"the {fact}"))
    other = rebuilt(error)
    assert type(other) is type(error) and facts(other) == facts(error) == error.to_dict() == other.to_dict()
    assert str(other) == "what failed" and getattr(other, "errno", None) is None


@pytest.mark.parametrize(("status", "delivery"), [(400, "rejected"), (503, "unknown"), (200, "accepted")])
def test_the_verdict_survives_celerys_json_backend(status, delivery):
    base = pytest.importorskip("celery.backends.base")
    backend = base.Backend(pytest.importorskip("celery").Celery("test", set_as_current=False), serializer="json")
    with Emulator(rules=[{"status": status, "body": "{"}]) as emulator:
        error = raised(emulator.client(max_retries=0).send_message, "job_demo", "go")
    stored = json.loads(json.dumps(backend.prepare_exception(error)))
    other = backend.exception_to_python(stored)
    assert type(other) is type(error) and facts(other) == facts(error) and other.delivery == delivery


def test_the_verdict_survives_ray_which_subclasses_the_class_and_sets_the_cause():
    class TaskError(Exception):
        pass

    class Raised(TaskError, agentjob.ServerError):
        def __init__(self, cause):
            self.cause = cause

    error = agentjob.ServerError("what failed")
    error.delivery, error.http_status = "unknown", 503
    again = Raised(error)
    assert (again.delivery, again.http_status, again.kind, again.cause) == ("unknown", 503, "server", error)
    assert error.cause is None and agentjob.ServerError().cause is None


def test_its_dict_is_strict_json_whatever_numbers_the_record_has():
    record = '{"id":"job_demo","status":"active","big":1e999,"list":[{"small":-1E999}, 1.5, true]}'
    with Emulator(rules=[{"status": 200, "body": record}]) as emulator:
        error = raised(emulator.client().wait, "job_demo", timeout=2, min_interval=0.1)
    assert error.job["big"] == math.inf
    largest = sys.float_info.max
    job = json.loads(json.dumps(error.to_dict(), allow_nan=False))["job"]
    assert (job["big"], job["list"]) == (largest, [{"small": -largest}, 1.5, True])
    assert pickle.loads(pickle.dumps(error)).to_dict() == error.to_dict()


def test_an_error_whose_facts_a_serializer_changed_is_unknown_not_none():
    assert agentjob.ServerError("what failed", "{'kind': 'server', …}").delivery == "unknown"
    assert agentjob.ServerError("what failed", None).delivery is None


def test_reason_and_hint_are_parts_of_the_sentence_and_a_dict_has_them_all():
    with Emulator(rules=[{"status": 401, "json": {"error": "expired"}}]) as emulator:
        error = raised(emulator.client().send_message, "job_demo", "go")
    assert "401" in error.reason and "job_demo" not in error.reason and error.reason in str(error)
    assert error.hint and "key" in error.hint and "sent" not in error.reason
    assert json.loads(json.dumps(error.to_dict())) == facts(error)


def test_the_advice_is_in_the_hint_and_not_in_the_reason(emulator, tmp_path):
    def send_all(item):
        return lambda: emulator.client().send_all([item], journal=tmp_path / "run")

    rows = [
        (send_all(("job_2",)), "it has 1 parts", "Give (job_id, prompt) or (job_id, prompt, key)."),
        (send_all({"job_id": "a", "promt": "p"}), 'unknown field "promt"', "The fields are job_id, prompt, key, line and extra."),
        (lambda: agentjob.aio.AsyncClient(max_threads=0), "max_threads is 0", "Give a number from 1 to 1024."),
    ]
    for call, reason, hint in rows:
        error = raised(call)
        assert (error.reason, error.hint) == (reason, hint) and str(error).endswith(f"{reason}. {hint}")


def test_an_error_about_an_item_has_its_number_and_its_line(emulator, tmp_path):
    wrong = {"job_id": "job_1", "prompt": "", "line": 7}
    error = raised(emulator.client().send_all, [("job_1", "go"), wrong], journal=tmp_path / "run")
    assert (error.item, error.line) == (2, 7) and str(error).startswith("line 7: ")
    error = raised(emulator.client().send_all, [("job_1", "go"), ("job_1", "")], journal=tmp_path / "run")
    assert (error.item, error.line) == (2, None) and str(error).startswith("item 2: ")


def test_a_kind_without_a_class_is_an_internal_error_with_its_text(emulator, monkeypatch):
    monkeypatch.delitem(agentjob.errors.BY_KIND, "not_found")
    error = raised(emulator.client().get_job, "unknown")
    assert type(error) is agentjob.InternalError and error.http_status == 404 and "unknown" in str(error)


def test_args_can_be_set_as_those_of_any_exception():
    error = agentjob.ServerError("what failed")
    error.delivery = "unknown"
    error.args = ("in the night run: what failed", *error.args[1:])
    assert str(error) == "in the night run: what failed" and error.delivery == "unknown"


STATUSES = [
    (301, "RedirectError", "unknown"),
    (308, "RedirectError", "rejected"),
    (400, "BadRequestError", "rejected"),
    (401, "AuthenticationError", "rejected"),
    (403, "PermissionDeniedError", "rejected"),
    (404, "NotFoundError", "rejected"),
    (409, "ConflictError", "rejected"),
    (422, "BadRequestError", "rejected"),
    (429, "RateLimitError", "rejected"),
    (500, "ServerError", "unknown"),
    (503, "ServerError", "unknown"),
]


@pytest.mark.parametrize(("status", "name", "delivery"), STATUSES)
def test_every_status_raises_its_class_with_its_facts(status, name, delivery):
    headers = {"X-Request-Id": "req_77", "Retry-After": "1.5" if status != 429 else "7200", "Location": "/x"}
    rule = {"status": status, "headers": headers, "json": {"error": "not today"}}
    with Emulator(rules=[rule]) as emulator:
        error = raised(emulator.client(max_retries=0).send_message, "job_demo", "go")
    assert type(error) is getattr(agentjob, name) and isinstance(error, agentjob.StatusError)
    assert (error.http_status, error.delivery, error.request_id) == (status, delivery, "req_77")
    assert error.attempts == 1 and 0 < error.elapsed < 20 and error.job is None
    assert "not today" in error.body and "not today" in str(error)
    assert "job_demo" in str(error)
    if status == 429:
        assert error.retry_after == 7200.0 and type(error.retry_after) is float
    assert facts(pickle.loads(pickle.dumps(error))) == facts(error)


NOTES = {
    "not_sent": "agentjob: the message was not sent, so it may be sent again",
    "rejected": "agentjob: the service rejected the message; fix the cause, then send it again",
    "unknown": "agentjob: the message may have arrived; check the job before you send it again",
    "accepted": "agentjob: the message was accepted; do not send it again",
}


def test_a_note_explains_the_verdict_and_is_pickled_with_the_error():
    for verdict, rule in {
        "not_sent": None,
        "rejected": {"status": 400},
        "unknown": {"status": 500},
        "accepted": {"status": 200, "body": "{"},
    }.items():
        with Emulator(rules=[rule] if rule else []) as emulator:
            client = emulator.client(max_retries=0)
            if rule is None:
                emulator.stop()
            error = raised(client.send_message, "job_demo", "go")
        assert (error.delivery, error.__notes__) == (verdict, [NOTES[verdict]])
        assert pickle.loads(pickle.dumps(error)).__notes__ == copy.copy(error).__notes__ == [NOTES[verdict]]
        if hasattr(error, "add_note"):
            assert NOTES[verdict] in "".join(traceback.format_exception(type(error), error, None))
    with Emulator(rules=[{"status": 404}]) as emulator:
        assert not hasattr(raised(emulator.client().get_job, "job_demo"), "__notes__"), "nothing was to be delivered"


def test_an_exception_has_the_verdict_of_the_call_that_it_left_last(emulator):
    emulator.reset(work_ms=60_000, jobs=[{"id": "a"}, {"id": "b"}], rules=[{"path": "/v2/agent/*/job/b/message", "status": 503}])
    client = emulator.client()
    other = raised(client.send_and_wait, "a", "go", on_update=lambda job: client.send_message("b", "go"))
    assert (other.delivery, str(other).partition(":")[0]) == ("accepted", "message to job b may have arrived")
    around = "agentjob: about the call that raised this: the message was accepted; do not send it again"
    assert other.__notes__ == [NOTES["unknown"], around]

    class Mine(Exception):
        delivery = {"of": "mine"}

    def on_update(job):
        raise mine

    mine = Mine()
    for _ in range(3):
        with pytest.raises(Mine):
            client.send_and_wait("a", "go", on_update=on_update)
    assert mine.delivery == {"of": "mine"} and mine.__notes__ == [around], "and it is said once"


def test_a_program_that_decides_by_delivery_is_not_misled_by_a_callback_that_failed_to_send(emulator):
    nowhere = agentjob.Client(base_url="http://127.0.0.1:1", api_key="k", project_id="p", trust_env=False, max_retries=0)

    def audit(event):
        if event["event"] == "response":
            nowhere.send_message("job_audit", "a message was sent")

    errors = []
    while not errors or (errors[-1].delivery == "not_sent" and len(errors) < 3):
        errors.append(raised(emulator.client(on_event=audit).send_message, "job_demo", "once"))
    assert [message["prompt"] for message in emulator.ledger()] == ["once"]
    assert errors[0].__notes__ == [NOTES["not_sent"], "agentjob: about the call that raised this: the message was accepted; do not send it again"]


def test_an_exception_that_a_callback_raises_in_several_calls_has_the_verdict_of_the_last_one(emulator):
    stop = RuntimeError("of the program")
    for when, verdict in (("attempt", "not_sent"), ("response", "accepted")) * 2:

        def on_event(event, when=when):
            if event["event"] == when:
                raise stop

        with pytest.raises(RuntimeError):
            emulator.client(on_event=on_event).send_message("job_demo", when)
        assert stop.delivery == verdict and stop.__notes__[-1].endswith(NOTES[verdict].partition(": ")[2])
    assert len(stop.__notes__) == 3
    assert [message["prompt"] for message in emulator.ledger()] == ["response", "response"]


@pytest.mark.parametrize("own", [property(lambda _: "not_sent"), property(lambda _: 1 / 0), {"of": "mine"}], ids=["verdict", "raises", "dict"])
def test_an_exception_whose_class_has_its_own_delivery_gets_the_note(emulator, own):
    class Mine(Exception):
        delivery = own

    def on_event(event):
        if event["event"] == "response":
            raise Mine

    with pytest.raises(Mine) as mine:
        emulator.client(on_event=on_event).send_message("job_demo", "go")
    assert mine.value.__notes__[-1].endswith("the message was accepted; do not send it again")


FAULTS = [
    ({"fault": {"do": "close", "at": "request"}}, "ConnectionLostError", "unknown", {}),
    ({"fault": {"do": "reset", "at": "request", "process": True}}, "ConnectionLostError", "unknown", {}),
    ({"fault": {"do": "stall", "at": "request"}}, "RequestTimeoutError", "unknown", {"timeout": 1.5}),
    ({"status": 200, "body": "<html>"}, "InvalidResponseError", "accepted", {}),
    ({"raw": "garbage\r\n\r\n"}, "InvalidResponseError", "unknown", {}),
]


@pytest.mark.parametrize(("rule", "name", "delivery", "options"), FAULTS)
def test_every_broken_response_raises_its_class(rule, name, delivery, options):
    with Emulator(rules=[rule]) as emulator:
        error = raised(emulator.client().send_message, "job_demo", "go", **options)
    assert type(error) is getattr(agentjob, name)
    assert error.delivery == delivery
    assert len([m for m in emulator.ledger()]) <= 1


def test_a_port_without_a_listener():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        client = agentjob.Client(base_url=url, api_key="k", project_id="p", trust_env=False, max_retries=0)
        error = raised(client.send_message, "job_demo", "go")
    assert type(error) is agentjob.ConnectError and isinstance(error, ConnectionError) and isinstance(error, OSError)
    assert error.delivery == "not_sent" and error.errno is None
    assert facts(pickle.loads(pickle.dumps(error))) == facts(error)


def test_a_server_that_speaks_no_tls(emulator):
    url = emulator.base_url.replace("http:", "https:")
    error = raised(emulator.client(base_url=url).send_message, "job_demo", "go", timeout=5)
    assert type(error) is agentjob.TlsError and isinstance(error, agentjob.ConnectError)
    assert error.delivery == "not_sent"


def test_a_wait_that_times_out_carries_the_last_record(client):
    error = raised(client.wait, "job_busy", timeout=2, **QUICK)
    assert type(error) is agentjob.WaitTimeoutError and isinstance(error, TimeoutError)
    assert error.job["id"] == "job_busy" and error.job["status"] == "active"
    assert error.delivery is None and " polls: " in str(error)
    assert facts(copy.copy(error)) == facts(error)


def test_a_get_has_no_verdict(client):
    assert raised(client.get_job, "nobody").delivery is None


def test_once_a_message_is_accepted_every_error_of_the_wait_says_so(emulator):
    emulator.reset(work_ms=60_000)
    error = raised(emulator.client().send_and_wait, "job_demo", "go", timeout=0.1, **QUICK)
    assert type(error) is agentjob.WaitTimeoutError and error.delivery == "accepted"


def test_a_cancelled_call_has_the_delivery_verdict():
    token = agentjob.CancelToken()
    token.cancel()
    with Emulator() as emulator:
        error = raised(emulator.client().send_message, "job_demo", "go", cancel=token)
        assert token.cancelled and emulator.ledger() == []
    assert type(error) is agentjob.CancelledError and error.delivery == "not_sent"


def test_standard_classes_catch_ours(client):
    with pytest.raises(TimeoutError):
        client.wait("job_busy", timeout=0.02, **QUICK)
    with pytest.raises(ValueError):
        client.get_job("")


def test_a_subclass_may_have_its_own_text_that_reads_args():
    class Mine(agentjob.Error):
        def __str__(self):
            return f"[{self.args[0]}]"

    error = Mine("why")
    assert (str(error), error.message, error.to_dict()["message"]) == ("[why]", "why", "why")


@pytest.mark.parametrize("facts", [{}, {"delivery": "sent!"}, {"delivery": ["unknown"]}, "a text", 5])
def test_an_error_rebuilt_without_a_verdict_may_have_delivered(facts):
    assert agentjob.ServerError("why", facts).delivery == "unknown"
