"""Arguments that are made up: a call takes them, or refuses them with TypeError or an error of agentjob, in one line without the key.
This holds of a client and its objects, in asyncio too, of batches, and of steps. Of what a client itself sends, exactly the prompts that
were taken arrived.

The arguments are the same each time. AGENTJOB_TEST_CALLS (1500) says how many calls there are, AGENTJOB_TEST_SEED (1) which.
"""

import asyncio
import collections
import decimal
import fractions
import inspect
import os
import pathlib
import random
import re
import sys
import threading

from conftest import PATIENCE

import agentjob
import agentjob.aio
import agentjob.once
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
TEXTUAL = re.compile("job_id|prompt$|text|url|key|project|proxy|suffix|rate|resolution|format|journal|file|cert|store|state")
#: After so many seconds a call is cancelled that a made-up option lets last longer.
LONGEST = 0.5
#: The calls of a client each of which sends a message.
SENDS = ("send_message", "send_and_wait", "create_job")


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
    settings = {"base_url": emulator.base_url, "api_key": KEY, "project_id": "project", "trust_env": False}
    text, journal = client.poller("job_demo").to_text(), folder / "sent"
    batch = batch_client.send_all([("job_demo", "go")], journal=journal)
    assert [outcome["delivery"] for outcome in batch] == ["accepted"]
    once = agentjob.once.Once(batch_client, folder / "steps")
    job, items = {"job_id": "job_demo"}, [("job_demo", "go")]
    table = {
        "Client": (agentjob.Client, settings),
        "Emulator": (Emulator, {}),
        "Once": (agentjob.once.Once, {"client": batch_client, "store": folder / "steps"}),
        "Poller.poll": (client.poller("job_demo").poll, {}),
        "Batch.next_event": (batch.next_event, {"timeout": 0}),
        "batch_status": (agentjob.batch_status, {"journal": journal}),
        "batch_resolve": (agentjob.batch_resolve, {"journal": journal, "items": [1], "resolution": "arrived"}),
        "batch_retry": (agentjob.batch_retry, {"journal": journal, "items": [1]}),
        "batch_drop": (agentjob.batch_drop, {"journal": journal, "items": [1]}),
        "batch_report": (agentjob.batch_report, {"journal": journal}),
        "batch_export": (agentjob.batch_export, {"journal": journal}),
        "read_batch_list": (agentjob.read_batch_list, {"path": folder / "list.csv"}),
    }
    of_client = {
        "with_options": {},
        "send_message": {**job, "prompt": "go"},
        "send_and_wait": {**job, "prompt": "go", "min_interval": 0.01, "settle": 0.0},
        "create_job": {"prompt": "go"},
        "get_job": job,
        "wait": {"job_id": "job_done"},
        "watch": {"job_id": "job_done"},
        "poller": job,
        "resume": {"text": text},
    }
    of_steps = {
        "send_message": {"key": "night", **job, "prompt": "go"},
        "wait": {"key": "night"},
        "poller": {"key": "night"},
        "send_all": {"items": [(*items[0], "day")]},
        "resolve": {"key": "night", "resolution": "arrived"},
        "steps": {},
    }
    asynchronous = agentjob.aio.AsyncClient.of(client)
    batches_asynchronous = agentjob.aio.AsyncClient.of(batch_client)
    objects = [
        *((one, of_client) for one in (client, asynchronous)),
        *((one, {"send_all": {"items": items, "journal": folder / "new"}}) for one in (batch_client, batches_asynchronous)),
        *((one, of_steps) for one in (once, agentjob.once.AsyncOnce(batches_asynchronous, folder / "steps"))),
    ]
    for one, its_calls in objects:
        table |= {f"{type(one).__name__}.{name}": (getattr(one, name), right) for name, right in its_calls.items()}
    return table


