"""The file that the report of a batch is written into. What is in it is looked at in a browser, in tests/report."""

import os
import stat
import subprocess
import sys

import pytest
from conftest import MAY_TRACE, PATIENCE, unix
from test_cli import run

import agentjob
from agentjob.testing import Emulator

SECRET = "Prompts are in no report"


@pytest.fixture
def journal(tmp_path):
    """The journal of three messages: one accepted, one rejected, one whose job failed."""
    jobs = [{"id": "job_1"}, {"id": "job_2", "outcome": "failed"}]
    with Emulator(work_ms=20, jobs=jobs, hourly_limit=1000) as emulator, emulator.client() as client:
        items = [{"job_id": job, "prompt": f"{SECRET} {n}", "extra": {"secret": SECRET}} for n, job in enumerate(("job_1", "job_2", "gone"))]
        list(client.send_all(items, journal=tmp_path / "night", wait=True, min_interval=0.02, max_interval=0.02))
        return tmp_path / "night"


def others(folder):
    return sorted(set(os.listdir(folder)) - {"night"})


def test_the_page_has_the_batch_and_no_prompt(journal, tmp_path):
    page = agentjob.batch_report(journal)
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n") and page == agentjob.batch_report(str(journal))
    for part in ("job_1", "job_2", "gone", "the service returned 404", "agentjob batch retry"):
        assert part in page
    assert SECRET not in page and "secret" not in page
    assert others(tmp_path) == [], "it writes nothing"


@pytest.mark.parametrize("wait", [False, True])
def test_a_job_counts_as_failed_only_if_the_batch_waited_for_it(tmp_path, wait):
    failed = {"method": "POST", "process": True, "status": 200, "json": {"id": "job_1", "status": "failed"}}
    jobs = [{"id": "job_1", "outcome": "failed"}]
    with Emulator(work_ms=20, jobs=jobs, rules=[failed]) as emulator, emulator.client() as client:
        options = {"journal": tmp_path / "night", "wait": wait, "settle": 0, "min_interval": 0.02, "max_interval": 0.02}
        list(client.send_all([("job_1", "a")], **options))
    page = agentjob.batch_report(tmp_path / "night")
    assert ("1 job failed although the message arrived" in page) is wait
    assert ('data-s="accepted failed"' in page) is wait
    assert agentjob.batch_status(tmp_path / "night")["progress"]["failed"] == wait


def test_a_page_on_stdout_is_utf8_in_every_locale(journal):
    page = agentjob.batch_report(journal)
    assert "–" in page
    assert run(None, "batch", "report", str(journal), "-o", "-", env={"PYTHONIOENCODING": "latin-1"}) == (0, page, "")


@unix
def test_only_the_owner_can_read_the_file_and_nothing_else_is_left(journal, tmp_path):
    before = os.umask(0)
    try:
        agentjob.write_batch_report(journal, tmp_path / "night.html")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(tmp_path / "night.html").st_mode) == 0o600
    assert (tmp_path / "night.html").read_text() == agentjob.batch_report(journal) and others(tmp_path) == ["night.html"]


def test_an_existing_file_is_replaced_only_if_the_program_says_so(journal, tmp_path):
    path = tmp_path / "night.html"
    path.write_text("mine")
    with pytest.raises(agentjob.InvalidArgumentError, match="night.html\" exists already"):
        agentjob.write_batch_report(journal, path)
    assert path.read_text() == "mine"
    agentjob.write_batch_report(journal, path, replace=True)
    assert path.read_text().startswith("<!doctype html>") and others(tmp_path) == ["night.html"]


@pytest.mark.skipif(not MAY_TRACE, reason="strace is not installed, or may not trace here")
@pytest.mark.parametrize("lacks", ["linkat:error=EPERM", "renameat2:error=EINVAL"])
def test_a_file_system_without_hard_links_or_without_exclusive_renames_gets_a_report(journal, tmp_path, lacks):
    write = "import agentjob, sys; agentjob.write_batch_report(*sys.argv[1:])"
    command = ["strace", "-f", "-o", os.devnull, "-e", f"inject={lacks}", sys.executable, "-c", write, str(journal), str(tmp_path / "night.html")]
    assert subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE).stderr == ""
    assert (tmp_path / "night.html").read_text() == agentjob.batch_report(journal) and others(tmp_path) == ["night.html"]
    assert "exists already" in subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE).stderr


@unix
def test_the_journal_a_link_a_folder_and_a_device_are_never_replaced(journal, tmp_path):
    link, hard = tmp_path / "link", tmp_path / "hard"
    link.symlink_to(tmp_path / "elsewhere")
    os.link(journal, hard)
    before = journal.read_bytes()
    for path, why in [
        (journal, "is the journal itself"),
        (hard, "is the journal itself"),
        (link, "is not a regular file"),
        (tmp_path, "is not a regular file"),
        ("/dev/null", "is not a regular file"),
        (tmp_path / "no" / "folder.html", "cannot be written"),
        ("", "is not the path of a file"),
    ]:
        with pytest.raises(agentjob.InvalidArgumentError, match=why):
            agentjob.write_batch_report(journal, path, replace=True)
    assert journal.read_bytes() == before and others(tmp_path) == ["hard", "link"] and not stat.S_ISREG(os.stat("/dev/null").st_mode)


def test_what_is_no_journal_makes_no_file(tmp_path):
    (tmp_path / "night").write_text("this is no journal\n")
    for call in (agentjob.batch_report, lambda journal: agentjob.write_batch_report(journal, tmp_path / "night.html")):
        for journal in (tmp_path / "night", tmp_path / "nowhere"):
            with pytest.raises(agentjob.JournalError):
                call(journal)
    assert others(tmp_path) == []
    with pytest.raises(TypeError, match="replace must be True or False, not str"):
        agentjob.write_batch_report(tmp_path / "night", "x", replace="yes")


def test_the_command_line_writes_the_page(journal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = agentjob.batch_report("night")
    assert run(None, "batch", "report", "night") == (0, "", "agentjob: wrote night.html\n")
    assert (tmp_path / "night.html").read_text("utf-8") == page
    status, out, err = run(None, "batch", "report", "night", "-o", "night.html")
    assert (status, out) == (2, "") and "exists already; --force replaces it" in err
    assert run(None, "batch", "report", "night", "-o", "night.html", "--force")[0] == 0
    assert run(None, "batch", "report", "night", "-o", "-") == (0, page, "")
    status, out, err = run(None, "batch", "report", "nowhere", "-o", "x.html")
    assert (status, out) == (3, "") and 'nowhere" does not exist' in err and not (tmp_path / "x.html").exists()
