"""`agentjob batch resolve`, `retry`, `drop` and `export`, as processes of their own."""

import json
import shlex

import pytest

from test_cli import run
from test_cli_batch import folder, service  # noqa: F401, a fixture
from test_batch_decisions import RULES

REJECTED = {"method": "POST", "path": "/v2/agent/*/job/job_5/message", "nth": 1, "status": 422}


@pytest.fixture
def emulator(folder):  # noqa: F811
    """A service, and a batch of five: 1 is accepted, 2 and 3 unknown, 4 (with the key tests) and 5 rejected."""
    with open("messages.jsonl", "w") as file:
        for n in range(1, 6):
            item = {"job_id": f"job_{n}", "prompt": f"message {n}", **({"key": "tests"} if n == 4 else {})}
            file.write(json.dumps(item) + "\n")
    with service(5, rules=[*RULES, REJECTED]) as emulator:
        status, out, _ = run(emulator, "batch", "run", "messages.jsonl", "--journal", "night", "--concurrency", "1")
        assert status == 5 and [json.loads(line)["delivery"] for line in out.splitlines()] == [
            "accepted", "unknown", "unknown", "rejected", "rejected"
        ]
        yield emulator


def command(line, emulator=None):
    """The status and output of a command, as a person types it."""
    status, out, err = run(emulator, *shlex.split(line)[1:])
    return status, out, err


def next_steps(out):
    """The commands that the status says are next."""
    lines = out.partition("\nnext:\n")[2].splitlines()
    return [line.partition("  # ")[0].strip() for line in lines]


def test_a_night_is_put_right_with_the_commands_that_the_status_prints(emulator):
    status, out, _ = command("agentjob batch status night")
    assert status == 5
    steps = next_steps(out)
    assert steps == [
        "agentjob batch resolve night 2 3 --check",
        "agentjob batch resolve night 2 3 --arrived",
        "agentjob batch resolve night 2 3 --not-arrived",
        "agentjob batch resolve night 2 3 --resend",
        "agentjob batch retry night 4 5",
        "agentjob batch drop night 4 5",
    ]
    with open("night") as journal:
        before = journal.read()
    status, out, _ = command(steps[0], emulator)
    shown = [json.loads(line) for line in out.splitlines()]
    assert status == 0 and [(message["item"], message["job"]["id"]) for message in shown] == [(2, "job_2"), (3, "job_3")]
    with open("night") as journal:
        assert journal.read() == before, "--check decides nothing by itself"
    assert command("agentjob batch resolve night 2 --arrived") == (0, "item 2 (job_2): arrived\n", "")
    status, out, _ = command("agentjob batch resolve night all --not-arrived")
    assert (status, out) == (0, "item 3 (job_3): not_arrived\n1 message to send, by: agentjob batch run FILE --journal night\n")
    status, out, _ = command("agentjob batch status night")
    assert status == 6 and "\ndecided:\n  item 2: arrived (job_2), " in out, "a message is left to send"
    with open("better.txt", "w") as file:
        file.write("a better message\n")
    status, out, _ = command("agentjob batch retry night tests --prompt-file better.txt")
    assert status == 0 and out.endswith("1 message to send, by: agentjob batch run FILE --journal night --prompt-file better.txt\n")
    assert command("agentjob batch drop night 5")[:2] == (0, "item 5 (job_5): drop\n")
    status, out, _ = command("agentjob batch status night")
    assert status == 6 and next_steps(out) == ["agentjob batch run FILE --journal night --prompt-file FILE"]
    assert "5 messages: 2 accepted, 1 dropped, 2 left\n" in out
    status, out, err = command("agentjob batch run messages.jsonl --journal night", emulator)
    assert (status, out) == (2, "") and "messages.jsonl, line 4: journal" in err and "(retry_prompts, or --prompt-file)" in err
    status, out, _ = command("agentjob batch run messages.jsonl --journal night --prompt-file better.txt", emulator)
    assert status == 0 and len(out.splitlines()) == 4
    sent = sorted(message["prompt"] for message in emulator.ledger())
    assert sent == ["a better message", "message 1", "message 2", "message 3"]
    assert command("agentjob batch status night")[0] == 0


