"""Arguments that are made up: a call takes them, or refuses them with TypeError or an error of agentjob, in one line without the key; and
exactly what was taken arrived.

The arguments are the same each time. AGENTJOB_TEST_CALLS (1500) says how many calls there are, AGENTJOB_TEST_SEED (1) which.
"""

import decimal
import fractions
import inspect
import os
import pathlib
import random
import re

from conftest import PATIENCE

import agentjob
from agentjob.testing import Emulator

CALLS, SEED = (int(os.environ.get(f"AGENTJOB_TEST_{name}", default)) for name, default in (("CALLS", "1500"), ("SEED", "1")))
KEY = "adm_zebra7quilt4"
TEXTS = [
    *("", " ", "a", "job_demo", "http://", "https://", "127.0.0.1", "[::1]", ":8080", ":99999", "@", "user:password", "%41", "%zz", "?", "#", ".."),
    *("0", "-1", "1/h", "5/10s", "9" * 30, "\t", "\n", "\r\n", "\0", "\x7f", "\x85", "\u2028", "é", "€", "😀", "\ufeff", "\ud800", "{", '"', "[]"),
    *("X-Tenant", "Authorization", "Content-Length", "x" * 70_000),
]
NUMBERS = [0, 1, -1, 2, 0.5, 60, 1e-9, 1e308, float("nan"), float("inf"), -0.0, 2**31, 2**63, 2**64, 10**400, -(10**400), True, False, 1j]


class Mine(Exception):
    """Raised by an argument."""


class Hostile:
    """Whatever is done with it raises."""

    def raise_mine(self, *_):
        raise Mine

    __fspath__ = __str__ = __repr__ = __int__ = __float__ = __index__ = __bool__ = __len__ = __iter__ = __eq__ = __call__ = raise_mine
    keys = items = __getitem__ = raise_mine
    __hash__ = None


def made_up(of, depth=0):
    """One argument."""
    text = "".join(of.choice(TEXTS) for _ in range(of.randrange(1, 4)))
    some = [
        lambda: text,
        lambda: text,
        lambda: of.choice(NUMBERS),
        lambda: of.choice([None, ..., object, print, len, decimal.Decimal("1.5"), fractions.Fraction(1, 3), range(3)]),
        lambda: text.encode("utf-8", "surrogatepass"),
        lambda: bytearray(b"x"),
        lambda: pathlib.Path("x") / text.replace("/", ""),
        lambda: type("Text", (str,), {})(text),
        lambda: type("Number", (int,), {})(7),
        lambda: agentjob.CancelToken(),
        Hostile,
    ]
    if depth < 2:
        some += [
            lambda: [made_up(of, depth + 1) for _ in range(of.randrange(3))],
            lambda: tuple(made_up(of, depth + 1) for _ in range(of.randrange(4))),
            lambda: {text: made_up(of, depth + 1)},
            lambda: {"job_id": "job_demo", "prompt": made_up(of, depth + 1)},
            lambda: iter([made_up(of, depth + 1)]),
        ]
    return of.choice(some)()


NUMERIC = re.compile("timeout|interval|lateness|settle|max_|grace|concurrency|outage")
TEXTUAL = re.compile("job_id|prompt$|text|url|key|project|proxy|suffix|rate|resolution|format|journal|file|cert")


def made_up_for(of, parameter):
    """More often than not one of the right type."""
    if of.random() < 0.4:
        return made_up(of)
    if NUMERIC.search(parameter):
        return of.choice(NUMBERS)
    if TEXTUAL.search(parameter):
        return "".join(of.choice(TEXTS) for _ in range(of.randrange(1, 3)))
    return of.choice([None, True, False, [("job_demo", "go")], {"X-Tenant": of.choice(TEXTS)}, [1, "all"], "all", print])


def calls(emulator, batches, folder):
    """{name: (the function, arguments that it takes)}"""
    client, batch_client = emulator.client(timeout=PATIENCE), batches.client(timeout=PATIENCE)
    token = agentjob.CancelToken()
    settings = {"base_url": emulator.base_url, "api_key": KEY, "project_id": "project", "trust_env": False}
    text, journal = client.poller("job_demo").to_text(), folder / "sent"
    assert [outcome["delivery"] for outcome in batch_client.send_all([("job_demo", "go")], journal=journal)] == ["accepted"]
    return {
        "Client": (agentjob.Client, settings),
        "with_options": (client.with_options, {}),
        "send_message": (client.send_message, {"job_id": "job_demo", "prompt": "go", "cancel": token}),
        "create_job": (client.create_job, {"prompt": "go"}),
        "get_job": (client.get_job, {"job_id": "job_demo"}),
        "wait": (client.wait, {"job_id": "job_done"}),
        "poller": (client.poller, {"job_id": "job_demo"}),
        "resume": (client.resume, {"text": text}),
        "send_all": (batch_client.send_all, {"items": [("job_demo", "go")], "journal": folder / "new"}),
        "batch_status": (agentjob.batch_status, {"journal": journal}),
        "batch_resolve": (agentjob.batch_resolve, {"journal": journal, "items": [1], "resolution": "arrived"}),
        "batch_export": (agentjob.batch_export, {"journal": journal}),
    }


def describe(argument):
    try:
        return ascii(argument)[:200]
    except Mine:
        return f"a {type(argument).__name__}"


def judge(name, arguments, error):
    """What must hold of an error that is not an argument's own."""
    shown = ", ".join(f"{parameter}={describe(argument)}" for parameter, argument in arguments.items())
    context = f"{name}({shown}) raised {type(error).__name__}: {error!s:.500}"
    assert isinstance(error, (TypeError, agentjob.Error)), context
    assert not isinstance(error, agentjob.InternalError), context
    said = str(error)
    assert said.strip() and len(said) < 2000 and "\n" not in said, context
    assert KEY not in said, context


def test_any_argument_is_taken_or_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    of = random.Random(SEED)
    jobs = [{"id": "job_demo"}, {"id": "job_done", "status": "completed"}]
    service = {"api_key": KEY, "jobs": jobs, "work_ms": 0, "hourly_limit": 10**9}
    # A batch begins to send when it is made, so what arrives of it before it is closed is not known here.
    with Emulator(**service) as emulator, Emulator(**service) as batches:
        table = calls(emulator, batches, tmp_path)
        taken = unknown = refused = 0
        for _ in range(CALLS):
            name = of.choice(list(table))
            function, right = table[name]
            names = list(inspect.signature(function).parameters)
            wrong = {parameter: made_up_for(of, parameter) for parameter in of.sample(names, min(len(names), of.randrange(3)))}
            arguments = {**right, **wrong}
            try:
                made = function(**arguments)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if not isinstance(error, Mine):
                    judge(name, arguments, error)
                    refused += isinstance(error, (TypeError, agentjob.InvalidArgumentError))
                delivery = getattr(error, "delivery", None)
                taken += delivery == "accepted"
                unknown += delivery == "unknown"
            else:
                taken += name in ("send_message", "create_job")
                # A client made by with_options shares its connections with the first.
                if isinstance(made, agentjob.Batch) or name == "Client":
                    made.close()
        assert refused > CALLS / 10 and taken > 0
        assert taken <= len(emulator.ledger()) <= taken + unknown
