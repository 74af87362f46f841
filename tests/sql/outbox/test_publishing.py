"""Brokers are told everything, in order, at least once: on a real database, to real brokers where there are any."""

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from waypost.adapters.postgres.outbox import PgOutbox
from waypost.adapters.publishers.nats_jetstream import NatsJetStream
from waypost.adapters.publishers.redis_streams import RedisStreams
from waypost.kernel.ids import show
from waypost.outbox.model import News, OutboxKind
from waypost.outbox.ports import Outgoing, PublisherDown


class Broker:
    """Keeps what it takes; refuses or is away as it is told."""

    name, reader = "redis", 2

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []
        self.refuses: set[str] = set()
        self.away = False

    async def publish(self, events: Sequence[Outgoing]) -> Sequence[bool]:
        if self.away:
            raise PublisherDown("away")
        taken = [json.loads(event.body)["subject"] not in self.refuses for event in events]
        self.kept += [json.loads(event.body) for event, is_taken in zip(events, taken, strict=True) if is_taken]
        return taken

    async def close(self) -> None: ...


async def drain(hall: Any, relay: Any) -> None:
    [publisher] = relay._publishers
    while await relay.publish_round(publisher):
        pass


async def test_every_tenant_s_news_goes_out_as_cloud_events(hall: Any) -> None:
    await hall.make_tenant("globex")
    broker = Broker()
    relay = hall.relay(broker)
    await hall.tell(await hall.notification())
    await drain(hall, relay)
    assert broker.kept == [], "from now on, not from before"
    await relay.register()
    told, other = await hall.notification(order=7), await hall.notification("globex")
    await hall.tell(told)
    await hall.tell(other, tenant="globex")
    await drain(hall, relay)
    events = {event["tenantid"]: event for event in broker.kept}
    event = events["acme"]
    assert event["specversion"] == "1.0"
    assert event["source"] == "/tenants/acme"
    assert event["type"] == "notification.dispatched"
    assert event["subject"] == show("ntf", told)
    assert event["partitionkey"] == f"acme/{show('ntf', told)}"
    assert event["data"]["metadata"] == {"order": 7}
    assert int(event["sequence"]) == event["data"]["sequence"]
    assert "outoforder" not in event
    assert events["globex"]["subject"] == show("ntf", other)
    assert await hall.count("outbox_unread") == 0
    assert b"hush" not in json.dumps(broker.kept).encode()


async def test_order_holds_per_subject_whatever_the_batches(hall: Any) -> None:
    broker = Broker()
    relay = hall.relay(broker)
    await relay.register()
    subjects = [await hall.notification() for _ in range(5)]
    for n in range(1, 9):
        for subject in subjects[:: 1 if n % 2 else -1]:
            await hall.tell(subject, kind=OutboxKind.NOTIFICATION_DEFERRED, n=n)
    async with hall.worker.begin("acme") as tx:
        kinds = (OutboxKind.NOTIFICATION_DEFERRED, OutboxKind.NOTIFICATION_FAILED)
        await PgOutbox().append(tx, [News(kind=kind, subject_id=subjects[0], n=9) for kind in kinds])
    await drain(hall, relay)
    for subject in subjects:
        numbers = [event["data"]["attempt"] for event in broker.kept if event["subject"] == show("ntf", subject)]
        assert numbers == sorted(numbers)
        sequences = [event["sequence"] for event in broker.kept if event["subject"] == show("ntf", subject)]
        assert sequences == sorted(set(sequences)), "each later event has a greater number"
    assert broker.kept[-1]["type"] == "notification.failed"


async def test_a_late_commit_is_not_skipped(hall: Any) -> None:
    """R19: the earlier id commits later. A cursor would have passed it by."""
    broker = Broker()
    relay = hall.relay(broker)
    await relay.register()
    early, late = await hall.notification(), await hall.notification()
    async with hall.worker.begin("acme") as slow:
        await PgOutbox().append(slow, [News(kind=OutboxKind.NOTIFICATION_DISPATCHED, subject_id=early, n=1)])
        await hall.tell(late)
        await drain(hall, relay)
        assert [event["subject"] for event in broker.kept] == [show("ntf", late)]
    await drain(hall, relay)
    assert [event["subject"] for event in broker.kept] == [show("ntf", late), show("ntf", early)]


async def test_a_refused_event_holds_up_its_subject_for_an_hour_and_no_other(hall: Any) -> None:
    broker = Broker()
    relay = hall.relay(broker)
    await relay.register()
    stuck, free = await hall.notification(), await hall.notification()
    broker.refuses = {show("ntf", stuck)}
    await hall.tell(stuck, kind=OutboxKind.NOTIFICATION_DEFERRED, n=1)
    await drain(hall, relay)
    await hall.tell(stuck, kind=OutboxKind.NOTIFICATION_DEFERRED, n=2)
    await hall.tell(free, n=1)
    await drain(hall, relay)
    assert [event["subject"] for event in broker.kept] == [show("ntf", free)]
    refused_first = broker.publish

    async def refuse_the_first(events: Sequence[Outgoing]) -> Sequence[bool]:
        broker.refuses = set()
        bad = {
            event.id for event in events if json.loads(event.body)["data"]["attempt"] == 1 and "deferred" in event.type
        }
        taken = [event.id not in bad for event in events]
        broker.kept += [json.loads(event.body) for event, is_taken in zip(events, taken, strict=True) if is_taken]
        return taken

    broker.publish = refuse_the_first  # type: ignore[method-assign]
    for _ in range(11):
        await hall.later(minutes=5)
        await drain(hall, relay)
    assert [event["data"]["attempt"] for event in broker.kept] == [1], "only the free one, for an hour"
    for _ in range(4):
        await hall.later(minutes=5)
        await drain(hall, relay)
    overtaking = broker.kept[-1]
    assert (overtaking["data"]["attempt"], overtaking["outoforder"]) == (2, True)
    broker.publish = refused_first  # type: ignore[method-assign]
    await hall.later(hours=13)
    await drain(hall, relay)
    assert broker.kept[-1]["data"]["attempt"] == 1
    assert "outoforder" not in broker.kept[-1]
    assert await hall.count("publish_backlog") == 0


