"""Every outcome becomes one line that programs can read, and no line holds anyone's words or addresses."""

import io
import json
import logging
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.delivery.model import Closed, End, Ended, Held, Note, Returned, Standing, State, Waiting
from waypost.kernel.clock import VirtualClock
from waypost.kernel.ids import mint, show
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention
from waypost.workers.metrics import WorkerMetrics
from waypost.workers.outcomes import OutcomeLog

CLOCK = VirtualClock()


def held() -> Held:
    return Held(
        tenant_id="acme",
        id=mint(CLOCK),
        retention=Retention.STANDARD,
        n=2,
        claims=0,
        channel=Channel.EMAIL,
        category=Category.TRANSACTIONAL,
        priority=Priority.NORMAL,
        expires_at=CLOCK.now() + timedelta(days=1),
    )


@pytest.fixture(autouse=True)
def info_is_logged() -> None:
    logging.getLogger("waypost.worker").setLevel(logging.INFO)


def test_each_settlement_is_one_line_with_an_action() -> None:
    stream = io.StringIO()
    refused = Outcome(
        kind=OutcomeKind.REJECTED,
        reason=OutcomeReason.ADDRESS_UNKNOWN,
        code=550,
        reply="550 <jane@example.com>: unknown",
        latency_ms=12,
    )
    ended = Ended(held=held(), end=End(state=State.EXPIRED, reason="expired"), note=Note(event="expired"))
    settlements = [Closed(held=held(), outcome=refused), ended, Returned(held=held(), due=CLOCK.now(), claims=1)]
    OutcomeLog(CLOCK, for_people=False, stream=stream).write(settlements)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["action"], line["result"]) for line in lines] == [
        ("notification_settled", "rejected"),
        ("notification_settled", "expired"),
        ("notification_settled", "returned"),
    ]
    assert lines[0]["notification"] == show("ntf", settlements[0].held.id)
    assert (lines[0]["code"], lines[0]["reason"], lines[0]["latency_ms"], lines[0]["attempt"]) == (
        550,
        "address_unknown",
        12,
        2,
    )
    assert "jane" not in stream.getvalue()


def test_nothing_is_written_where_nobody_listens() -> None:
    logging.getLogger("waypost.worker").setLevel(logging.WARNING)
    stream = io.StringIO()
    OutcomeLog(CLOCK, for_people=False, stream=stream).write([Returned(held=held(), due=CLOCK.now(), claims=0)])
    assert stream.getvalue() == ""


def test_metrics_count_outcomes_and_show_how_the_queue_stands() -> None:
    registry = CollectorRegistry()
    metrics = WorkerMetrics(registry)
    accepted = Closed(held=held(), outcome=Outcome(kind=OutcomeKind.ACCEPTED, latency_ms=20))
    metrics.settled([accepted, accepted], 0.01)
    waiting = Waiting(channel=Channel.EMAIL, priority=Priority.URGENT, rows=7, oldest_seconds=3.5)
    metrics.stands(Standing(waiting=[waiting], workers_alive=2, stray_rows=0))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert value("waypost_settled_total", channel="email", result="accepted", reason="") == 2
    assert value("waypost_queue_waiting", channel="email", priority="urgent") == 7
    assert value("waypost_queue_oldest_seconds", channel="email", priority="urgent") == 3.5
    metrics.stands(Standing(waiting=[], workers_alive=1, stray_rows=0))
    assert value("waypost_queue_waiting", channel="email", priority="urgent") is None
