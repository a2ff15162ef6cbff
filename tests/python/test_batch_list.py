"""The list that a program gives to Client.send_all: what an item may be, its metadata, and messages that are in it twice."""

import collections
import logging
from types import MappingProxyType

import pytest

import agentjob
from agentjob.testing import Emulator


@pytest.fixture
def emulator():
    with Emulator(jobs=[{"id": f"job_{n}"} for n in range(1, 7)]) as emulator:
        yield emulator


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


def by_item(outcomes):
    return sorted(outcomes, key=lambda outcome: outcome["item"])


def sent(emulator):
    return sorted(message["prompt"] for message in emulator.ledger())


def test_items_are_mappings_or_tuples_of_any_iterable(client, emulator, journal):
    Message = collections.namedtuple("Message", "job_id prompt")

    def items():
        yield {"job_id": "job_1", "prompt": "a", "key": "one", "line": 3}
        yield collections.OrderedDict(prompt="b", job_id="job_2", key=None, line=None)
        yield MappingProxyType({"job_id": "job_3", "prompt": "c"})
        yield Message("job_4", "d")
        yield "job_5", "e", None

    outcomes = by_item(client.send_all(items(), journal=journal))
    assert [(o["item"], o["line"], o["job_id"]) for o in outcomes] == [
        (1, 3, "job_1"),
        (2, None, "job_2"),
        (3, None, "job_3"),
        (4, None, "job_4"),
        (5, None, "job_5"),
    ]
    assert outcomes[0]["key"] == "one" and sent(emulator) == list("abcde")
    assert list(client.send_all([], journal=journal.with_name("empty"))) == []


WRONG = [
    ({"job_id": "job_2"}, "item 2: prompt is missing"),
    ({"prompt": "p", "line": 9}, "line 9: job_id is missing"),
    ({"job_id": "job_2", "prompt": "p", "promt": "q"}, 'item 2: unknown field "promt". The fields are job_id, prompt, key, line and extra.'),
    ({"job_id": "job_2", "prompt": "p", 3: "q"}, "item 2: the name of a field must be a str, not int"),
    ({"job_id": "job_2", "prompt": b"p", "line": 17}, "line 17: prompt must be a str, not bytes"),
    ({"job_id": "job_2", "prompt": "\ud800"}, "item 2: prompt contains a lone surrogate, which cannot be encoded as UTF-8"),
    ({"job_id": "job_2", "prompt": "p", "line": True}, "item 2: line must be a whole number, not bool"),
    ({"job_id": "job_2", "prompt": "p", "line": 0}, "item 2: line is 0. Lines count from 1."),
    ({"job_id": "job_2", "prompt": "p", "key": 5}, "item 2: key must be a str, not int"),
    (("job_2",), "item 2: it has 1 parts. Give (job_id, prompt) or (job_id, prompt, key)."),
    (("job_2", "p", "a"), 'item 2: key "a" is also the key of item 1'),
    (("job_2", ""), "item 2: prompt is empty"),
    (("..", "p"), "item 2: job_id is"),
    ("job_2", "item 2: it must be a mapping or a tuple, not str"),
    (None, "item 2: it must be a mapping or a tuple, not NoneType"),
]


@pytest.mark.parametrize(("wrong", "sentence"), WRONG)
def test_a_wrong_item_is_named_and_nothing_is_sent(client, emulator, journal, wrong, sentence):
    with pytest.raises(agentjob.InvalidArgumentError) as caught:
        client.send_all([("job_1", "p", "a"), wrong], journal=journal)
    assert str(caught.value).startswith(sentence) and isinstance(caught.value, ValueError)
    assert emulator.requests()["total"] == 0 and not journal.exists()


def test_an_exception_of_an_items_own_code_is_raised_unchanged(client, journal):
    def items():
        yield "job_1", "p"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        client.send_all(items(), journal=journal)
    with pytest.raises(TypeError, match="items must be an iterable, not int"):
        client.send_all(3, journal=journal)


