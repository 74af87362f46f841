"""A worker's numbers: how notifications ended, never whose they were."""

from datetime import UTC, datetime
from uuid import UUID

from prometheus_client import CollectorRegistry, generate_latest

from waypost.bootstrap.meters import histogram, observe_many
from waypost.channels.model import Outcome, OutcomeKind
from waypost.delivery.model import Closed, End, Ended, Held, Note, Returned, State
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention
from waypost.workers.metrics import WorkerMetrics

AT = datetime(2026, 1, 15, tzinfo=UTC)
HELD = Held(
    tenant_id="tenant-of-somebody",
    id=UUID(int=1),
    retention=Retention.STANDARD,
    n=1,
    claims=0,
    channel=Channel.EMAIL,
    category=Category.TRANSACTIONAL,
    priority=Priority.NORMAL,
    expires_at=AT,
)


def test_every_end_is_counted_by_its_kind() -> None:
    registry = CollectorRegistry()
    metrics = WorkerMetrics(registry)
    accepted = Closed(held=HELD, outcome=Outcome(kind=OutcomeKind.ACCEPTED, latency_ms=250))
    ended = Ended(held=HELD, end=End(state=State.EXPIRED, reason="expired"), note=Note(event="expired"))
    returned = Returned(held=HELD, due=AT, claims=0)
    metrics.claimed(3, 0.01)
    metrics.settled([accepted, ended, returned, accepted], 0.02)
    metrics.rescued([returned])
    value = registry.get_sample_value
    assert value("waypost_claimed_total") == 3
    assert value("waypost_settled_total", {"channel": "email", "result": "accepted", "reason": ""}) == 2
    assert value("waypost_settled_total", {"channel": "email", "result": "expired", "reason": "expired"}) == 1
    assert value("waypost_settled_total", {"channel": "email", "result": "returned", "reason": ""}) == 1
    assert value("waypost_attempt_seconds_sum", {"channel": "email"}) == 0.5
    assert value("waypost_rescued_total", {"result": "returned"}) == 1
    assert b"tenant-of-somebody" not in generate_latest(registry)


def test_the_same_amount_many_times_is_counted_as_if_one_by_one() -> None:
    together, one_by_one = CollectorRegistry(), CollectorRegistry()
    many, each = (histogram(registry, "waypost_settle_seconds") for registry in (together, one_by_one))
    for amount, count in ((0.0, 3), (0.005, 2), (0.25, 1), (1.5, 4), (1e9, 2)):
        observe_many(many, amount, count)
        for _ in range(count):
            each.observe(amount)
    samples = [
        [
            (sample.name, sample.labels, sample.value)
            for metric in registry.collect()
            for sample in metric.samples
            if not sample.name.endswith("_created")
        ]
        for registry in (together, one_by_one)
    ]
    assert samples[0] == samples[1]
