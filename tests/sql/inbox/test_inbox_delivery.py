"""Notifications of the channel `inapp`: each lands in the inbox that it names."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from waypost.adapters.postgres.inbox_delivery import PgInboxDelivery
from waypost.delivery.model import InboxCopy
from waypost.inbox.model import MOST_MADE, FeedFilter, PostContent
from waypost.inbox.sealing import seal_copy
from waypost.kernel.ids import mint
from waypost.kernel.vault import place


async def _deliver(house: Any, who: Any, inboxes: Sequence[str]) -> list[UUID]:
    """One for each, in one transaction of the worker, twice, as after a crash."""
    copies: list[tuple[UUID, InboxCopy]] = []
    delivery = PgInboxDelivery(bell=house.bell, clock=house.clock)
    async with house.sweeping.begin(house.tenant) as tx:
        wrapped = await tx.connection.fetchval("select data_key from recipients where id = $1", who.recipient_id)
        key = (await house.keyring.of(tx)).unwrap(wrapped, place("data_key", house.tenant, who.recipient_id))
        for inbox in inboxes:
            one = mint(house.clock)
            sealed = seal_copy(house.tenant, key, one, PostContent(title=f"For {inbox}"))
            copies.append((one, InboxCopy(recipient_id=who.recipient_id, inbox=inbox, topic="", content=sealed)))
        places = await delivery.deliver(tx.connection, house.tenant, copies)
    async with house.sweeping.begin(house.tenant) as tx:
        assert await delivery.deliver(tx.connection, house.tenant, copies) == places
    assert {place[2] for place in places} == {who.recipient_id}
    return [one for one, _ in copies]


async def _titles(house: Any, who: Any, inbox: str) -> set[str]:
    async with house.begin() as tx:
        page = await house.feed.page(tx, who, inbox, FeedFilter(), None, 100)
    return {message.content.title for message in page.items}


async def test_a_notification_lands_in_the_inbox_it_names_which_is_made_where_there_is_none(house: Any) -> None:
    jane = await house.make_person("jane")
    await _deliver(house, jane, ["alerts", "main", "alerts", "billing"])
    assert await _titles(house, jane, "main") == {"For main"}
    assert await _titles(house, jane, "billing") == {"For billing"}
    assert await house.counts(jane, "alerts") == (2, 2, {"": (2, 2)})
    assert await house.drift() == []


async def test_notifications_do_not_make_inboxes_without_end(house: Any) -> None:
    jane = await house.make_person("jane")
    named = [f"box-{number:03}" for number in range(MOST_MADE + 5)]
    await _deliver(house, jane, named)
    async with house.begin() as tx:
        made = [inbox.key for inbox in await house.inboxes.all(tx)]
    assert len(made) <= MOST_MADE
    # What found no inbox of its own is seen in the main one.
    assert await _titles(house, jane, "main") == {f"For {one}" for one in named if one not in made}