@pytest.mark.parametrize("line, error", [
    ("resolve night 2", "give --check, or one of --arrived, --not-arrived and --resend"),
    ("resolve night --arrived", "ITEM"),
    ("resolve night 2 --arrived --resend", "not allowed with"),
    ("resolve night 2 9 --arrived", "item 9 is not in the journal"),
    ("resolve night 2 1 --arrived", "item 1 cannot be decided: its message was accepted"),
    ("resolve night 4 --arrived", "item 4 cannot be decided: its message was rejected, so it did not arrive"),
    ("resolve night 2 2 --arrived", "item 2 is named twice"),
    ("resolve night all 2 --arrived", "all is given together with items"),
    ("retry night 2", "item 2 cannot be decided: its message was not rejected"),
    ("retry night 4 --prompt-file empty", "prompt is empty"),
    ("retry night 4 --prompt-file nowhere", "nowhere cannot be read: No such file or directory"),
    ("retry night 4 tests", 'item 4 and item "tests" are the same item'),
    ("drop night key:4", 'item "4" is not in the journal'),
    ("drop night 18446744073709551615", "item 18446744073709551615 is not in the journal"),
    ("drop night 18446744073709551616", 'item "18446744073709551616" is not in the journal'),
    ("export night", "--csv"),
])
def test_wrong_usage_is_named_and_nothing_is_written(emulator, line, error):
    with open("empty", "w") as file:
        file.write("\n")
    with open("night") as journal:
        before = journal.read()
    status, out, err = command(f"agentjob batch {line}")
    with open("night") as journal:
        assert (status, out, journal.read()) == (2, "", before)
    assert error in err and "Traceback" not in err


def test_dropping_the_rejected_ones_is_never_suggested_so_that_it_drops_the_unknown_ones(folder):  # noqa: F811
    """More than a command names one by one are `all`, and `drop all` is about both."""
    with open("many.jsonl", "w") as file:
        for n in range(1, 25):
            file.write(json.dumps({"job_id": "job_2" if n == 1 else f"gone_{n}", "prompt": "message"}) + "\n")
    with service(5, rules=RULES) as emulator:
        assert run(emulator, "batch", "run", "many.jsonl", "--journal", "many")[0] == 5
        for rejected in (command("agentjob batch status many")[1], command("agentjob batch report many -o -")[1]):
            assert "agentjob batch retry many all" in rejected and "batch drop" not in rejected
        assert command("agentjob batch resolve many 1 --arrived")[0] == 0
    for rejected in (command("agentjob batch status many")[1], command("agentjob batch report many -o -")[1]):
        assert "agentjob batch drop many all" in rejected


def test_the_command_after_a_decision_has_the_flags_of_the_last_run(folder):  # noqa: F811
    with open("one.jsonl", "w") as file:
        file.write('{"job_id": "gone", "prompt": "message"}\n')
    with service(5) as emulator:
        assert run(emulator, "batch", "run", "one.jsonl", "--journal", "one", "--wait", "--rate", "5/s")[0] == 3
        assert command("agentjob batch resolve one all --check", emulator) == (
            0, "", "agentjob: no message may have arrived: there is nothing to check\n"
        )
    expected = "1 message to send, by: agentjob batch run FILE --journal one --rate 5/s --wait\n"
    assert command("agentjob batch retry one 1")[1].endswith(expected)


def test_a_journal_that_cannot_be_decided_about_is_a_failure(emulator, folder):  # noqa: F811
    for line in ("drop nowhere all", "retry messages.jsonl 1"):
        status, out, err = command(f"agentjob batch {line}")
        assert (status, out) == (3, "") and err.startswith("agentjob: journal ") and err.count("\n") == 1
    assert not (folder / "nowhere").exists()


def test_the_command_after_a_decision_names_the_files_of_all_new_prompts(emulator, folder):  # noqa: F811
    """Without one of them that run would refuse to begin."""
    for name in ("one.txt", "two.txt"):
        (folder / name).write_text(f"the prompt in {name}")
    for decision, prompts in [
        ("retry night 4 --prompt-file one.txt", " --prompt-file one.txt"),
        ("retry night 4", " --prompt-file FILE"),
        ("resolve night 2 --not-arrived", " --prompt-file FILE"),
        ("retry night 5 --prompt-file two.txt", " --prompt-file two.txt --prompt-file FILE"),
        ("retry night 5", " --prompt-file FILE"),
    ]:
        status, out, err = command(f"agentjob batch {decision}")
        assert status == 0 and out.endswith(f"1 message to send, by: agentjob batch run FILE --journal night{prompts}\n"), (decision, out, err)
    files = ("--prompt-file", "one.txt", "--prompt-file", "two.txt")
    assert run(emulator, "batch", "run", "messages.jsonl", "--journal", "night", *files)[0] == 5
    assert sorted(message["prompt"] for message in emulator.ledger())[-2:] == ["the prompt in one.txt", "the prompt in two.txt"]


