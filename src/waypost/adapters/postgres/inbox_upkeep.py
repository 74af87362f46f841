"""What time does to inboxes, and whether the counters are right, in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.inbox_feed import PgInboxFeed
from waypost.adapters.postgres.inbox_posts import next_number, take_numbers, uncount
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import PgWork, connection_of
from waypost.inbox.model import Drift
from waypost.kernel.work import Transaction

_SQL: Final = load("inbox_upkeep")
_MOST_TENANTS: Final = 1_000
_MEMBERS_AT_ONCE: Final = 500
_FIRST: Final = UUID(int=0)


class PgInboxUpkeep:
    """Implements `inbox.ports.SweepStore` and `inbox.ports.VerifyStore`."""

    def __init__(self, work: PgWork) -> None:
        self._work = work

    async def tenants(self, now: datetime) -> Sequence[str]:
        async with self._work.begin_unscoped() as tx:
            rows = await connection_of(tx).fetch(_SQL["tenants_to_sweep"], now, _MOST_TENANTS)
        return [row["tenant_id"] for row in rows]

    async def items(self, tx: Transaction, now: datetime, limit: int) -> Sequence[tuple[UUID, UUID]]:
        rows = await connection_of(tx).fetch(_SQL["sweep_items"], tx.tenant_id, now, limit)
        return [(row["inbox_id"], row["recipient_id"]) for row in rows]

    async def posts(self, tx: Transaction, now: datetime, limit: int) -> Sequence[UUID]:
        connection = connection_of(tx)
        rows = await connection.fetch(_SQL["inboxes_to_sweep"], tx.tenant_id, now, limit)
        inboxes = [row["inbox_id"] for row in rows]
        for inbox_id in inboxes:
            await next_number(connection, tx.tenant_id, inbox_id)
            gone = await connection.fetch(_SQL["sweep_posts"], tx.tenant_id, inbox_id, now, limit)
            counted = [(row["place"], row["topic"]) for row in gone if row["is_counted"]]
            if counted:
                await uncount(connection, tx.tenant_id, inbox_id, counted)
        return inboxes

    async def wake(self, tx: Transaction, now: datetime, limit: int) -> Sequence[tuple[UUID, UUID]]:
        connection = connection_of(tx)
        woken: list[tuple[UUID, UUID]] = []
        for row in await connection.fetch(_SQL["sleepers"], tx.tenant_id, now, limit):
            inbox_id, people = row["inbox_id"], row["recipients"]
            numbers = await take_numbers(connection, tx.tenant_id, inbox_id, people)
            await connection.execute(_SQL["wake"], tx.tenant_id, inbox_id, now, list(numbers), list(numbers.values()))
            woken += [(inbox_id, recipient_id) for recipient_id in numbers]
        return woken

    async def watermarks(self, tx: Transaction, older_than: datetime, limit: int) -> int:
        done = await connection_of(tx).execute(_SQL["sweep_watermarks"], tx.tenant_id, older_than, limit)
        return int(done.rsplit(" ", 1)[-1])

    async def drift(self, tx: Transaction, now: datetime) -> Sequence[Drift]:
        """First the counters of posts for everyone, then what each member is told against a plain recount."""
        rows = await connection_of(tx).fetch(_SQL["verify"], tx.tenant_id)
        found = [
            Drift(where=f"{row['inbox_id']}/{row['run']}/{row['topic']}", counted=row["counted"], there=row["there"])
            for row in rows
        ]
        return [*found, *await self._drift_of_members(tx, now)]

    async def _drift_of_members(self, tx: Transaction, now: datetime) -> list[Drift]:
        connection = connection_of(tx)
        found: list[Drift] = []
        after = (_FIRST, _FIRST)
        while rows := await connection.fetch(_SQL["members"], tx.tenant_id, *after, _MEMBERS_AT_ONCE):
            last = (rows[-1]["inbox_id"], rows[-1]["recipient_id"])
            counted: dict[tuple[str, UUID, str], tuple[int, int]] = {}
            people: dict[str, list[UUID]] = {}
            for row in rows:
                people.setdefault(row["key"], []).append(row["recipient_id"])
            for key, recipients in people.items():
                for recipient_id, counts in (await PgInboxFeed().counts(tx, key, recipients, now)).items():
                    for topic, tally in counts.topics.items():
                        counted[key, recipient_id, topic] = (tally.total, tally.unread)
            there = {
                (row["key"], row["recipient_id"], row["topic"]): (row["total"], row["unread"])
                for row in await connection.fetch(_SQL["recount"], tx.tenant_id, now, *after, *last)
                if row["total"] or row["unread"]
            }
            for place in sorted(counted.keys() | there.keys()):
                told, real = counted.get(place, (0, 0)), there.get(place, (0, 0))
                for name, one, other in zip(("total", "unread"), told, real, strict=True):
                    if one != other:
                        where = f"{place[0]}/{place[1]}/{place[2]}/{name}"
                        found.append(Drift(where=where, counted=one, there=other))
            after = last
        return found
