"""Notifications of the channel `inapp`, put into inboxes by the transaction that settles them."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Connection
from waypost.adapters.postgres.inbox_posts import deliver
from waypost.adapters.postgres.queries import load
from waypost.delivery.model import InboxCopy
from waypost.inbox.bell import GatheringBell
from waypost.inbox.model import DEFAULT_INBOX, InboxSettings
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
        inbox_id, ttl, chosen = await self._inbox(connection, tenant_id)
        written = [
            Copy(
                recipient_id=copy.recipient_id,
                post_id=notification_id,
                topic=copy.topic,
                content=copy.content,
                expires_at=expiry(now, own=None, topic=copy.topic, inbox=ttl, settings=chosen),
            )
            for notification_id, copy in copies
        ]
        await deliver(connection, tenant_id, inbox_id, written, notifications=True)
        return [(tenant_id, inbox_id, copy.recipient_id) for copy in written]

    def announce(self, places: Sequence[tuple[str, UUID, UUID]]) -> None:
        people: dict[tuple[str, UUID], set[UUID]] = {}
        for tenant_id, inbox_id, recipient_id in places:
            people.setdefault((tenant_id, inbox_id), set()).add(recipient_id)
        for (tenant_id, inbox_id), recipients in people.items():
            self._bell.owe_people(tenant_id, inbox_id, sorted(recipients))

    async def _inbox(self, connection: Connection, tenant_id: str) -> tuple[UUID, dict[str, str], InboxSettings]:
        row = await connection.fetchrow(_SQL["inbox"], tenant_id, DEFAULT_INBOX)
        if row is None:
            made = (tenant_id, mint(self._clock), DEFAULT_INBOX, _TITLE, self._clock.now())
            await connection.execute(_SQL["ensure_inbox"], *made)
            row = await connection.fetchrow(_SQL["inbox"], tenant_id, DEFAULT_INBOX)
        if row is None:
            raise LookupError("The inbox was made a moment ago, and inboxes are never removed.")
        chosen = InboxSettings() if row["tenants_ttl"] is None else InboxSettings(ttl=row["tenants_ttl"])
        return row["id"], _ttl.decode(row["ttl"]), chosen
