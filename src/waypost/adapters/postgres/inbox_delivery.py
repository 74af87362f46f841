"""Notifications of the channel `inapp`, put into inboxes by the transaction that settles them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Connection
from waypost.adapters.postgres.inbox_posts import deliver
from waypost.adapters.postgres.queries import load
from waypost.delivery.model import InboxCopy
from waypost.inbox.bell import GatheringBell
from waypost.inbox.model import DEFAULT_INBOX, MOST_MADE, InboxSettings
from waypost.inbox.ports import Copy
from waypost.inbox.rules import expiry
from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint

_SQL: Final = load("inbox_delivery")
_TITLE: Final = "Notifications"
_ttl = msgspec.json.Decoder(dict[str, str])


class PgInboxDelivery:
    """A message's id is its notification's, so putting it there twice is as good as once."""

    def __init__(self, *, bell: GatheringBell, clock: Clock) -> None:
        self._bell = bell
        self._clock = clock

    async def deliver(
        self, connection: Connection, tenant_id: str, copies: Sequence[tuple[UUID, InboxCopy]]
    ) -> Sequence[tuple[str, UUID, UUID]]:
        """Says of which tenants in which inboxes whose feed has changed, for `announce` once all of it is committed."""
        now = self._clock.now()
        boxes = await self._inboxes(connection, tenant_id, {copy.inbox for _, copy in copies})
        written: dict[UUID, list[Copy]] = {box.id: [] for box in boxes.values()}
        for notification_id, copy in copies:
            # An inbox that was not made, because there are too many: what cannot go there is seen in the default one.
            box = boxes.get(copy.inbox) or boxes[DEFAULT_INBOX]
            written[box.id].append(
                Copy(
                    recipient_id=copy.recipient_id,
                    post_id=notification_id,
                    topic=copy.topic,
                    content=copy.content,
                    expires_at=expiry(now, own=None, topic=copy.topic, inbox=box.ttl, settings=box.chosen),
                )
            )
        for inbox_id, rows in written.items():
            if rows:
                await deliver(connection, tenant_id, inbox_id, rows, notifications=True)
        return [(tenant_id, inbox_id, copy.recipient_id) for inbox_id, rows in written.items() for copy in rows]

    def announce(self, places: Sequence[tuple[str, UUID, UUID]]) -> None:
        people: dict[tuple[str, UUID], set[UUID]] = {}
        for tenant_id, inbox_id, recipient_id in places:
            people.setdefault((tenant_id, inbox_id), set()).add(recipient_id)
        for (tenant_id, inbox_id), recipients in people.items():
            self._bell.owe_people(tenant_id, inbox_id, sorted(recipients))

    async def _inboxes(self, connection: Connection, tenant_id: str, keys: set[str]) -> Mapping[str, "_Box"]:
        """Those named, in the order in which their readers are held; with the default one where any is missing."""
        found = await self._find(connection, tenant_id, keys)
        if missing := keys - found.keys():
            made = sorted(missing | {DEFAULT_INBOX})
            titles = [_TITLE if key == DEFAULT_INBOX else key for key in made]
            ids, now = [mint(self._clock) for _ in made], self._clock.now()
            await connection.execute(
                _SQL["ensure_inboxes"], tenant_id, ids, made, titles, now, DEFAULT_INBOX, MOST_MADE
            )
            found = await self._find(connection, tenant_id, keys | {DEFAULT_INBOX})
        return found

    async def _find(self, connection: Connection, tenant_id: str, keys: set[str]) -> dict[str, "_Box"]:
        rows = await connection.fetch(_SQL["inboxes"], tenant_id, sorted(keys))
        return {
            row["key"]: _Box(
                id=row["id"],
                ttl=_ttl.decode(row["ttl"]),
                chosen=InboxSettings() if row["tenants_ttl"] is None else InboxSettings(ttl=row["tenants_ttl"]),
            )
            for row in rows
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class _Box:
    id: UUID
    ttl: Mapping[str, str]
    chosen: InboxSettings
