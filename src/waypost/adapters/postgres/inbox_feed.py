"""One person's feed in PostgreSQL."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.inbox.model import Counts, Facts, FeedFilter, Reader, StoredMessage, Tally, Watermark
from waypost.inbox.ports import Place
from waypost.kernel.work import Transaction

_SQL: Final = load("inbox_feed")

Found = tuple[Reader, Sequence[StoredMessage]]


class PgInboxFeed:
    """Implements `inbox.ports.FeedStore`."""

    async def page(
        self,
        tx: Transaction,
        key: str,
        recipient_id: UUID,
        wanted: FeedFilter,
        *,
        before: UUID,
        now: datetime,
        limit: int,
    ) -> Found | None:
        rows = await connection_of(tx).fetch(
            _SQL["page"],
            tx.tenant_id,
            key,
            recipient_id,
            before,
            now,
            limit,
            wanted.topic,
            wanted.unread,
            wanted.archived,
            wanted.snoozed,
            wanted.pinned,
        )
        if not rows:
            return None
        reader = Reader(recipient_id=recipient_id, data_key=rows[0]["content"])
        return reader, [_message(row) for row in rows[1:]]

    async def messages(
        self, tx: Transaction, key: str, recipient_id: UUID, ids: Sequence[UUID], now: datetime
    ) -> Found | None:
        rows = await connection_of(tx).fetch(_SQL["messages"], tx.tenant_id, key, recipient_id, list(ids), now)
        if not rows:
            return None
        reader = Reader(recipient_id=recipient_id, data_key=rows[0]["data_key"])
        return reader, [_message(row) for row in rows]

    async def counts(
        self, tx: Transaction, key: str, recipient_ids: Sequence[UUID], now: datetime
    ) -> Mapping[UUID, Counts]:
        rows = await connection_of(tx).fetch(_SQL["counts"], tx.tenant_id, key, list(recipient_ids), now)
        found: dict[UUID, Counts] = {}
        tallies: dict[str, Tally] = {}
        for recipient_id, own_n, public_n, topic, total, unread in rows:
            if recipient_id is not None:
                tallies = {}
                found[recipient_id] = Counts(topics=tallies, own_n=own_n, public_n=public_n)
            elif topic in tallies:
                before = tallies[topic]
                tallies[topic] = Tally(total=before.total + total, unread=before.unread + unread)
            else:
                tallies[topic] = Tally(total=total, unread=unread)
        return {one: replace(counts, topics=_without_empty(counts.topics)) for one, counts in found.items()}

    async def hold(self, tx: Transaction, key: str, recipient_id: UUID) -> Place | None:
        row = await connection_of(tx).fetchrow(_SQL["hold_member"], tx.tenant_id, key, recipient_id)
        return None if row is None else Place(inbox_id=row["inbox_id"], recipient_id=recipient_id, n=row["n"])

    async def write(self, tx: Transaction, place: Place, changed: Sequence[tuple[StoredMessage, Facts]]) -> None:
        await connection_of(tx).execute(
            _SQL["write_facts"],
            tx.tenant_id,
            place.inbox_id,
            place.recipient_id,
            place.n,
            [message.id for message, _ in changed],
            [message.public for message, _ in changed],
            [message.topic for message, _ in changed],
            [message.expires_at for message, _ in changed],
            [facts.seen_at for _, facts in changed],
            [facts.read_at for _, facts in changed],
            [facts.archived_at for _, facts in changed],
            [facts.snoozed_until for _, facts in changed],
            [facts.pinned_at for _, facts in changed],
            [facts.clicked_at for _, facts in changed],
        )

    async def last_watermark(self, tx: Transaction, place: Place) -> tuple[Watermark | None, UUID]:
        row = await connection_of(tx).fetchrow(_SQL["last_watermark"], tx.tenant_id, place.inbox_id, place.recipient_id)
        if row is None:
            raise LookupError("The inbox was there a moment ago, and inboxes are never removed.")
        if row["n"] is None:
            return None, row["last_post"]
        drawn = Watermark(n=row["n"], at=row["at"], own_upto=row["own_upto"], public_upto=row["public_upto"])
        return drawn, row["last_post"]

    async def draw_watermark(self, tx: Transaction, place: Place, watermark: Watermark) -> None:
        await connection_of(tx).execute(
            _SQL["add_watermark"],
            tx.tenant_id,
            place.inbox_id,
            place.recipient_id,
            watermark.n,
            watermark.at,
            watermark.own_upto,
            watermark.public_upto,
        )

    async def unseen_notifications(self, tx: Transaction, place: Place, *, since: int, upto: UUID) -> Sequence[UUID]:
        rows = await connection_of(tx).fetch(
            _SQL["unseen_notifications"], tx.tenant_id, place.inbox_id, place.recipient_id, since, upto
        )
        return [row["post_id"] for row in rows]

    async def was_seen(self, tx: Transaction, recipient_id: UUID, notification_id: UUID) -> bool:
        return await connection_of(tx).fetchval(_SQL["was_seen"], tx.tenant_id, recipient_id, notification_id)

    async def forget(self, tx: Transaction, recipient_id: UUID) -> int:
        connection = connection_of(tx)
        gone = 0
        for row in await connection.fetch(_SQL["memberships"], tx.tenant_id, recipient_id):
            place = (tx.tenant_id, row["inbox_id"], recipient_id)
            done = await connection.execute(_SQL["forget_items"], *place)
            gone += int(done.rsplit(" ", 1)[-1])
            await connection.execute(_SQL["forget_member"], *place)
        await connection.execute(_SQL["forget_token_ends"], tx.tenant_id, recipient_id)
        return gone


def _without_empty(topics: Mapping[str, Tally]) -> Mapping[str, Tally]:
    return {topic: tally for topic, tally in topics.items() if tally.total or tally.unread}


def _message(row: Record) -> StoredMessage:
    # By place, not by name: a page has a hundred of them to read.
    post_id, public, is_notification, topic, content, is_shared, expires_at, *facts = row
    return StoredMessage(post_id, public, is_notification, topic, content, is_shared, expires_at, Facts(*facts[:6]))
