"""Where an endpoint is configured, a request and the steps it starts are one trace, and hold nobody's data."""

import dataclasses

import httpx
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from waypost.api.app import create_app
from waypost.bootstrap import App
from waypost.bootstrap.traced import TracedSubmit
from waypost.bootstrap.tracing import Tracing, tracing_of
from waypost.settings import Settings

JANE = "jane@example.com"
TRACE = "0af7651916cd43dd8448eb211c80319c"


async def test_a_send_is_traced_within_the_callers_trace(app: App, acme) -> None:
    exporter = InMemorySpanExporter()
    tracing = Tracing(exporter, "api")
    desk = dataclasses.replace(app.notifications, submit=TracedSubmit(app.notifications.submit, tracing.tracer))
    traced = create_app(dataclasses.replace(app, tracer=tracing.tracer, notifications=desk))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(traced), base_url="http://waypost") as client:
        answer = await client.post(
            "/v1/notifications",
            json={
                "to": {"id": "jane@example.com", "email": "jane@example.com"},
                "content": {"subject": "a", "text": "b"},
            },
            headers={"Authorization": f"Bearer {acme.key}", "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"},
        )
        await client.get("/v1/recipients/jane@example.com", headers={"Authorization": f"Bearer {acme.key}"})
    assert answer.status_code == 202
    tracing.close()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    request, submit = spans["POST /v1/notifications"], spans["submit"]
    assert f"{request.context.trace_id:032x}" == TRACE
    assert submit.parent is not None
    assert submit.parent.span_id == request.context.span_id
    assert submit.attributes == {"waypost.tenant": "acme", "waypost.channel": "email", "waypost.notifications": 1}
    assert request.attributes is not None
    assert request.attributes["http.response.status_code"] == 202
    everything = " ".join(span.to_json() for span in exporter.get_finished_spans())
    assert "jane" not in everything
    assert acme.key not in everything


def test_without_an_endpoint_there_is_no_tracing() -> None:
    assert tracing_of(Settings(), "api") is None


def test_an_endpoint_makes_a_tracer() -> None:
    tracing = tracing_of(Settings(otlp_endpoint="http://127.0.0.1:9/"), "worker")
    assert tracing is not None
    tracing.close()


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from waypost.kernel.errors import Misconfigured

    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(Misconfigured, match=r"waypost\[otel\]"):
        tracing_of(Settings(otlp_endpoint="http://127.0.0.1:9"), "api")
