"""Metrics made from the catalogue, so that none exists that is not written down there."""

from bisect import bisect_left

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


def observe_many(metric: Histogram, amount: float, count: int) -> None:
    """The same amount so many times, for which the library has no word of its own."""
    metric._sum.inc(amount * count)  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]
    place = bisect_left(metric._upper_bounds, amount)  # pyright: ignore[reportPrivateUsage]
    metric._buckets[place].inc(count)  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]


def _about(name: str, kind: str) -> Metric:
    about = METRICS[name]
    if about.kind != kind:
        raise ValueError(f"{name} is a {about.kind}, not a {kind}")
    return about
