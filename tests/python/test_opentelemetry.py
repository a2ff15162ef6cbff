"""The recipe of docs/how-to/opentelemetry.md, with the real SDK."""

import asyncio
import pathlib
import re

import pytest

import agentjob
from agentjob.aio import AsyncClient
from conftest import QUICK

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "how-to" / "opentelemetry.md"
KEY, PROMPT = "adm_zebra7quilt4mango9", "walrus comet prompt"


@pytest.fixture(scope="module")
def exporter():
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def recipe(exporter):
    code = re.search(r'```python title="tracing.py"\n(.*?)```', PAGE.read_text(encoding="utf-8"), re.S)[1]
    names = {}
    exec(compile(code, "tracing.py", "exec"), names)  # noqa: S102
    exporter.clear()
    return names


def traceparents(emulator):
    return [dict(request["headers"]).get("traceparent") for request in emulator.requests()["requests"]]


def test_a_call_is_a_span_with_its_attempts_as_events(emulator, exporter, recipe):
    rules = [{"method": "POST", "nth": 1, "status": 429, "headers": {"Retry-After": "0"}}]
    emulator.reset(api_key=KEY, work_ms=60, rules=rules)
    client = emulator.client(api_key=KEY, on_event=recipe["on_event"])
    recipe["traced"](client.send_and_wait, "job_demo", PROMPT, **QUICK)
    (span,) = exporter.get_finished_spans()
    assert span.name == "agentjob send_and_wait" and span.kind.name == "CLIENT"
    names = [event.name for event in span.events]
    assert names[:6] == ["attempt", "response", "retry", "attempt", "response", "attempt"] and names[-1] == "poll"
    assert [event.attributes["agentjob.status"] for event in span.events if event.name == "response"][:2] == [429, 200]
    assert span.events[1].attributes["agentjob.time.first_byte"] > 0
    assert span.attributes["http.response.status_code"] == 200 and span.attributes["agentjob.job_status"] == "completed"
    context = f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-"
    sent = traceparents(emulator)
    assert len(sent) >= 3 and set(sent) <= {context + "01", context + "03"}  # sampled; newer SDKs also say that the id is random
    assert KEY not in span.to_json() and "quilt4" not in span.to_json() and "walrus" not in span.to_json()


def test_a_failure_says_its_kind_and_verdict(emulator, exporter, recipe):
    emulator.reset(rules=[{"status": 500}])
    client = emulator.client(on_event=recipe["on_event"])
    with pytest.raises(agentjob.ServerError):
        recipe["traced"](client.send_message, "job_demo", PROMPT)
    (span,) = exporter.get_finished_spans()
    assert span.attributes["error.type"] == "server" and span.attributes["agentjob.delivery"] == "unknown"
    assert span.status.status_code.name == "ERROR" and [event.name for event in span.events][:2] == ["attempt", "response"]
    assert "walrus" not in span.to_json()


def test_the_events_of_each_task_reach_its_own_span(emulator, exporter, recipe):
    from opentelemetry import trace

    async def task(client, n):
        with trace.get_tracer("test").start_as_current_span(f"task {n}"):
            for _ in range(n):
                await client.get_job("job_demo")

    async def main():
        async with AsyncClient.of(emulator.client(on_event=recipe["on_event"])) as client:
            await asyncio.gather(*(task(client, n) for n in range(1, 5)))

    asyncio.run(main())
    spans = {span.name: [event.name for event in span.events] for span in exporter.get_finished_spans()}
    assert spans == {f"task {n}": ["attempt", "response"] * n for n in range(1, 5)}
