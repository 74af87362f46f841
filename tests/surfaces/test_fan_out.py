"""Messages that the database writes to many at once: the same as each would get alone, only stored by reference."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.batch_desk import SCOPE, Desk, desk

from waypost.campaigns.model import Audience, Batch, BatchMessage, BatchState
from waypost.delivery.model import State
from waypost.kernel.errors import Unavailable
from waypost.kernel.ids import show
from waypost.kernel.shared_payload import is_shared
from waypost.kernel.tracking import Tracking

__all__ = ["desk"]

_ROWS = """
select m.recipient_id, m.id, m.request_id, m.address_id, m.channel, m.category, m.topic, m.priority, m.status, m.reason,
       m.gate, m.version_id, m.locale, m.expires_at - m.send_at as lives, m.payload, q.attempt, q.claims, q.retention,
       array(select t.event || ' ' || t.reason || ' ' || t.detail::text from timeline t where t.notification_id = m.id)
       as notes
from notification_dedupe d join notifications m on m.id = d.notification_id left join queue q on q.id = m.id
where d.dedupe_key = $1 order by m.recipient_id
"""
_NEVER_THE_SAME = {"id", "request_id", "payload"}


async def rows_of(desk: Desk, batch: Batch) -> list[dict[str, Any]]:
    return [dict(row) for row in await desk.ask(_ROWS, batch.dedupe_key)]


async def opened(desk: Desk, notification_id: Any) -> Any:
    """Its inputs, as every reader gets them."""
    read = desk.app.notifications.read
    async with desk.app.work.begin("acme") as tx:
        return await read._opener.payload(tx, await read._find(tx, SCOPE, notification_id))


async def by_themselves(tx: Any, scope: Any, command: Any, people: Any, kinds: Any) -> None:
    """Nobody is written to together with others."""


async def publish(acme: Any, key: str, category: str, topic: str | None = None) -> None:
    await acme.ok("POST", "/v1/templates", {"key": key, "name": key, "category": category, "topic": topic})
    away = '<a href="{{ unsubscribe_url }}">stop</a>'
    words = {
        "locales": {
            "en": {"subject": "News for {{ first_name }}", "body": "<p>{{ points | default(0) }}</p>" + away},
            "de": {
                "subject": "Neues für {{ recipient.first_name }} von {{ tenant.name }}",
                "body": "{{ deal }}" + away,
            },
            "fr": {"subject": "Pour {{ first_name }}", "body": "<p>{{ recipient.locale }} {{ deal }}</p>" + away},
        }
    }
    await acme.ok("POST", f"/v1/templates/{key}/email/versions", words)
    await acme.ok("POST", f"/v1/templates/{key}/email/versions/1.0.0/publish")


def around(zone: str | None, hours: int) -> dict[str, str]:
    """Six hours of the day, in the middle of which it will be so many hours from now."""
    middle = datetime.now(UTC).astimezone(ZoneInfo(zone or "UTC")) + timedelta(hours=hours)
    start, end = middle - timedelta(hours=3), middle + timedelta(hours=3)
    return {"start": f"{start:%H:%M}", "end": f"{end:%H:%M}"}


async def make_people(acme: Any, platform: Any, chance: random.Random, count: int) -> None:
    """Of whom anything may be known that the gate reads."""
    for number in range(count):
        who, zone = f"person-{number}", chance.choice([None, None, "Asia/Tokyo"])
        email = f"p{number}@example.com"
        body = {
            "email": email if chance.random() < 0.9 else None,
            "locale": chance.choice([None, "en", "de-AT", "fr"]),
            "timezone": zone,
            "attributes": {"first_name": f"N{number}", "points": number},
        }
        await acme.ok("PUT", f"/v1/recipients/{who}", body)
        if chance.random() < 0.2:
            await acme.ok("POST", f"/v1/recipients/{who}/addresses", {"channel": "email", "address": f"other-{email}"})
        chosen: dict[str, Any] = {}
        if chance.random() < 0.2:
            chosen["quiet_hours"] = around(zone, chance.choice([0, 12]))
        if chance.random() < 0.4:
            chosen["channels"] = {
                "email": chance.choice(
                    [
                        {"topics": {"letter": True}},
                        {"topics": {"letter": False}},
                        {"enabled": False},
                        {"categories": {"reminder": False}},
                        {"tracking": False},
                    ]
                )
            }
        if chosen:
            await acme.ok("PUT", f"/v1/recipients/{who}/preferences", chosen)
        for state in chance.choice([[], ["granted"], ["pending", "granted"], ["granted", "withdrawn"]]):
            said = {"topic": chance.choice(["letter", None]), "channel": "email", "state": state, "source": "test"}
            await acme.ok("POST", f"/v1/recipients/{who}/consents", said)
        if chance.random() < 0.15:
            against = {"channel": "email", "address": email, "reason": chance.choice(["manual", "opt_out"])}
            suppressed = await acme.ok("POST", "/v1/suppressions", against)
            if chance.random() < 0.3:
                await acme.ok("DELETE", f"/v1/suppressions/{suppressed['id']}")
        if chance.random() < 0.05:
            await platform.ok("POST", "/v1/suppressions", {"channel": "email", "address": email, "reason": "manual"})


@pytest.mark.parametrize("seed", [3, 8])
async def test_both_ways_write_the_same_whatever_is_known(
    desk: Desk, acme: Any, platform: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance, by_reference = random.Random(seed), 0
    await acme.ok("PUT", "/v1/topics/letter", {"title": "Letter", "category": "marketing", "default": "opted_out"})
    await publish(acme, "letter", "marketing", "letter")
    await publish(acme, "reminder", "reminder")
    await publish(acme, "receipt", "transactional")
    await make_people(acme, platform, chance, 24)
    past = "expires_at = now() - interval '1 day' where reason = 'manual' and id::text ~ '[0-7]$'"
    await desk.ask(f"update suppressions set {past} returning id")
    for template in ("letter", "reminder", "receipt"):
        message = BatchMessage(
            template=template,
            variables={"deal": {"a": 1}},
            metadata={"campaign": template},
            headers=(("X-Kind", template),),
            reply_to="help@example.com",
            tracking=Tracking(opens=True),
        )
        together = await desk.make(message=message)
        await desk.expansion.work_off()
        monkeypatch.setattr(desk.expansion, "_fan_out", by_themselves)
        alone = await desk.make(message=message)
        await desk.expansion.work_off()
        monkeypatch.undo()
        assert (await desk.find(together)).state is (await desk.find(alone)).state is BatchState.COMPLETED
        ours, theirs = await rows_of(desk, together), await rows_of(desk, alone)
        assert len(ours) == len(theirs) == 36
        for one, other in zip(ours, theirs, strict=True):
            assert {name: value for name, value in one.items() if name not in _NEVER_THE_SAME} == {
                name: value for name, value in other.items() if name not in _NEVER_THE_SAME
            }
            assert await opened(desk, one["id"]) == await opened(desk, other["id"])
            assert not is_shared(other["payload"])
            by_reference += is_shared(one["payload"])
        assert (await desk.totals(together)).states == (await desk.totals(alone)).states
    assert by_reference > 10


async def test_content_stays_as_it_was_whatever_becomes_of_the_recipient(desk: Desk, acme: Any) -> None:
    batch = await desk.make(message=BatchMessage(template="hello", metadata={"campaign": "spring"}))
    await desk.expansion.work_off()
    row = next(row for row in await rows_of(desk, batch) if is_shared(row["payload"]))
    path = f"/v1/notifications/{show('ntf', row['id'])}"
    shown = await acme.ok("GET", path)
    assert shown["metadata"] == {"campaign": "spring"}
    assert "@example.com" in shown["to"]
    before = await acme.ok("GET", f"{path}/content")
    assert before["subject"].startswith("Hello U")
    who = shown["recipient_id"]
    await acme.ok("PATCH", f"/v1/recipients/{who}", {"email": "new@example.com", "attributes": {"first_name": "New"}})
    assert await acme.ok("GET", f"{path}/content") == before
    await acme.ok("DELETE", f"/v1/recipients/{who}")
    assert (await acme.refused("GET", f"{path}/content"))[:2] == (404, "erased")
    gone = await acme.ok("GET", path)
    assert (gone["to"], gone["metadata"], gone["status"]) == (None, {}, "cancelled")


async def test_a_message_moves_with_its_recipient_into_another(desk: Desk, acme: Any) -> None:
    batch = await desk.make()
    await desk.expansion.work_off()
    row = next(row for row in await rows_of(desk, batch) if is_shared(row["payload"]))
    path = f"/v1/notifications/{show('ntf', row['id'])}"
    before, who = await acme.ok("GET", f"{path}/content"), (await acme.ok("GET", path))["recipient_id"]
    await acme.ok("PUT", "/v1/recipients/heir", {"attributes": {"first_name": "Heir"}})
    await acme.ok("POST", "/v1/recipients/heir/merge", {"from": who})
    assert await acme.ok("GET", f"{path}/content") == before
    assert (await acme.ok("GET", path))["recipient_id"] == "heir"
    [moved] = [one for one in await rows_of(desk, batch) if one["id"] == row["id"]]
    assert moved["recipient_id"] != row["recipient_id"]
    assert moved["address_id"] != row["address_id"]


async def test_a_step_that_breaks_off_leaves_nothing_and_is_done_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = await desk.make()
    desk.steps = 2  # the start, and the first few
    await desk.expansion.work_off()
    written = await rows_of(desk, batch)
    whole = desk.store.advance

    async def lost(*_: Any) -> None:
        raise Unavailable("gone")

    monkeypatch.setattr(desk.store, "advance", lost)
    desk.steps = 1
    with pytest.raises(Unavailable):
        await desk.expansion.work_off()
    assert await rows_of(desk, batch) == written
    assert (await desk.ask("select count(*) as n from queue"))[0]["n"] == len(written)
    monkeypatch.setattr(desk.store, "advance", whole)
    desk.steps = 1_000
    await desk.expansion.work_off()
    # As if the place of the last chunk had not been kept: everybody has theirs.
    await desk.ask(
        "update dispatch_batches set place = '00000000-0000-0000-0000-000000000000', state = 'running',"
        " next_step_at = now(), finished_at = null returning id"
    )
    await desk.expansion.work_off()
    assert (await desk.totals(batch)).states == {State.QUEUED: 12}
    assert sum(is_shared(row["payload"]) for row in await rows_of(desk, batch)) == 7
    assert len(await desk.ask("select id from shared_inputs")) == 1


async def test_whom_the_message_proves_not_to_fit_later_is_told_at_sending(desk: Desk, acme: Any) -> None:
    """Everybody behind the first few has a message, which ends as failed where it cannot be made."""
    await acme.ok("PATCH", "/v1/recipients/user-11", {"attributes": {"first_name": None}})
    batch = await desk.make()
    await desk.expansion.work_off()
    assert (await desk.find(batch)).refused == 0
    last = next(row for row in await rows_of(desk, batch) if row["attempt"] == 0 and is_shared(row["payload"]))
    assert last["gate"] == 1
    payloads = [await opened(desk, row["id"]) for row in await rows_of(desk, batch)]
    assert sum("first_name" not in payload.context for payload in payloads) == 1


async def test_another_tenant_s_shared_inputs_are_not_read(desk: Desk, acme: Any) -> None:
    batch = await desk.make()
    await desk.expansion.work_off()
    row = next(row for row in await rows_of(desk, batch) if is_shared(row["payload"]))
    inputs = desk.app.notifications.read._opener._inputs
    async with desk.app.work.begin("acme") as tx:
        assert len(await inputs.of(tx, [row["payload"]])) == 1
    await acme.make_tenant("globex")
    async with desk.app.work.begin("globex") as tx:
        assert await inputs.of(tx, [row["payload"]]) == {}


async def test_a_pace_is_kept_by_both_ways(desk: Desk) -> None:
    batch = await desk.make(Audience(), per_minute=3)
    await desk.expansion.work_off()
    started = (await desk.find(batch)).started_at
    rows = await desk.ask("select send_at, payload from notifications order by send_at")
    minutes = [round((row["send_at"] - started) / timedelta(minutes=1)) for row in rows]
    assert minutes == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    assert sum(is_shared(row["payload"]) for row in rows) == 9
    # Cancelling stops both sorts.
    await desk.cancel(batch)
    assert (await desk.totals(batch)).states == {State.CANCELLED: 12}


async def test_people_who_have_said_the_same_are_written_to_together(desk: Desk, acme: Any) -> None:
    """A newsletter for those who asked for it: each has a preference and a consent, and all have the same."""
    await acme.ok("PUT", "/v1/topics/letter", {"title": "Letter", "category": "marketing", "default": "opted_out"})
    await publish(acme, "letter", "marketing", "letter")
    for number in range(12):
        path = f"/v1/recipients/user-{number}"
        said = {"topic": "letter", "channel": "email", "state": "granted", "source": "test"}
        await acme.ok("POST", f"{path}/consents", said)
        await acme.ok("PUT", f"{path}/preferences", {"channels": {"email": {"topics": {"letter": number != 8}}}})
    batch = await desk.make(message=BatchMessage(template="letter", variables={"deal": "x"}))
    await desk.expansion.work_off()
    rows = await rows_of(desk, batch)
    assert sum(is_shared(row["payload"]) for row in rows) == 6
    assert [row["notes"] for row in rows if row["notes"]] == [
        ['suppressed topic_off {"topic": "letter", "channel": "email"}']
    ]
