"""What the pages claim and no example shows: figures, and an entry for each error."""

import pathlib
import re
import subprocess
import sys

import pytest
from pictures import PICTURES

import agentjob
from agentjob import errors
from agentjob.testing import Emulator

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TROUBLESHOOTING = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")


def test_the_figures_of_the_readme_are_those_of_the_last_race():
    results = (ROOT / "tests" / "bench" / "RESULTS.md").read_text(encoding="utf-8")
    glance = results[: results.index("## 1.")]
    figures = re.findall(r"[\d.]+ (?:µs|ms), [\d.]+ of \w+", README)
    assert len(figures) == 6
    for figure in figures:
        assert figure in glance, figure


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_the_tests_tables_say(name):
    committed = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    assert committed == PICTURES[name]().svg(), "run tests/docs/pictures.py"


def entries():
    """The sentences of the troubleshooting page, as patterns: "…" stands for any text."""
    for heading in re.findall(r"^### (.*)$", TROUBLESHOOTING, re.M):
        for sentence in re.findall(r"`([^`]+)`", heading):
            yield sentence, re.compile(r".*".join(map(re.escape, sentence.split("…"))), re.S)


def kinds():
    return {value.kind for value in vars(errors).values() if isinstance(value, type) and getattr(value, "kind", None)}


def test_every_kind_of_error_has_an_entry():
    named = set(re.findall(r"^Kind `(\w+)`", TROUBLESHOOTING, re.M))
    assert kinds() <= named | {"job_failed"}, kinds() - named


STATUSES = [301, 401, 403, 404, 409, 422, 429, 500, 503]


@pytest.mark.parametrize("status", STATUSES)
def test_the_sentence_of_a_status_has_an_entry(status):
    with Emulator(rules=[{"status": status}]) as emulator, emulator.client(max_retries=0) as client:
        expect(lambda: client.send_message(emulator.job_id, "x"), agentjob.StatusError)


FAULTS = {
    "a refused connection": ({"rules": []}, {"base_url": "http://127.0.0.1:9"}),
    "an unknown name": ({}, {"base_url": "https://nothing.invalid"}),
    "a proxy that is not there": ({}, {"base_url": "https://nothing.invalid", "proxy": "http://127.0.0.1:9"}),
    "a lost connection": ({"rules": [{"fault": {"do": "close", "at": "request"}}]}, {}),
    "a timeout": ({"rules": [{"fault": {"do": "stall", "at": "request"}}]}, {"timeout": 0.3}),
    "garbage": ({"rules": [{"raw": "hello\r\n\r\n"}]}, {}),
    "a long response": ({"rules": [{"status": 200, "body": "x" * 2000}]}, {"max_response_bytes": 1000}),
    "a web page": ({"rules": [{"status": 200, "body": "<html>"}]}, {}),
    "half a record": ({"rules": [{"fault": {"do": "close", "at": "response:150"}}]}, {}),
    "a bad prompt": ({}, {"prompt": ""}),
    "a bad job id": ({}, {"job": ".."}),
    "a closed client": ({}, {"close": True}),
}


@pytest.mark.parametrize("situation", FAULTS)
def test_the_sentence_of_a_failure_has_an_entry(situation):
    config, options = FAULTS[situation]
    options = dict(options)
    prompt, job, close = options.pop("prompt", "x"), options.pop("job", None), options.pop("close", False)
    with Emulator(**config) as emulator, emulator.client(**{"max_retries": 0, **options}) as client:
        if close:
            client.close()
        expect(lambda: client.send_message(job or emulator.job_id, prompt), agentjob.Error)


def test_the_sentence_of_a_wait_that_timed_out_has_an_entry():
    with Emulator(work_ms=60_000) as emulator, emulator.client() as client:
        expect(lambda: client.send_and_wait(emulator.job_id, "x", timeout=0.3), agentjob.WaitTimeoutError)


IN_FILES = {
    "a missing file": "",
    "no certificate": "text",
    "no PEM": "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n",
    "no key": "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n",
    "an encrypted key": "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
    "a useless key": "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"
    "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n",
}


@pytest.mark.parametrize("situation", IN_FILES)
def test_the_sentence_of_a_wrong_client_certificate_has_an_entry(situation, tmp_path):
    file = tmp_path / "client.pem"
    if IN_FILES[situation]:
        file.write_text(IN_FILES[situation])
        file.chmod(0o600)
    settings = {"base_url": "https://nothing.invalid", "api_key": "k", "project_id": "p"}
    expect(lambda: agentjob.Client(**settings, client_cert=file), agentjob.InvalidArgumentError)
    expect(lambda: agentjob.Client(**settings, client_key=file), agentjob.InvalidArgumentError)


@pytest.mark.parametrize("function", [lambda: None, lambda: "", lambda: 1 / 0])
def test_the_sentence_of_a_wrong_key_function_has_an_entry(function):
    with Emulator() as emulator, emulator.client(api_key=function) as client:
        expect(lambda: client.send_message(emulator.job_id, "x"), agentjob.InvalidArgumentError)


def expect(call, kind):
    with pytest.raises(kind) as caught:
        call()
    reason = caught.value.reason
    assert any(pattern.match(reason) for _, pattern in entries()), f"no entry for: {reason}"


def test_the_site_has_no_warning(tmp_path):
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(mkdocs, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
