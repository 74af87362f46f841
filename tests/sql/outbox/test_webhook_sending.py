"""Webhooks on a real database, to a real server: told once, signed, tried again, slowed down, disabled."""

import asyncio
import json
import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from standardwebhooks import Webhook
from tests.web_peer import Asked, Reply

from waypost.kernel.errors import Conflict
from waypost.outbox.endpoints import EndpointChange
from waypost.outbox.model import OutboxKind
from waypost.outbox.rules import PATIENCE
from waypost.outbox.webhook_model import DeliveryState, EndpointStatus


def answers(*replies: Reply) -> Any:
    left = list(replies)

    async def behave(asked: Asked) -> Reply:
        return left.pop(0) if len(left) > 1 else left[0]

    return behave


async def test_an_event_arrives_signed_and_says_what_happened(hall: Any) -> None:
    made = await hall.endpoint(events=["notification.*"])
    told = await hall.notification(order="A-1001")
    await hall.tell(told)
    await hall.step(hall.relay())
    [asked] = hall.peer.asked
    body = Webhook(made.secret).verify(asked.body, asked.headers)
    assert list(body) == ["id", "type", "timestamp", "data"]
    assert body["type"] == "notification.dispatched"
    assert body["id"] == asked.headers["webhook-id"]
    assert body["data"]["metadata"] == {"order": "A-1001"}
    assert body["data"]["status"] == "dispatched"
    assert body["data"]["attempt"] == 1
    assert body["data"]["sequence"] > 0
    assert b"hush" not in asked.body
    [log] = await hall.log(made.endpoint.id)
    assert log.delivery.state is DeliveryState.DELIVERED
    assert [(one.status, one.answer) for one in log.attempts] == [(200, "thank you")]
    assert await hall.count("outbox_unread") == 0
    assert await hall.count("outbox") == 1


async def test_where_nobody_listens_nothing_is_kept_but_the_news(hall: Any) -> None:
    await hall.tell(uuid4())
    assert await hall.count("outbox") == 1
    assert await hall.count("outbox_unread") == 0
    made = await hall.endpoint()
    async with hall.api.begin("acme") as tx:
        off = EndpointChange(status=EndpointStatus.DISABLED)
        await hall.endpoints.change(tx, hall.scope(), made.endpoint.id, off)
    await hall.tell(uuid4())
    assert await hall.count("outbox_unread") == 0


async def test_each_endpoint_hears_what_it_listens_to(hall: Any) -> None:
    await hall.endpoint("/failed", events=["notification.failed"])
    await hall.endpoint("/all")
    await hall.endpoint("/suppressions", events=["suppression.*"])
    told = await hall.notification()
    await hall.tell(told)
    await hall.tell(told, kind=OutboxKind.NOTIFICATION_FAILED)
    await hall.step(hall.relay())
    assert sorted(asked.path for asked in hall.peer.asked) == ["/all", "/all", "/failed"]
    ids = {asked.headers["webhook-id"] for asked in hall.peer.asked if b"notification.failed" in asked.body}
    assert len(ids) == 1, "an event has one id, whoever is told"


async def test_retries_keep_the_id_and_end_with_success(hall: Any) -> None:
    made = await hall.endpoint()
    hall.peer.behave = answers(Reply(500, b"no \x00 jane@hush.example\r\nreally"), Reply(302), Reply(200))
    await hall.tell(await hall.notification())
    relay = hall.relay()
    for _ in range(3):
        await hall.step(relay)
        await hall.later(hours=1)
    ids = [asked.headers["webhook-id"] for asked in hall.peer.asked]
    assert len(ids) == 3
    assert len(set(ids)) == 1
    [log] = await hall.log(made.endpoint.id)
    assert [one.status for one in log.attempts] == [500, 302, 200]
    assert log.attempts[0].answer == "no j***@hush.example really"
    assert log.delivery.state is DeliveryState.DELIVERED


async def test_a_redirect_is_not_followed(hall: Any) -> None:
    await hall.endpoint()
    hall.peer.behave = answers(Reply(307, b"", {"Location": f"{hall.peer.url}/elsewhere"}))
    await hall.tell(await hall.notification())
    await hall.step(hall.relay())
    assert [asked.path for asked in hall.peer.asked] == ["/hook"]


