"""Topics, choices, policies and consent in PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.preference_json import (
    read_choices,
    read_policy,
    read_switches,
    write_choices,
    write_policy,
    write_switches,
)
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.preferences.model import (
    Choices,
    Consent,
    ConsentHead,
    ConsentState,
    Policy,
    QuietHours,
    Someone,
    Topic,
)

_SQL: Final = load("preferences")
_EVERYONE: Final = UUID(int=0)
_BEFORE_ALL: Final = (-(2**31), "")


class PgTopics:
    """Implements `preferences.ports.TopicStore`."""

    async def find(self, tx: Transaction, key: str) -> Topic | None:
        row = await connection_of(tx).fetchrow(_SQL["topic"], tx.tenant_id, key)
        return None if row is None else _topic(row)

    async def find_for_change(self, tx: Transaction, key: str) -> Topic | None:
        row = await connection_of(tx).fetchrow(_SQL["topic_for_change"], tx.tenant_id, key)
        return None if row is None else _topic(row)

    async def all(self, tx: Transaction) -> Sequence[Topic]:
        return [_topic(row) for row in await connection_of(tx).fetch(_SQL["topics"], tx.tenant_id)]

    async def page(self, tx: Transaction, after: tuple[int, str] | None, limit: int) -> Sequence[Topic]:
        position, key = after or _BEFORE_ALL
        rows = await connection_of(tx).fetch(_SQL["page_of_topics"], tx.tenant_id, position, key, limit)
        return [_topic(row) for row in rows]

    async def put(self, tx: Transaction, topic: Topic) -> None:
        await connection_of(tx).execute(
            _SQL["put_topic"],
            tx.tenant_id,
            topic.key,
            topic.title,
            topic.description,
            topic.category,
            topic.opted_in,
            topic.mandatory,
            topic.position,
            msgspec.json.encode(write_switches(topic.channels)).decode(),
            topic.version,
            topic.created_at,
            topic.updated_at,
        )

    async def delete(self, tx: Transaction, key: str) -> bool:
        return await connection_of(tx).fetchval(_SQL["delete_topic"], tx.tenant_id, key) is not None


class PgChoices:
    """Implements `preferences.ports.ChoiceStore` and `PolicyStore`."""

    async def someone(self, tx: Transaction, external_id: str) -> Someone | None:
        return _someone(await connection_of(tx).fetchrow(_SQL["someone"], tx.tenant_id, external_id))

    async def someone_by_id(self, tx: Transaction, recipient_id: UUID) -> Someone | None:
        return _someone(await connection_of(tx).fetchrow(_SQL["someone_by_id"], tx.tenant_id, recipient_id))

    async def find(self, tx: Transaction, recipient_id: UUID) -> Choices:
        return _choices(await connection_of(tx).fetchrow(_SQL["choices"], tx.tenant_id, recipient_id))

    async def find_for_change(self, tx: Transaction, recipient_id: UUID) -> Choices:
        connection = connection_of(tx)
        await connection.execute(_SQL["begin_choices"], tx.tenant_id, recipient_id)
        return _choices(await connection.fetchrow(_SQL["choices_for_change"], tx.tenant_id, recipient_id))

    async def put(self, tx: Transaction, recipient_id: UUID, choices: Choices) -> None:
        quiet = choices.quiet_hours
        await connection_of(tx).execute(
            _SQL["put_choices"],
            tx.tenant_id,
            recipient_id,
            write_choices(choices.channels),
            quiet.start if quiet else None,
            quiet.end if quiet else None,
            choices.version,
            choices.updated_at,
        )

    async def delete(self, tx: Transaction, ids: Sequence[UUID]) -> int:
        return len(await connection_of(tx).fetch(_SQL["delete_choices"], tx.tenant_id, sorted(ids)))

    async def watch(self, tx: Transaction, recipient_id: UUID, *, always: bool) -> None:
        await connection_of(tx).execute(_SQL["watch"], tx.tenant_id, recipient_id, always)

    async def policy(self, tx: Transaction) -> Policy:
        return read_policy(await connection_of(tx).fetchval(_SQL["policy"], tx.tenant_id))

    async def policy_for_change(self, tx: Transaction) -> Policy:
        return read_policy(await connection_of(tx).fetchval(_SQL["policy_for_change"], tx.tenant_id))

    async def put_policy(self, tx: Transaction, policy: Policy, at: datetime) -> None:
        await connection_of(tx).execute(_SQL["put_policy"], tx.tenant_id, write_policy(policy), at)

    async def watch_everyone(self, tx: Transaction, *, always: bool) -> None:
        await self.watch(tx, _EVERYONE, always=always)


class PgConsents:
    """Implements `preferences.ports.ConsentStore`."""

    async def lock(self, tx: Transaction, recipient_id: UUID) -> None:
        await connection_of(tx).execute(_SQL["lock_consents"], tx.tenant_id, recipient_id)

    async def last(self, tx: Transaction, recipient_id: UUID) -> Consent | None:
        row = await connection_of(tx).fetchrow(_SQL["last_consent"], tx.tenant_id, recipient_id)
        return None if row is None else _consent(row)

    async def add(self, tx: Transaction, recipient_id: UUID, consent: Consent, head: ConsentHead) -> None:
        await connection_of(tx).execute(
            _SQL["add_consent"],
            tx.tenant_id,
            recipient_id,
            consent.n,
            consent.id,
            consent.channel,
            consent.topic,
            consent.state.value,
            consent.source,
            consent.text_version,
            consent.at,
            consent.proof,
            head.proof,
        )

    async def page(self, tx: Transaction, recipient_id: UUID, before: int | None, limit: int) -> Sequence[Consent]:
        rows = await connection_of(tx).fetch(_SQL["page_of_consents"], tx.tenant_id, recipient_id, before, limit)
        return [_consent(row) for row in rows]

    async def whole(self, tx: Transaction, recipient_id: UUID) -> tuple[Sequence[Consent], ConsentHead | None]:
        connection = connection_of(tx)
        rows = await connection.fetch(_SQL["whole_history"], tx.tenant_id, recipient_id)
        head = await connection.fetchrow(_SQL["consent_head"], tx.tenant_id, recipient_id)
        return [_consent(row) for row in rows], None if head is None else ConsentHead(n=head["n"], proof=head["proof"])

    async def standing(self, tx: Transaction, recipient_id: UUID) -> Mapping[tuple[int, str], Consent]:
        rows = await connection_of(tx).fetch(_SQL["standing_consents"], tx.tenant_id, recipient_id)
        return {(row["channel"], row["topic"]): _consent(row) for row in rows}


def _topic(row: Record) -> Topic:
    return Topic(
        key=row["key"],
        title=row["title"],
        description=row["description"],
        category=Category(row["category"]),
        opted_in=row["opted_in"],
        mandatory=row["mandatory"],
        position=row["position"],
        channels=read_switches(row["channels"]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _someone(row: Record | None) -> Someone | None:
    if row is None:
        return None
    return Someone(
        id=row["id"],
        external_id=row["external_id"],
        locale=row["locale"],
        timezone=row["timezone"],
        erased=row["erased"],
    )


def _choices(row: Record | None) -> Choices:
    if row is None:
        return Choices()
    start: int | None = row["quiet_start"]
    return Choices(
        channels=read_choices(row["channels"]),
        quiet_hours=None if start is None else QuietHours(start=start, end=row["quiet_end"]),
        version=row["version"],
        updated_at=row["updated_at"],
    )


def _consent(row: Record) -> Consent:
    return Consent(
        n=row["n"],
        id=row["id"],
        channel=Channel(row["channel"]),
        topic=row["topic"],
        state=ConsentState(row["state"]),
        source=row["source"],
        text_version=row["text_version"],
        at=row["at"],
        proof=row["proof"],
    )