async def awaited(function, arguments):
    """Performs a call of asyncio to its end, and returns its error, which asyncio would replace if it is a cancellation."""
    asyncio.get_running_loop().call_later(LONGEST, asyncio.current_task().cancel)
    try:
        made = function(**arguments)
        if isinstance(made, agentjob.aio.AsyncBatch):
            async with made:
                return [outcome async for outcome in made]
        if hasattr(made, "__aiter__"):
            return [item async for item in made]
        return await made if inspect.isawaitable(made) else made
    except BaseException as error:
        return error


def parameters_of(function):
    """The names of its parameters; of a client's before Python 3.10, only those that with_options has, too."""
    if function is agentjob.Client and sys.version_info < (3, 10):  # inspect reads no signature of such a class
        return [name for name in inspect.signature(agentjob.Client.with_options).parameters if name != "self"]
    return list(inspect.signature(function).parameters)


def perform(name, function, arguments):
    """Performs a call to its end, as a program does; raises its error."""
    if name.startswith("Async"):
        made = asyncio.run(awaited(function, arguments))
        if isinstance(made, BaseException):
            raise made
        return
    soon = agentjob.CancelToken()
    if "cancel" in parameters_of(function):
        arguments.setdefault("cancel", soon)
    timer = threading.Timer(LONGEST, soon.cancel)
    timer.start()
    try:
        made = function(**arguments)
        # A client made by with_options shares its connections with the first.
        if name in ("Client", "Emulator", "Client.send_all"):
            with made:
                pass
        elif name in ("Client.watch", "Once.send_all"):
            list(made)
    finally:
        timer.cancel()


def describe(argument):
    try:
        return ascii(argument)[:200]
    except Mine:
        return f"a {type(argument).__name__}"


def judge(name, arguments, error):
    """What must hold of an error that is not an argument's own."""
    shown = ", ".join(f"{parameter}={describe(argument)}" for parameter, argument in arguments.items())
    context = f"{name}({shown}) raised {type(error).__name__}: {error!s:.500}"
    # A made-up port may be taken, or be root's alone.
    allowed = (TypeError, agentjob.Error, OSError) if name == "Emulator" and "port" in arguments else (TypeError, agentjob.Error)
    assert isinstance(error, allowed), context
    assert not isinstance(error, agentjob.InternalError), context
    said = str(error)
    assert said.strip() and len(said) < 2000 and not set("\r\n") & set(said), context
    assert KEY not in said, context


def test_any_argument_is_taken_or_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    of = random.Random(SEED)
    (tmp_path / "list.csv").write_text("job_id,prompt\njob_demo,go\n")
    jobs = [{"id": "job_demo"}, {"id": "job_done", "status": "completed"}]
    service = {"api_key": KEY, "jobs": jobs, "work_ms": 0, "hourly_limit": 10**9}
    # What is sent here of a batch or of a step depends on the calls before.
    with Emulator(**service) as emulator, Emulator(**service) as batches:
        table = calls(emulator, batches, tmp_path)
        taken, unknown, refused = collections.Counter(), collections.Counter(), 0
        for _ in range(CALLS):
            name = of.choice(list(table))
            function, right = table[name]
            names = parameters_of(function)
            wrong = {parameter: made_up_for(of, parameter) for parameter in of.sample(names, min(len(names), of.randrange(3)))}
            arguments = {**right, **wrong}
            sends = name.split(".")[-1] in SENDS and name.split(".")[0] in ("Client", "AsyncClient")
            try:
                perform(name, function, arguments)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if not isinstance(error, (Mine, asyncio.CancelledError)):
                    judge(name, arguments, error)
                    refused += isinstance(error, (TypeError, agentjob.InvalidArgumentError))
                delivery = getattr(error, "delivery", None) if sends else None
                if delivery in ("accepted", "unknown"):
                    (taken if delivery == "accepted" else unknown)[str(arguments["prompt"])] += 1
            else:
                if sends:
                    taken[str(arguments["prompt"])] += 1
        assert refused > CALLS / 10 and taken
        arrived = collections.Counter(message["prompt"] for message in emulator.ledger())
        assert not taken - arrived and not arrived - taken - unknown