async def test_three_days_of_500_disable_the_endpoint_and_say_so(hall: Any, capsys: Any) -> None:
    random.seed(7)
    made = await hall.endpoint("/broken", events=["notification.*"])
    watcher = await hall.endpoint("/watcher", events=["webhook_endpoint.*"])

    async def behave(asked: Asked) -> Reply:
        return Reply(500 if asked.path == "/broken" else 200)

    hall.peer.behave = behave
    for _ in range(3):
        await hall.tell(await hall.notification())
    relay = hall.relay()
    began = hall.clock.now()
    while hall.clock.now() - began < PATIENCE + timedelta(hours=1):
        await hall.step(relay)
        await hall.later(minutes=20)
    async with hall.api.begin("acme") as tx:
        shown = await hall.endpoints.get(tx, hall.scope(), made.endpoint.id)
    assert (shown.status.value, shown.disabled_reason) == ("disabled", "failing")
    assert shown.disabled_at is not None
    assert PATIENCE <= shown.disabled_at - began <= PATIENCE + timedelta(hours=1)
    calls = [asked for asked in hall.peer.asked if asked.path == "/broken"]
    assert 15 < len(calls) < 120, "tried over three days, with growing pauses"
    [notice] = [asked for asked in hall.peer.asked if asked.path == "/watcher"]
    assert json.loads(notice.body)["type"] == "webhook_endpoint.disabled"
    assert json.loads(notice.body)["data"]["reason"] == "failing"
    assert watcher.endpoint.status.value == "enabled"
    assert await hall.count("audit", "action = 'webhook_endpoint.disabled'") == 1
    assert "webhook_disabled" in "".join(capsys.readouterr())
    before = len(hall.peer.asked)
    await hall.tell(await hall.notification())
    await hall.later(hours=5)
    await hall.step(relay)
    assert [asked.path for asked in hall.peer.asked[before:]] == []


async def test_an_event_is_given_up_after_three_days_and_another_is_not_held_up_by_it(hall: Any) -> None:
    made = await hall.endpoint()
    poison, good = await hall.notification(), await hall.notification()

    async def behave(asked: Asked) -> Reply:
        return Reply(500 if json.loads(asked.body)["data"]["notification_id"].endswith(bad) else 200)

    from waypost.kernel.ids import show

    bad = show("ntf", poison)[4:]
    hall.peer.behave = behave
    await hall.tell(poison)
    await hall.tell(good)
    relay = hall.relay()
    await hall.step(relay)
    states = {log.delivery.told.subject_id: log.delivery.state.value for log in await hall.log(made.endpoint.id)}
    assert states == {poison: "waiting", good: "delivered"}
    for _ in range(74):
        await hall.tell(await hall.notification())
        await hall.step(relay)
        await hall.later(hours=1)
    states = {log.delivery.told.subject_id: log for log in await hall.log(made.endpoint.id)}
    assert states[poison].delivery.state is DeliveryState.FAILED
    assert states[poison].attempts[-1].at - states[poison].attempts[0].at >= PATIENCE - timedelta(hours=1)
    assert await hall.count("webhook_endpoints", "status = 'enabled' and failing_since is null") == 1


async def test_410_disables_at_once(hall: Any) -> None:
    made = await hall.endpoint()
    hall.peer.behave = answers(Reply(410))
    for _ in range(3):
        await hall.tell(await hall.notification())
    await hall.step(hall.relay())
    assert len(hall.peer.asked) == 1
    async with hall.api.begin("acme") as tx:
        shown = await hall.endpoints.get(tx, hall.scope(), made.endpoint.id)
        assert (shown.status.value, shown.disabled_reason) == ("disabled", "gone")
        with pytest.raises(Conflict):
            await hall.deliveries.test(tx, hall.scope(), made.endpoint.id)
    hall.peer.behave = None
    async with hall.api.begin("acme") as tx:
        await hall.endpoints.change(tx, hall.scope(), made.endpoint.id, EndpointChange(status=EndpointStatus.ENABLED))
    await hall.step(hall.relay())
    await hall.later(minutes=10)
    await hall.step(hall.relay())
    assert {log.delivery.state.value for log in await hall.log(made.endpoint.id)} == {"delivered"}


