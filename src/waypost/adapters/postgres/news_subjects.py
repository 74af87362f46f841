"""The records that news is about, read in sets."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.outbox.ports import AccountFacts, DomainFacts, NotificationFacts, SuppressionFacts

_SQL: Final = load("news_subjects")
_CATEGORIES: Final = {category.value: category for category in Category}
_CHANNELS: Final = {channel.value: channel for channel in Channel}


class PgSubjects:
    """Implements `outbox.ports.SubjectStore`."""

    async def notifications(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, NotificationFacts]:
        rows = await connection_of(tx).fetch(_SQL["notifications"], tx.tenant_id, list(ids), min(ids), max(ids))
        return {
            row["id"]: NotificationFacts(
                id=row["id"],
                request_id=row["request_id"],
                recipient_id=row["recipient_id"],
                external_id=row["external_id"],
                channel=_CHANNELS[row["channel"]],
                category=_CATEGORIES[row["category"]],
                reason=row["reason"],
                send_at=row["send_at"],
                expires_at=row["expires_at"],
                payload=row["payload"],
                data_key=row["data_key"],
            )
            for row in rows
        }

    async def attempt_reasons(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[tuple[UUID, int], str | None]:
        rows = await connection_of(tx).fetch(_SQL["attempt_reasons"], tx.tenant_id, list(ids), min(ids), max(ids))
        return {(row["notification_id"], row["n"]): row["reason"] for row in rows}

    async def link_targets(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[tuple[UUID, int], tuple[UUID, bytes]]:
        rows = await connection_of(tx).fetch(_SQL["link_targets"], tx.tenant_id, list(ids), min(ids), max(ids))
        return {(row["notification_id"], row["link"]): (row["id"], row["target"]) for row in rows}

    async def suppressions(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, SuppressionFacts]:
        rows = await connection_of(tx).fetch(_SQL["suppressions"], tx.tenant_id, list(ids))
        return {
            row["id"]: SuppressionFacts(
                id=row["id"],
                channel=Channel(row["channel"]),
                reason=row["reason"],
                source=row["source"],
                notification_id=row["notification_id"],
                created_at=row["created_at"],
                expires_at=row["expires_at"],
                released_at=row["released_at"],
            )
            for row in rows
        }

    async def sender_accounts(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, AccountFacts]:
        rows = await connection_of(tx).fetch(_SQL["sender_accounts"], tx.tenant_id, list(ids))
        return {
            row["id"]: AccountFacts(id=row["id"], name=row["name"], status=row["status"], reason=row["status_reason"])
            for row in rows
        }

    async def domains(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, DomainFacts]:
        rows = await connection_of(tx).fetch(_SQL["domains"], tx.tenant_id, list(ids))
        return {
            row["id"]: DomainFacts(
                id=row["id"], name=row["name"], failed=tuple(row["failed"]), failing_since=row["failing_since"]
            )
            for row in rows
        }