def test_metadata_of_an_item_comes_back_with_its_outcome_and_is_not_in_the_journal(client, emulator, journal):
    values = [{"an extra repo": "wéb", "n": [1, 2.5, None, True]}, "text", 0, 10**30, [], None]
    items = [{"job_id": f"job_{n}", "prompt": "p", "extra": value} for n, value in enumerate(values, 1)]
    outcomes = by_item(client.send_all(items, journal=journal))
    assert [outcome["extra"] for outcome in outcomes] == values
    assert b"extra" not in journal.read_bytes()
    items[1]["extra"] = "the list of the second run counts"
    again = by_item(client.send_all(items, journal=journal))
    assert all(outcome["earlier"] for outcome in again) and again[1]["extra"] == "the list of the second run counts"
    assert len(emulator.ledger()) == 6, "other metadata does not make another message"


class Unwritable:
    pass


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({1, 2}, "extra is not JSON: "),
        (Unwritable(), "extra is not JSON: "),
        (float("nan"), "extra is not JSON: "),
        ({(1, 2): 3}, "extra is not JSON: "),
        ("x" * 4095, "extra is 4097 bytes long. At most 4096 bytes of JSON are allowed."),
        ("\ud83d", "extra"),
    ],
    ids=["a set", "an object", "not a number", "a key that is no text", "too long", "a lone surrogate"],
)
def test_metadata_that_is_not_json_or_too_long_names_its_item(client, emulator, journal, value, reason):
    items = [{"job_id": "job_1", "prompt": "p"}, {"job_id": "job_2", "prompt": "p", "line": 7, "extra": value}]
    with pytest.raises(agentjob.InvalidArgumentError) as refusal:
        client.send_all(items, journal=journal)
    assert str(refusal.value).startswith(f"line 7: {reason}") and (refusal.value.item, refusal.value.line) == (2, 7)
    assert emulator.ledger() == [] and not journal.exists()


def test_metadata_that_refers_to_itself_names_its_item(client, journal):
    value = []
    value.append(value)
    with pytest.raises(agentjob.InvalidArgumentError, match="item 1: extra is not JSON: "):
        client.send_all([{"job_id": "job_1", "prompt": "p", "extra": value}], journal=journal)


def test_messages_that_are_in_the_list_twice_are_reported_before_anything_is_sent(client, emulator, journal, caplog):
    items = [("job_1", "p"), ("job_2", "p"), ("job_1", "p", "again"), {"job_id": "job_2", "prompt": "p", "line": 9}]
    updates = []

    def on_update(update):
        updates.append((update, len(emulator.ledger())))

    with caplog.at_level(logging.WARNING, "agentjob"):
        with client.send_all(items, journal=journal, on_update=on_update) as batch:
            assert len(updates) == 1, "send_all itself reports it"
            assert len(list(batch)) == 4
    assert len(updates) == 1, "once"
    update, sent_before = updates[0]
    progress = update.pop("progress")
    expected = {"event": "repeated", "count": 2, "item": 3, "line": None, "first_item": 1, "first_line": None}
    assert (update, sent_before, progress["left"]) == (expected, 0, 4)
    warnings = [record for record in caplog.records if record.levelname == "WARNING"]
    sentence = "batch: item 3 repeats item 1, with the same job and the same prompt, as does 1 other; each of them is sent"
    assert [record.getMessage() for record in warnings] == [sentence] and warnings[0].agentjob["count"] == 2


def test_an_exception_about_repeated_messages_leaves_all_of_them_unsent(client, emulator, journal):
    def refuse(update):
        raise ValueError(update["event"])

    with pytest.raises(ValueError, match="repeated"):
        client.send_all([("job_1", "p")] * 2, journal=journal, on_update=refuse)
    assert emulator.ledger() == [] and not journal.exists()