async def test_an_event_refused_for_three_days_is_given_up_and_said_so(hall: Any, capsys: Any) -> None:
    broker = Broker()
    relay = hall.relay(broker)
    await relay.register()
    stuck = await hall.notification()
    broker.refuses = {show("ntf", stuck)}
    await hall.tell(stuck)
    for _ in range(100):
        await drain(hall, relay)
        await hall.later(hours=1)
    assert await hall.count("publish_backlog") == 0
    assert "publish_given_up" in "".join(capsys.readouterr())


async def test_a_broker_that_is_away_holds_up_everything_and_loses_nothing(hall: Any) -> None:
    broker = Broker()
    relay = hall.relay(broker)
    await relay.register()
    made = await hall.endpoint()
    subject = await hall.notification()
    broker.away = True
    for n in range(1, 4):
        await hall.tell(subject, kind=OutboxKind.NOTIFICATION_DEFERRED, n=n)
    with pytest.raises(PublisherDown):
        await drain(hall, relay)
    await hall.step(relay)
    assert len(await hall.log(made.endpoint.id)) == 3, "webhooks do not wait for a broker"
    broker.away = False
    await drain(hall, relay)
    assert [event["data"]["attempt"] for event in broker.kept] == [1, 2, 3]
    assert not any("outoforder" in event for event in broker.kept)


async def test_a_publisher_that_nobody_runs_for_a_week_is_forgotten(hall: Any) -> None:
    await hall.relay(Broker()).register()
    await hall.later(hours=24 * 6)
    await hall.relay().register()
    assert await hall.count("publishers") == 1
    await hall.later(hours=24 * 2)
    await hall.relay().register()
    assert await hall.count("publishers") == 0
    await hall.tell(await hall.notification())
    assert await hall.count("outbox_unread") == 0


async def tell_a_few(hall: Any, relay: Any) -> list[str]:
    await relay.register()
    subjects = [await hall.notification() for _ in range(3)]
    for n in (1, 2):
        await hall.tell(*subjects, kind=OutboxKind.NOTIFICATION_DEFERRED, n=n)
    await hall.tell(*subjects, n=3)
    await drain(hall, relay)
    return [show("ntf", subject) for subject in subjects]


def check_order(subjects: Sequence[str], events: Sequence[dict[str, Any]]) -> None:
    for subject in subjects:
        assert [event["data"]["attempt"] for event in events if event["subject"] == subject] == [1, 2, 3]


async def test_redis_streams(hall: Any, redis_server: str) -> None:
    import redis.asyncio as redis

    publisher = RedisStreams(f"{redis_server}?stream=mine&maxlen=1000")
    subjects = await tell_a_few(hall, hall.relay(publisher))
    client = redis.from_url(redis_server)
    entries = [fields for _, fields in await client.xrange("mine")]
    assert set(entries[0]) == {b"id", b"type", b"key", b"event"}
    assert len({fields[b"id"] for fields in entries}) == 9
    check_order(subjects, [json.loads(fields[b"event"]) for fields in entries])
    await client.delete("mine")
    await client.set("mine", "not a stream")
    await hall.tell(await hall.notification())
    with pytest.raises(PublisherDown):
        await drain(hall, hall.relay(publisher))
    await client.delete("mine")
    await drain(hall, hall.relay(publisher))
    assert await client.xlen("mine") == 1
    await publisher.close()
    await client.aclose()


async def test_nats_jetstream(hall: Any, nats_server: str) -> None:
    import nats

    publisher = NatsJetStream(nats_server)
    subjects = await tell_a_few(hall, hall.relay(publisher))
    client = await nats.connect(nats_server)
    jetstream = client.jetstream()
    subscription = await jetstream.subscribe("waypost.events.acme.notification.*", ordered_consumer=True)
    messages = [await subscription.next_msg(timeout=5) for _ in range(9)]
    events = [json.loads(message.data) for message in messages]
    check_order(subjects, events)
    assert messages[0].headers["Nats-Msg-Id"] == events[0]["id"]
    # What comes twice is kept once.
    again = Outgoing(id=events[0]["id"], key="k", tenant_id="acme", type=events[0]["type"], body=messages[0].data)
    assert list(await publisher.publish([again])) == [True]
    assert (await jetstream.stream_info("waypost-events")).state.messages == 9
    huge = Outgoing(id="evt_huge", key="k", tenant_id="acme", type="notification.failed", body=b"x" * 2_000_000)
    assert list(await publisher.publish([huge, again])) == [False, True]
    await publisher.close()
    await client.close()


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "nats://127.0.0.1:1"])
async def test_nothing_listening_is_a_broker_that_is_away(url: str) -> None:
    publisher = RedisStreams(url) if url.startswith("redis") else NatsJetStream(url)
    event = Outgoing(id="evt_1", key="k", tenant_id="acme", type="t", body=b"{}")
    with pytest.raises(PublisherDown):
        await asyncio.wait_for(publisher.publish([event]), timedelta(seconds=30).total_seconds())
    await publisher.close()
