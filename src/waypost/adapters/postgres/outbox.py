"""The outbox in PostgreSQL: written in the transaction of what happened, read by what is marked as unread."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Connection, Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.outbox.model import News, Told
from waypost.outbox.ports import Held, Unread

_SQL: Final = load("outbox")
_MOST_TENANTS: Final = 1_000
_MOST_AT_ONCE: Final = 2_000
"""How many events are read together, unless one batch alone has more."""


class PgOutbox:
    """Implements `outbox.ports.Outbox`."""

    async def append(self, tx: Transaction, news: Sequence[News]) -> None:
        await append_news(connection_of(tx), tx.tenant_id, news)


async def append_news(connection: Connection, tenant_id: str, news: Sequence[News]) -> None:
    if news:
        await connection.execute(
            _SQL["append"],
            tenant_id,
            [one.kind for one in news],
            [one.subject_id for one in news],
            [one.n for one in news],
        )


class PgUnread:
    """Implements `outbox.ports.UnreadStore`."""

    async def waiting(self, tx: Transaction, reader: int, now: datetime, after: str) -> Sequence[str]:
        rows = await connection_of(tx).fetch(_SQL["unread_news"], reader, now, after, _MOST_TENANTS)
        return [row["tenant_id"] for row in rows]

    async def take(self, tx: Transaction, reader: int, at_most: int) -> Unread:
        return await self._read(tx, await connection_of(tx).fetch(_SQL["take_batches"], tx.tenant_id, reader, at_most))

    async def take_in_order(self, tx: Transaction, reader: int, at_most: int) -> Unread | None:
        connection = connection_of(tx)
        if not await connection.fetchval(_SQL["lock_reader"], tx.tenant_id, reader):
            return None
        return await self._read(tx, await connection.fetch(_SQL["oldest_batches"], tx.tenant_id, reader, at_most))

    async def finish(self, tx: Transaction, reader: int, batches: Sequence[int]) -> None:
        if batches:
            await connection_of(tx).execute(_SQL["finish_batches"], tx.tenant_id, reader, list(batches))

    async def held(
        self, tx: Transaction, reader: int, subjects: Sequence[UUID] | None, now: datetime
    ) -> Sequence[Held]:
        connection = connection_of(tx)
        if subjects is None:
            rows = await connection.fetch(_SQL["held_and_due"], tx.tenant_id, reader, now)
        else:
            rows = await connection.fetch(_SQL["held"], tx.tenant_id, reader, list(subjects))
        return [_held(row) for row in rows]

    async def hold(self, tx: Transaction, reader: int, held: Sequence[Held]) -> None:
        if held:
            await connection_of(tx).execute(
                _SQL["hold"],
                tx.tenant_id,
                reader,
                [one.told.subject_id for one in held],
                [one.told.at for one in held],
                [one.told.row for one in held],
                [one.told.kind for one in held],
                [one.told.n for one in held],
                [one.tries for one in held],
                [one.since for one in held],
                [one.due for one in held],
            )

    async def let_go(self, tx: Transaction, reader: int, told: Sequence[Told]) -> None:
        if told:
            await connection_of(tx).execute(
                _SQL["let_go"],
                tx.tenant_id,
                reader,
                [one.subject_id for one in told],
                [one.at for one in told],
                [one.row for one in told],
            )

    async def between(self, tx: Transaction, position: int, at_most: int) -> Sequence[Told]:
        rows = await connection_of(tx).fetch(_SQL["news_from"], tx.tenant_id, position, at_most)
        return [_told(row) for row in rows]

    async def register(self, tx: Transaction, reader: int, name: str, now: datetime) -> None:
        await connection_of(tx).execute(_SQL["register"], reader, name, now)

    async def forget_silent(self, tx: Transaction, before: datetime) -> Sequence[str]:
        return [row["name"] for row in await connection_of(tx).fetch(_SQL["forget_silent"], before)]

    async def standing(self, tx: Transaction, now: datetime) -> Mapping[int, tuple[int, float]]:
        rows = await connection_of(tx).fetch(_SQL["standing"], now)
        return {row["reader"]: (row["waiting"], row["oldest_seconds"]) for row in rows}

    async def _read(self, tx: Transaction, batches: Sequence[Record]) -> Unread:
        ids: list[int] = []
        taken: list[int] = []
        for batch in batches:
            if taken and len(ids) + len(batch["ids"]) > _MOST_AT_ONCE:
                break
            ids += batch["ids"]
            taken.append(batch["id"])
        rows = await connection_of(tx).fetch(_SQL["news"], tx.tenant_id, ids) if ids else []
        return Unread(batches=taken, news=[_told(row) for row in rows])


def _told(row: Record) -> Told:
    return Told(at=row["at"], kind=row["kind"], subject_id=row["subject_id"], n=row["n"], row=row["id"])


def _held(row: Record) -> Held:
    told = Told(at=row["at"], kind=row["kind"], subject_id=row["subject_id"], n=row["n"], row=row["outbox_id"])
    return Held(told=told, tries=row["tries"], since=row["since"], due=row["due"])