async def test_retry_after_is_honoured(hall: Any) -> None:
    await hall.endpoint()
    hall.peer.behave = answers(Reply(429, b"slow", {"Retry-After": "7200"}), Reply(200))
    await hall.tell(await hall.notification())
    relay = hall.relay()
    await hall.step(relay)
    await hall.later(hours=1, minutes=59)
    await hall.step(relay)
    assert len(hall.peer.asked) == 1
    await hall.later(minutes=2)
    await hall.step(relay)
    assert len(hall.peer.asked) == 2


async def test_an_endpoint_that_never_answers_costs_its_time_out_and_no_one_else(hall: Any) -> None:
    hall.timeout = 0.3
    slow = await hall.endpoint("/slow")
    await hall.make_tenant("globex")
    await hall.endpoint("/quick", tenant="globex")

    quick = asyncio.Event()

    async def behave(asked: Asked) -> Reply | None:
        if asked.path == "/slow":
            return None
        quick.set()
        return Reply()

    hall.peer.behave = behave
    for _ in range(4):
        await hall.tell(await hall.notification())
    await hall.tell(await hall.notification("globex"), tenant="globex")
    relay = hall.relay()
    await relay.expand_round()
    await relay.send_round()
    await asyncio.wait_for(quick.wait(), 10)
    await relay.settle_turns()
    log = await hall.log(slow.endpoint.id)
    tried = [one for one in log if one.attempts]
    assert tried[0].attempts[0].fault == "timeout"
    assert len(tried) == 3, "after three in a row the rest is given back"


async def test_at_most_two_calls_at_a_time_and_a_ramp_after_an_outage(hall: Any) -> None:
    await hall.endpoint()
    down = True

    async def behave(asked: Asked) -> Reply:
        await asyncio.sleep(0.005)
        return Reply(503 if down else 200)

    hall.peer.behave = behave
    for _ in range(130):
        await hall.tell(*[await hall.notification()])
    relays = [hall.relay() for _ in range(3)]
    for _ in range(10):
        await asyncio.gather(*(hall.step(relay) for relay in relays))
        await hall.later(minutes=10)
    during = len(hall.peer.asked)
    assert during < 30, "an endpoint that is down is only probed"
    down = False
    per_second: list[int] = []
    for _ in range(12):
        before = len(hall.peer.asked)
        await asyncio.gather(*(hall.step(relay) for relay in relays))
        per_second.append(len(hall.peer.asked) - before)
        await hall.later(seconds=1.01)
    assert per_second[0] == 1
    assert all(later <= 2 * max(earlier, 1) + 2 for earlier, later in pairwise(per_second) if later < 64)
    assert hall.peer.most_open <= 2
    await hall.later(hours=13)
    for _ in range(20):
        await asyncio.gather(*(hall.step(relay) for relay in relays))
        await hall.later(hours=1)
    assert await hall.count("webhook_deliveries", "state = 'delivered'") == 130


async def test_rotation_signs_with_both_until_the_overlap_ends(hall: Any) -> None:
    made = await hall.endpoint()
    async with hall.api.begin("acme") as tx:
        new = await hall.endpoints.rotate(tx, hall.scope(), made.endpoint.id, overlap=timedelta(hours=2))
    await hall.tell(await hall.notification())
    relay = hall.relay()
    await hall.step(relay)
    [asked] = hall.peer.asked
    for secret in (made.secret, new.secret):
        assert Webhook(secret).verify(asked.body, asked.headers)
    assert len(asked.headers["webhook-signature"].split()) == 2
    await hall.later(hours=3)
    await hall.tell(await hall.notification())
    await hall.step(relay)
    assert len(hall.peer.asked[-1].headers["webhook-signature"].split()) == 1


