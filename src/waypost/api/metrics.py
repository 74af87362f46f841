"""What the API counts at its door: metrics of the catalogue in `kernel/telemetry.py`."""

from litestar.types import ASGIApp, Receive, Send
from litestar.types import Scope as AsgiScope
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest

from waypost.bootstrap.meters import counter, gauge, histogram


class HttpMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._requests = counter(registry, "waypost_http_requests_total")
        self._seconds = histogram(registry, "waypost_http_request_seconds")
        self.refused = counter(registry, "waypost_http_refused_total")
        self.problems = counter(registry, "waypost_http_problems_total")
        self.in_flight = 0
        gauge(registry, "waypost_http_in_flight").set_function(lambda: self.in_flight)
        # Routes, methods and statuses are few, and looking up their labels costs more than counting.
        self._of: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        found = self._of.get((method, route, status))
        if found is None:
            requests = self._requests.labels(method, route, str(status))
            found = self._of[method, route, status] = (requests, self._seconds.labels(method, route))
        requests, histogram_of_route = found
        requests.inc()
        histogram_of_route.observe(seconds)


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
