"""What the API counts at its door: metrics of the catalogue in `kernel/telemetry.py`."""

from litestar.types import ASGIApp, Receive, Send
from litestar.types import Scope as AsgiScope
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from waypost.bootstrap.meters import counter, gauge, histogram


class HttpMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.requests = counter(registry, "waypost_http_requests_total")
        self.seconds = histogram(registry, "waypost_http_request_seconds")
        self.refused = counter(registry, "waypost_http_refused_total")
        self.problems = counter(registry, "waypost_http_problems_total")
        self.in_flight = gauge(registry, "waypost_http_in_flight")


def metrics_app(registry: CollectorRegistry) -> ASGIApp:
    """The application of the metrics' own port, which must not be reachable from outside. It reads no body at all."""

    async def answer(scope: AsgiScope, _receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        found = scope["path"] == "/metrics" and scope["method"] == "GET"
        body = generate_latest(registry) if found else b""
        headers = [
            (b"content-type", CONTENT_TYPE_LATEST.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": 200 if found else 404, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    return answer
