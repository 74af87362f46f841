"""What the API counts. Labels are routes and statuses, never tenants, keys or addresses.

waypost_http_requests_total{method,route,status}   answered requests
waypost_http_request_seconds{method,route}         how long they took, from the first byte to the last
waypost_http_refused_total{reason}                 turned away at the door (see `limits.py`)
waypost_http_in_flight                             requests being read or answered now
"""

from typing import Final

from litestar.types import ASGIApp, Receive, Send
from litestar.types import Scope as AsgiScope
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class HttpMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.requests = Counter(
            "waypost_http_requests", "Answered requests.", ("method", "route", "status"), registry=registry
        )
        self.seconds = Histogram(
            "waypost_http_request_seconds",
            "Time from a request's first byte to its answer's last.",
            ("method", "route"),
            registry=registry,
            buckets=_BUCKETS,
        )
        self.refused = Counter(
            "waypost_http_refused", "Requests turned away at the door.", ("reason",), registry=registry
        )
        self.in_flight = Gauge("waypost_http_in_flight", "Requests being read or answered.", registry=registry)


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
