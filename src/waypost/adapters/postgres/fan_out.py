"""One message to many people, written by PostgreSQL itself."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.gate_rows import facts_of
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.vocabulary import Category
from waypost.kernel.work import Transaction
from waypost.notifications.fan_out import Kind, Left, ManyMessages, WrittenTo

_SQL: Final = load("fan_out")


class PgFanOut:
    """Implements `notifications.fan_out.FanOutStore`."""

    async def fan_out(
        self,
        tx: Transaction,
        people: Sequence[UUID],
        messages: ManyMessages,
        house: str,
        kinds: Sequence[WrittenTo],
    ) -> Left:
        rows = await connection_of(tx).fetch(
            _SQL["fan_out"],
            people,
            messages.channel,
            messages.channel.word,
            messages.topic,
            messages.category is Category.MARKETING,
            house,
            [one.kind for one in kinds],
            [one.locale for one in kinds],
            [one.inputs for one in kinds],
            messages.once.key,
            messages.stem,
            messages.request.id,
            messages.request.asker,
            messages.retention,
            messages.category,
            messages.priority,
            messages.gate,
            messages.version_id,
            messages.timing.send_at,
            messages.timing.expires_at,
        )
        if not rows:
            return Left(external_ids=(), house=house)
        found: dict[str, Record] = {row["kind"]: row for row in rows if row["kind"] is not None}
        facts = facts_of(list(found.values()), messages.channel)
        kinds_found = {
            name: Kind(locale=row["locale"], facts=fact) for (name, row), fact in zip(found.items(), facts, strict=True)
        }
        return Left(external_ids=[row["external_id"] for row in rows], house=rows[0]["house"], kinds=kinds_found)
