"""What people want is asked again at dispatch: between being queued and being claimed, everything may have changed."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from tests.remembering_vendor import Vendor, all_in

from waypost.adapters.postgres.preferences import PgChoices
from waypost.delivery.model import State
from waypost.kernel.vocabulary import Category, Channel
from waypost.preferences.model import ChannelChoice, Choices, ConsentPolicy, Policy, QuietHours

NOW = datetime.now(UTC)


async def person_of(office: Any, notification_id: UUID) -> UUID:
    return await office.admin.fetchval("select recipient_id from notifications where id = $1", notification_id)


async def choose(office: Any, person: UUID, choices: Choices) -> None:
    async with office.api_work.begin("acme") as tx:
        store = PgChoices()
        await store.find_for_change(tx, person)
        await store.put(tx, person, choices)
        await store.watch(tx, person, always=choices.quiet_hours is not None)


def around_now() -> QuietHours:
    """Three hours of silence on the clock of UTC, in the middle of which is now."""
    minute = datetime.now(UTC).hour * 60 + datetime.now(UTC).minute
    return QuietHours(start=(minute - 90) % 1440, end=(minute + 90) % 1440)


async def test_a_topic_turned_off_meanwhile_is_not_sent(office: Any) -> None:
    [blocked, free] = await office.submit(2, category=Category.OPERATIONAL)
    await office.admin.execute("update notifications set topic = 'news'")
    off = ChannelChoice(topics={"news": False})
    await choose(office, await person_of(office, blocked), Choices(channels={Channel.EMAIL: off}, updated_at=NOW))
    worker, vendor = await office.worker(), Vendor()
    async with office.running(worker.dispatcher(office, vendor)):
        await office.until(lambda: all_in(office, State.DISPATCHED, [free]))
        await office.until(lambda: all_in(office, State.SUPPRESSED, [blocked]))
    assert list(vendor.taken) == [free]
    reason = await office.admin.fetchval("select reason from notifications where id = $1", blocked)
    assert reason == "topic_off"


async def test_quiet_hours_put_off_at_dispatch_too(office: Any) -> None:
    [waits, free, urgent] = await office.submit(3, category=Category.OPERATIONAL)
    await office.admin.execute("update notifications set priority = 0 where id = $1", urgent)
    for one in (waits, urgent):
        await choose(office, await person_of(office, one), Choices(quiet_hours=around_now(), updated_at=NOW))
    worker, vendor = await office.worker(), Vendor()

    async def put_off() -> bool:
        due = await office.admin.fetchval("select due from queue where id = $1", waits)
        return due is not None and due > datetime.now(UTC) + timedelta(minutes=80)

    async with office.running(worker.dispatcher(office, vendor)):
        await office.until(lambda: all_in(office, State.DISPATCHED, [free, urgent]))
        await office.until(put_off)
    assert set(vendor.taken) == {free, urgent}
    async with office.api_work.begin("acme") as tx:
        [entry] = await office.delivery.timeline(tx, waits)
    assert (entry.event, entry.reason) == ("deferred", "quiet_hours")


async def test_what_a_tenant_changes_for_all_holds_for_what_is_queued(office: Any) -> None:
    adverts = await office.submit(3, category=Category.MARKETING)
    receipts = await office.submit(2)
    async with office.api_work.begin("acme") as tx:
        await PgChoices().put_policy(tx, Policy(consent_policy=ConsentPolicy.EXPLICIT), NOW)
        await PgChoices().watch_everyone(tx, always=False)
    worker, vendor = await office.worker(), Vendor()
    async with office.running(worker.dispatcher(office, vendor)):
        await office.until(lambda: all_in(office, State.DISPATCHED, receipts))
        await office.until(lambda: all_in(office, State.SUPPRESSED, adverts))
    assert set(vendor.taken) == set(receipts)
