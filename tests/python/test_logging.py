"""The standard logger `agentjob`, for programs that use `logging`."""

import asyncio
import logging
import pathlib
import re
import threading

import pytest
from conftest import QUICK

import agentjob
from agentjob.aio import AsyncClient


def test_retries_and_polls_are_logged_at_info_and_requests_at_debug(emulator, caplog):
    emulator.reset(work_ms=300, rules=[{"method": "GET", "nth": 1, "status": 503}])
    client = emulator.client()
    with caplog.at_level(logging.INFO, "agentjob"):
        client.get_job("job_demo")
        client.send_and_wait("job_demo", "go", **QUICK)
    heard = [(record.levelname, record.agentjob["event"]) for record in caplog.records]
    assert heard[0] == ("INFO", "retry") and set(heard[1:]) == {("INFO", "poll")}
    assert caplog.records[0].getMessage().startswith("get_job job_demo: request 1 failed (the service returned 503")
    assert caplog.records[0].agentjob["delay"] >= 0 and caplog.records[-1].agentjob["status"] == "completed"
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "agentjob"):
        client.send_message("job_demo", "go")
    assert [(r.levelname, r.name, r.getMessage()) for r in caplog.records] == [
        ("DEBUG", "agentjob", "send_message job_demo: request 1"),
        ("DEBUG", "agentjob", caplog.messages[1]),
    ]
    response = caplog.records[1].agentjob
    assert response["event"] == "response" and response["status"] == 200 and set(response["timings"]) == {"first_byte"}
    assert caplog.messages[1].startswith("send_message job_demo: request 1 returned 200 after ")


def test_the_levels_are_those_of_the_table_in_docs_events(emulator, caplog, tmp_path):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "events.md").read_text(encoding="utf-8")
    table = page.split("\n## The logger\n")[1]
    rows = re.findall(r"^\| `([A-Z]+)` \| (.*?) \|", table, re.MULTILINE)
    promised = {(level, event) for level, events in rows for event in events.split(", ")}
    refused = {"method": "POST", "nth": 2, "status": 429, "headers": {"Retry-After": "1"}}
    away = {"method": "GET", "path": "/v2/agent/*/job/job_away", "status": 200, "body": "<html>Log in</html>"}
    emulator.reset(work_ms=300, rules=[away, {"method": "GET", "nth": 1, "status": 503}, refused])
    with caplog.at_level(logging.DEBUG, "agentjob"):
        emulator.client().get_job("job_demo")
        emulator.client().send_and_wait("job_demo", "go", **QUICK)
        list(emulator.client().send_all([("job_demo", "go on")], journal=tmp_path / "journal"))
        with pytest.raises(agentjob.WaitTimeoutError):
            emulator.client().wait("job_away", timeout=1, min_interval=0.02, max_interval=0.02)
    assert {(record.levelname, record.agentjob["event"]) for record in caplog.records} == promised


def async_wait(client):
    async def main():
        async with AsyncClient.of(client) as ours:
            await ours.wait("job_demo", **QUICK)

    asyncio.run(main())


@pytest.mark.parametrize("wait", [lambda client: client.wait("job_demo", **QUICK), async_wait], ids=["Client", "AsyncClient"])
@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_a_wait_whose_every_poll_gets_a_login_page_warns_once(emulator, caplog, level, wait):
    pages = {"method": "GET", "status": 200, "body": "<html>Log in</html>"}
    emulator.reset(rules=[{"method": "GET", "from": 8}, pages])
    with caplog.at_level(level, "agentjob"):
        wait(emulator.client())
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert warning.agentjob["consecutive_failures"] == 5 and warning.agentjob["polls"] == 5
    assert "the record in the response (200) cannot be used" in warning.getMessage() and "(5 in a row failed alike)" in warning.getMessage()
    assert "Log in" not in caplog.text and (level == logging.INFO or len(caplog.records) == 1)


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_a_batch_whose_polls_get_a_login_page_warns_once_of_each_job(emulator, caplog, level, tmp_path):
    pages = {"method": "GET", "status": 200, "body": "<html>Log in</html>"}
    emulator.reset(rules=[{"method": "GET", "from": 8}, pages], work_ms=1)
    with caplog.at_level(level, "agentjob"):
        outcomes = list(emulator.client().send_all([("job_demo", "go")], journal=tmp_path / "journal", wait=True, settle=0.02, **QUICK))
    assert outcomes[0]["job"]["status"] == "completed"
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert warning.agentjob["consecutive_failures"] == 5 and warning.agentjob["item"] == 1


def test_what_logs_does_not_see_the_key_or_the_prompt(emulator, caplog):
    emulator.reset(api_key="adm_marker_0123456789", rules=[{"nth": 1, "status": 429, "headers": {"Retry-After": "0"}}])
    with caplog.at_level(logging.DEBUG):
        emulator.client(api_key="adm_marker_0123456789").send_and_wait("job_demo", "prompt_marker", **QUICK)
    logged = "".join(f"{record.__dict__} {record.getMessage()}" for record in caplog.records)
    assert "agentjob" in logged and "adm_marker" not in logged and "prompt_marker" not in logged


def test_handlers_run_on_the_calling_thread_and_may_take_any_lock(emulator):
    threads, lock = set(), threading.Lock()

    class Handler(logging.Handler):
        def emit(self, record):
            with lock:
                threads.add(threading.get_ident())

    logger, handler = logging.getLogger("agentjob"), Handler()
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        client = emulator.client()
        workers = [threading.Thread(target=client.get_job, args=("job_demo",)) for _ in range(8)]
        idents = set()
        for worker in workers:
            worker.start()
            idents.add(worker.ident)
        for worker in workers:
            worker.join(20)
        assert threads == idents
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


def test_a_failing_handler_does_not_end_the_call_but_an_interrupt_does(emulator, capsys):
    class Handler(logging.Handler):
        def emit(self, record):
            if record.agentjob["operation"] == "send_message":
                raise KeyboardInterrupt
            try:
                raise ValueError("this handler is broken")
            except ValueError:
                self.handleError(record)

    logger, handler = logging.getLogger("agentjob"), Handler()
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        client = emulator.client()
        assert client.get_job("job_demo")["id"] == "job_demo"
        with pytest.raises(KeyboardInterrupt):
            client.send_message("job_demo", "go")
        assert emulator.ledger() == []
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    assert "this handler is broken" in capsys.readouterr().err


def test_a_program_that_does_not_log_is_not_made_to(script):
    running = script(
        """
        client.send_message("job_demo", "go")
        assert "logging" not in sys.modules
        import logging
        logging.basicConfig(level="INFO", format="%(levelname)s %(name)s %(message)s")
        client.wait("job_demo", min_interval=5)
        print("ready", flush=True)
        """
    )
    running.wait_until_ready()
    _, err, status = running.end()
    assert status == 0 and err.splitlines()[0].startswith("INFO agentjob wait job_demo: poll 1 after "), err
