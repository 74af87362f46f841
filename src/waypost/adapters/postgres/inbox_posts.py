"""Posts, their copies and their audiences in PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Connection, Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.inbox.model import AudienceFilter, AudienceKind, Reach, StoredPost
from waypost.inbox.ports import Copy, Held, Holder, NewPost, Turn
from waypost.kernel.ids import moment_of
from waypost.kernel.work import Transaction

_SQL: Final = load("inbox_posts")
_FIRST: Final = UUID(int=0)
_HOLDERS_AT_ONCE: Final = 5_000


class PgInboxPosts:
    """Implements `inbox.ports.PostStore`."""

    async def take_turn(self, tx: Transaction, inbox_id: UUID) -> Turn:
        connection = connection_of(tx)
        row = await connection.fetchrow(_SQL["hold_inbox"], tx.tenant_id, inbox_id)
        if row is None:
            raise LookupError("The inbox was there a moment ago, and inboxes are never removed.")
        if row["lacks_sums"]:
            await _begin_sums(connection, tx.tenant_id, inbox_id)
        return Turn(n=row["n"] + 1, place=row["place"] + 1, last_post=row["last_post"])

    async def add_for_everyone(self, tx: Transaction, post: NewPost, turn: Turn) -> None:
        connection = connection_of(tx)
        await connection.execute(_SQL["advance_inbox"], tx.tenant_id, post.inbox_id, turn.n, turn.place, post.id)
        await connection.execute(_SQL["add_post"], *_columns(tx.tenant_id, post, turn.place, turn.n))
        await connection.execute(_SQL["count_post"], tx.tenant_id, post.inbox_id, turn.place, post.topic)

    async def add(self, tx: Transaction, post: NewPost) -> None:
        await connection_of(tx).execute(_SQL["add_post"], *_columns(tx.tenant_id, post, 0, 0))

    async def deliver(
        self, tx: Transaction, inbox_id: UUID, copies: Sequence[Copy], *, notifications: bool = False
    ) -> int:
        return await deliver(connection_of(tx), tx.tenant_id, inbox_id, copies, notifications=notifications)

    async def lock(self, tx: Transaction, inbox_id: UUID, post_id: UUID) -> Held | None:
        connection = connection_of(tx)
        # The inbox comes before its posts, as for whoever posts or sweeps.
        if await connection.fetchval(_SQL["audience_of"], tx.tenant_id, inbox_id, post_id) == AudienceKind.EVERYONE:
            await connection.fetchrow(_SQL["hold_inbox"], tx.tenant_id, inbox_id)
        row = await connection.fetchrow(_SQL["lock_post"], tx.tenant_id, inbox_id, post_id)
        if row is None:
            return None
        return Held(
            audience=AudienceKind(row["audience"]),
            topic=row["topic"],
            place=row["place"],
            redacted_at=row["redacted_at"],
            expires_at=row["expires_at"],
        )

    async def redact(self, tx: Transaction, inbox_id: UUID, post_id: UUID, held: Held, at: datetime) -> Sequence[UUID]:
        connection = connection_of(tx)
        if held.audience is AudienceKind.EVERYONE:
            n = await next_number(connection, tx.tenant_id, inbox_id)
            await connection.execute(_SQL["redact_post"], tx.tenant_id, inbox_id, post_id, at, n)
            await uncount(connection, tx.tenant_id, inbox_id, [(held.place, held.topic)])
            return []
        await connection.execute(_SQL["redact_post"], tx.tenant_id, inbox_id, post_id, at, 0)
        return await self._redact_copies(connection, tx.tenant_id, inbox_id, post_id, at)

    async def page(self, tx: Transaction, inbox_id: UUID, before: UUID, limit: int) -> Sequence[StoredPost]:
        rows = await connection_of(tx).fetch(_SQL["posts"], tx.tenant_id, inbox_id, before, _FIRST, limit)
        return [_post(row) for row in rows]

    async def find(self, tx: Transaction, inbox_id: UUID, post_id: UUID) -> StoredPost | None:
        after = UUID(int=post_id.int + 1)
        row = await connection_of(tx).fetchrow(_SQL["posts"], tx.tenant_id, inbox_id, after, post_id, 1)
        return None if row is None else _post(row)

    async def reach(self, tx: Transaction, inbox_id: UUID, post_ids: Sequence[UUID]) -> Mapping[UUID, Reach]:
        connection = connection_of(tx)
        rows = await connection.fetch(_SQL["reach"], tx.tenant_id, inbox_id, list(post_ids))
        found = {row["id"]: Reach(delivered=row["copies"], seen=row["seen"], read=row["read"]) for row in rows}
        public = {row["id"]: row["read_by_watermark"] for row in rows if row["audience"] == AudienceKind.EVERYONE}
        if public:
            moments = [moment_of(post_id) for post_id in public]
            everyone = 0
            for row in await connection.fetch(_SQL["joined"], tx.tenant_id, list(public), moments):
                post_id, by_watermark = row["post_id"], public[row["post_id"]]
                everyone += row["joined"]
                own = found[post_id]
                found[post_id] = Reach(delivered=everyone, seen=own.seen + by_watermark, read=own.read + by_watermark)
        return found

    async def _redact_copies(
        self, connection: Connection, tenant_id: str, inbox_id: UUID, post_id: UUID, at: datetime
    ) -> list[UUID]:
        redacted: list[UUID] = []
        after = _FIRST
        while True:
            rows = await connection.fetch(_SQL["holders"], tenant_id, inbox_id, post_id, after, _HOLDERS_AT_ONCE)
            if not rows:
                return redacted
            holders = [row["recipient_id"] for row in rows]
            numbers = await take_numbers(connection, tenant_id, inbox_id, holders)
            await connection.execute(
                _SQL["redact_copies"], tenant_id, inbox_id, post_id, at, list(numbers), list(numbers.values())
            )
            redacted += holders
            after = holders[-1]


class PgAudiences:
    """Implements `inbox.ports.Audiences`."""

    async def by_external_ids(self, tx: Transaction, ids: Sequence[str]) -> Sequence[Holder]:
        rows = await connection_of(tx).fetch(_SQL["holders_by_external_id"], tx.tenant_id, list(ids))
        return [
            Holder(recipient_id=row["id"], external_id=row["external_id"], data_key=row["data_key"]) for row in rows
        ]

    async def of_list(self, tx: Transaction, key: str, at_most: int) -> Sequence[UUID] | None:
        connection = connection_of(tx)
        list_id = await connection.fetchval(_SQL["list_id"], tx.tenant_id, key)
        if list_id is None:
            return None
        rows = await connection.fetch(_SQL["members_of_list"], tx.tenant_id, list_id, at_most)
        return [row["recipient_id"] for row in rows]

    async def of_filter(self, tx: Transaction, wanted: AudienceFilter, at_most: int) -> Sequence[UUID]:
        connection, tenant_id = connection_of(tx), tx.tenant_id
        everything, some = list(dict.fromkeys(wanted.all_tags)), list(dict.fromkeys(wanted.any_tags))
        if everything:
            first, rest = everything[0], everything[1:]
            rows = await connection.fetch(
                _SQL["members_of_tags"], tenant_id, first, rest, some, wanted.locale, wanted.kind, at_most
            )
        elif some:
            rows = await connection.fetch(
                _SQL["members_of_any_tag"], tenant_id, some, wanted.locale, wanted.kind, at_most
            )
        else:
            rows = await connection.fetch(_SQL["members_of_traits"], tenant_id, wanted.locale, wanted.kind, at_most)
        return [row["recipient_id"] for row in rows]


async def deliver(
    connection: Connection, tenant_id: str, inbox_id: UUID, copies: Sequence[Copy], *, notifications: bool = False
) -> int:
    """Holds everyone who gets a copy, in order, then writes the copies. Also used while a batch is settled."""
    people = sorted({copy.recipient_id for copy in copies})
    numbers = await take_numbers(connection, tenant_id, inbox_id, people)
    there = [copy for copy in copies if copy.recipient_id in numbers]
    await connection.execute(
        _SQL["add_copies"],
        tenant_id,
        inbox_id,
        [copy.recipient_id for copy in there],
        [copy.post_id for copy in there],
        [copy.topic for copy in there],
        [copy.content for copy in there],
        [numbers[copy.recipient_id] for copy in there],
        [copy.expires_at for copy in there],
        notifications,
    )
    return len(there)


async def take_numbers(
    connection: Connection, tenant_id: str, inbox_id: UUID, people: Sequence[UUID]
) -> dict[UUID, int]:
    """Holds these people, in order, and says the number of what changes now for each; the erased are left out."""
    rows = await connection.fetch(_SQL["take_numbers"], tenant_id, inbox_id, list(people))
    return {row["recipient_id"]: row["n"] for row in rows}


async def next_number(connection: Connection, tenant_id: str, inbox_id: UUID) -> int:
    """Holds the inbox, and says the number of what changes now for everyone."""
    row = await connection.fetchrow(_SQL["next_number"], tenant_id, inbox_id)
    if row is None:
        raise LookupError("The inbox was there a moment ago, and inboxes are never removed.")
    if row["lacks_sums"]:
        await _begin_sums(connection, tenant_id, inbox_id)
    return row["n"]


async def uncount(connection: Connection, tenant_id: str, inbox_id: UUID, gone: Sequence[tuple[int, str]]) -> None:
    """Posts for everyone that stand no more. Whoever calls holds the inbox."""
    places, topics = [place for place, _ in gone], [topic for _, topic in gone]
    await connection.execute(_SQL["uncount_posts"], tenant_id, inbox_id, places, topics)
    await connection.execute(_SQL["drop_empty_runs"], tenant_id, inbox_id)
    await connection.execute(_SQL["find_first_post"], tenant_id, inbox_id)


async def _begin_sums(connection: Connection, tenant_id: str, inbox_id: UUID) -> None:
    """An inbox from before there were sums gets them with the next change to its posts, which holds it."""
    await connection.execute(_SQL["add_sums"], tenant_id, inbox_id)
    await connection.execute(_SQL["find_first_post"], tenant_id, inbox_id)


def _columns(tenant_id: str, post: NewPost, place: int, n: int) -> tuple[object, ...]:
    return (
        tenant_id,
        post.inbox_id,
        post.id,
        post.audience.value,
        post.label,
        post.copies,
        post.topic,
        post.content,
        place,
        n,
        post.expires_at,
        post.created_by,
    )


def _post(row: Record) -> StoredPost:
    return StoredPost(
        id=row["id"],
        audience=AudienceKind(row["audience"]),
        label=row["label"],
        copies=row["copies"],
        topic=row["topic"],
        content=row["content"],
        copy=row["copy"],
        holder=row["holder"],
        data_key=row["data_key"],
        expires_at=row["expires_at"],
        redacted_at=row["redacted_at"],
    )
