"""Traces by OpenTelemetry, where an endpoint is configured. Without one nothing is imported and nothing is wrapped."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from waypost import __version__
from waypost.kernel.errors import Misconfigured
from waypost.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer


class Tracing:
    """A tracer and the thread that sends what it records."""

    def __init__(self, exporter: "SpanExporter", process: str) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        about = {"service.name": f"waypost-{process}", "service.version": __version__}
        self._provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self.tracer: Tracer = self._provider.get_tracer("waypost", __version__)

    def close(self) -> None:
        """Sends what is left."""
        self._provider.shutdown()


def tracing_of(settings: Settings, process: str) -> Tracing | None:
    if settings.otlp_endpoint is None:
        return None
    try:
        exporter = _exporter_to(settings.otlp_endpoint)
    except ImportError as missing:
        raise Misconfigured(
            "WAYPOST_OTLP_ENDPOINT needs the extra packages: pip install 'waypost[otel]', or leave it out."
        ) from missing
    return Tracing(exporter, process)


def _exporter_to(endpoint: str) -> "SpanExporter":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    make: Callable[..., SpanExporter] = OTLPSpanExporter
    return make(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
