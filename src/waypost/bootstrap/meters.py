"""Metrics made from the catalogue, so that none exists that is not written down there."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from waypost.kernel.telemetry import METRICS, SECONDS, Metric


def counter(registry: CollectorRegistry, name: str) -> Counter:
    about = _about(name, "counter")
    return Counter(name.removesuffix("_total"), about.sentence, about.labels, registry=registry)


def gauge(registry: CollectorRegistry, name: str) -> Gauge:
    about = _about(name, "gauge")
    return Gauge(name, about.sentence, about.labels, registry=registry)


def histogram(registry: CollectorRegistry, name: str) -> Histogram:
    about = _about(name, "histogram")
    return Histogram(name, about.sentence, about.labels, registry=registry, buckets=SECONDS)


def _about(name: str, kind: str) -> Metric:
    about = METRICS[name]
    if about.kind != kind:
        raise ValueError(f"{name} is a {about.kind}, not a {kind}")
    return about