def test_the_byte_order_mark_before_the_prompt_in_a_file_is_not_sent(emulator, folder):  # noqa: F811
    (folder / "better.txt").write_bytes("\ufeffa better message\r\n".encode())
    assert command("agentjob batch retry night 5 --prompt-file better.txt")[0] == 0
    assert command("agentjob batch run messages.jsonl --journal night --prompt-file better.txt", emulator)[0] == 5
    assert emulator.ledger()[-1]["prompt"] == "a better message"


def test_a_key_of_more_digits_than_a_number_has_is_a_key(folder):  # noqa: F811
    with open("one.jsonl", "w") as file:
        file.write('{"job_id": "gone", "prompt": "message", "key": "20261125000000000000000001"}\n')
    with service(5) as emulator:
        assert run(emulator, "batch", "run", "one.jsonl", "--journal", "one")[0] == 3
    assert command("agentjob batch drop one 20261125000000000000000001") == (0, "item 1 (gone): drop\n", "")


def test_a_check_that_fails_decides_nothing(emulator):
    emulator.reset(jobs=[])
    status, out, err = command("agentjob batch resolve night 2 --check --arrived", emulator)
    assert status == 3 and json.loads(out)["job"] is None
    assert "item 2 (job_2): job job_2 could not be read" in err and "nothing was decided" in err
    assert not json.loads(command("agentjob batch status night --json")[1])["decisions"]


def test_a_check_goes_on_after_a_job_that_is_gone(emulator):
    emulator.reset(jobs=[{"id": "job_3"}])
    status, out, err = command("agentjob batch resolve night all --check", emulator)
    gone, there = map(json.loads, out.splitlines())
    assert (status, gone["job_id"], gone["job"], gone["error"]["http_status"]) == (3, "job_2", None, 404)
    assert (there["job"]["id"], there["error"]) == ("job_3", None)
    assert err.startswith("agentjob: item 2 (job_2): job job_2 could not be read") and err.count("\n") == 1


def test_a_check_ends_at_a_failure_that_is_about_every_job(emulator):
    requests = len(emulator.requests()["requests"])
    environment = {**emulator.environment(), "AGENTJOB_API_KEY": "wrong"}
    status, out, err = run(None, "batch", "resolve", "night", "all", "--check", env=environment)
    assert (status, out) == (3, "") and "401" in err
    assert len(emulator.requests()["requests"]) == requests + 1


def test_a_check_with_the_settings_of_another_service_or_project_shows_no_job(emulator):
    """Its job of the same name is another one. A run refuses these settings in the same words."""
    with service(5) as other:
        there, project = other.environment(), emulator.environment()["AGENTJOB_PROJECT_ID"]
        for settings in (there, {**emulator.environment(), "AGENTJOB_PROJECT_ID": "another"}):
            check = ("batch", "resolve", "night", "2", "--check", "--arrived")
            status, out, err = run(None, *check, env=settings)
            assert (status, out) == (3, "") and f'night" belongs to project {project} at {emulator.base_url}, but' in err
            run_status, run_out, run_err = run(None, "batch", "run", "messages.jsonl", "--journal", "night", env=settings)
            assert (run_status, run_out, run_err.partition('night"')[2]) == (6, "", err.partition('night"')[2])
        assert other.requests()["requests"] == []
    assert not json.loads(command("agentjob batch status night --json")[1])["decisions"]


def test_decisions_and_exports_are_data(emulator):
    decisions = json.loads(command("agentjob batch drop night all --json")[1])
    assert [(made["item"], made["decision"]) for made in decisions] == [(n, "drop") for n in range(2, 6)]
    lines = command("agentjob batch export night --jsonl")[1].splitlines()
    assert [json.loads(line)["state"] for line in lines] == ["accepted", *["dropped"] * 4]
    status, out, _ = command("agentjob batch export night --csv")
    assert status == 0 and out.splitlines()[4].startswith("4,tests,job_4,dropped,drop,")
    assert command("agentjob batch status night")[0] == 0


def test_the_status_exits_as_the_run_did(folder):  # noqa: F811
    failed = {"method": "GET", "path": "/v2/agent/*/job/job_1", "status": 200, "json": {"id": "job_1", "status": "failed"}}
    with open("messages.jsonl", "w") as file:
        file.write('{"job_id": "job_1", "prompt": "message 1"}\n')
    with service(1, rules=[failed]) as emulator:
        quick = ("--wait", "--min-interval", "0.02", "--max-interval", "0.05")
        status, out, _ = run(emulator, "batch", "run", "messages.jsonl", "--journal", "night", *quick)
    assert (status, json.loads(out)["job"]["status"]) == (1, "failed")
    status, out, _ = command("agentjob batch status night")
    assert status == 1 and "\ntheir jobs failed:\n  item 1: job_1\n" in out