async def test_a_test_event_goes_to_the_one_endpoint_that_was_asked(hall: Any) -> None:
    made = await hall.endpoint("/one", events=["suppression.added"])
    await hall.endpoint("/two")
    async with hall.api.begin("acme") as tx:
        await hall.deliveries.test(tx, hall.scope(), made.endpoint.id)
    await hall.step(hall.relay())
    [asked] = hall.peer.asked
    assert asked.path == "/one"
    assert json.loads(asked.body)["type"] == "webhook_endpoint.test"


async def test_a_replay_tells_a_stretch_of_time_again_with_the_same_ids(hall: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("waypost.outbox.expand._REPLAYED_AT_ONCE", 3)
    subjects = [await hall.notification() for _ in range(10)]
    for subject in subjects[:5]:
        await hall.tell(subject)
    made = await hall.endpoint(events=["notification.*"])
    for subject in subjects[5:]:
        await hall.tell(subject)
    await hall.step(hall.relay())
    first = {asked.headers["webhook-id"] for asked in hall.peer.asked}
    assert len(first) == 5
    hall.peer.asked.clear()
    await hall.later(minutes=1)
    async with hall.api.begin("acme") as tx:
        await hall.deliveries.replay(tx, hall.scope(), made.endpoint.id, since=datetime.now(UTC) - timedelta(hours=1))
    relay = hall.relay()
    while await relay.replay_round():
        pass
    await hall.step(relay)
    again = [asked.headers["webhook-id"] for asked in hall.peer.asked]
    assert len(again) == 10
    assert first < set(again)
    async with hall.api.begin("acme") as tx:
        [replay] = (await hall.deliveries.replays(tx, hall.scope(), made.endpoint.id, None, None)).items
    assert (replay.added, replay.done) == (10, True)


async def test_a_failed_delivery_is_tried_again_by_hand(hall: Any) -> None:
    made = await hall.endpoint()
    hall.peer.behave = answers(Reply(500), Reply(200))
    await hall.tell(await hall.notification())
    relay = hall.relay()
    await hall.step(relay)
    [log] = await hall.log(made.endpoint.id)
    await hall.admin.execute("update webhook_deliveries set state = 'failed'")
    await hall.later(seconds=30)
    async with hall.api.begin("acme") as tx:
        again = await hall.deliveries.retry(tx, hall.scope(), made.endpoint.id, log.delivery.id)
    assert again.delivery.state is DeliveryState.WAITING
    await hall.step(relay)
    [log] = await hall.log(made.endpoint.id)
    assert log.delivery.state is DeliveryState.DELIVERED
    assert len(log.attempts) == 2


async def test_an_erased_person_leaves_an_event_without_metadata(hall: Any) -> None:
    await hall.endpoint()
    told = await hall.notification(secret="hush")
    await hall.tell(told)
    await hall.admin.execute("update recipients set data_key = null, erased_at = now()")
    await hall.step(hall.relay())
    assert json.loads(hall.peer.asked[0].body)["data"]["metadata"] == {}


async def test_what_is_gone_is_told_to_nobody_and_ends(hall: Any) -> None:
    made = await hall.endpoint()
    await hall.tell(uuid4())
    await hall.step(hall.relay())
    assert hall.peer.asked == []
    [log] = await hall.log(made.endpoint.id)
    assert log.delivery.state is DeliveryState.FAILED


async def test_a_relay_that_died_in_a_call_is_followed_by_another(hall: Any) -> None:
    await hall.endpoint()
    await hall.tell(await hall.notification())
    arrived = asyncio.Event()

    async def hang(asked: Asked) -> None:
        arrived.set()

    hall.peer.behave = hang
    dying = hall.relay()
    await dying.expand_round()
    await dying.send_round()
    await asyncio.wait_for(arrived.wait(), 10)
    for task in list(dying._turns):
        task.cancel()
    hall.peer.behave = None
    other = hall.relay()
    await hall.step(other)
    assert len(hall.peer.asked) == 1, "not before the lease has ended"
    await hall.later(minutes=3)
    await hall.step(other)
    first, second = hall.peer.asked
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert await hall.count("webhook_deliveries", "state = 'delivered'") == 1
