"""Recipients and their addresses on PostgreSQL, always many at a time."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.model import AddressStatus, Known, RecipientKind, StoredAddress, StoredRecipient

_SQL: Final = load("recipients")
_BUCKETS: Final = 64


class PgRecipientStore:
    """Implements `recipients.ports.RecipientStore`."""

    async def by_external_ids(self, tx: Transaction, ids: Sequence[str]) -> Sequence[StoredRecipient]:
        rows = await connection_of(tx).fetch(_SQL["by_external_ids"], tx.tenant_id, ids)
        return [_recipient(row) for row in rows]

    async def look_up(
        self, tx: Transaction, ids: Sequence[str], spots: Sequence[tuple[Channel, str]]
    ) -> Sequence[Known]:
        rows = await connection_of(tx).fetch(
            _SQL["look_up"], tx.tenant_id, ids, [channel.value for channel, _ in spots], [hashed for _, hashed in spots]
        )
        return [
            Known(
                row=_recipient(first),
                addresses=tuple(_known_address(row) for row in group if row["address_id"] is not None),
                asked=tuple(first["asked"]),
            )
            for _, found in groupby(rows, key=lambda row: row["id"])
            if (group := list(found)) and (first := group[0])
        ]

    async def lock(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[StoredRecipient]:
        rows = await connection_of(tx).fetch(_SQL["lock_recipients"], tx.tenant_id, ids)
        return [_recipient(row) for row in rows]

    async def add(
        self, tx: Transaction, rows: Sequence[StoredRecipient], addresses: Sequence[StoredAddress]
    ) -> frozenset[UUID]:
        added = await connection_of(tx).fetch(
            _SQL["add_recipients"],
            tx.tenant_id,
            [row.id for row in rows],
            [row.external_id for row in rows],
            [row.kind.value for row in rows],
            [row.locale for row in rows],
            [row.timezone for row in rows],
            [row.attributes for row in rows],
            [row.data_key for row in rows],
            [row.version for row in rows],
            [row.created_at for row in rows],
            [row.updated_at for row in rows],
            *_address_columns(addresses),
        )
        return frozenset(row["id"] for row in added)

    async def change(self, tx: Transaction, rows: Sequence[StoredRecipient]) -> None:
        await connection_of(tx).execute(
            _SQL["change_recipients"],
            tx.tenant_id,
            [row.id for row in rows],
            [row.kind.value for row in rows],
            [row.locale for row in rows],
            [row.timezone for row in rows],
            [row.attributes for row in rows],
            [row.version for row in rows],
            [row.updated_at for row in rows],
        )

    async def erase(self, tx: Transaction, row: StoredRecipient) -> None:
        await connection_of(tx).execute(_SQL["erase_recipient"], tx.tenant_id, row.id, row.version, row.erased_at)

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[StoredRecipient]:
        rows = await connection_of(tx).fetch(_SQL["page_of_recipients"], tx.tenant_id, before, limit)
        return [_recipient(row) for row in rows]

    async def note_gate_changes(self, tx: Transaction, ids: Sequence[UUID], at: datetime) -> None:
        await connection_of(tx).execute(_SQL["note_gate_changes"], tx.tenant_id, ids, at)


class PgAddressStore:
    """Implements `recipients.ports.AddressStore`."""

    async def of_recipients(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[StoredAddress]:
        rows = await connection_of(tx).fetch(_SQL["addresses_of_recipients"], tx.tenant_id, ids)
        return [_address(row) for row in rows]

    async def hold_newcomers(self, tx: Transaction, hashes: Sequence[str]) -> None:
        tenant = int.from_bytes(hashlib.sha256(tx.tenant_id.encode()).digest()[:4], "big", signed=True)
        buckets = sorted({int(hashed[-4:], 16) % _BUCKETS for hashed in hashes})
        await connection_of(tx).fetch(_SQL["hold_newcomers"], tenant, buckets)

    async def add(self, tx: Transaction, rows: Sequence[StoredAddress]) -> None:
        await connection_of(tx).execute(
            _SQL["add_addresses"],
            tx.tenant_id,
            *_address_columns(rows),
        )

    async def put_in_front(self, tx: Transaction, given: Mapping[UUID, datetime]) -> None:
        await connection_of(tx).execute(_SQL["put_in_front"], tx.tenant_id, list(given), list(given.values()))

    async def revoke(self, tx: Transaction, ids: Sequence[UUID], at: datetime) -> None:
        await connection_of(tx).execute(_SQL["revoke_addresses"], tx.tenant_id, ids, at)


def _recipient(row: Record) -> StoredRecipient:
    return StoredRecipient(
        id=row["id"],
        external_id=row["external_id"],
        kind=RecipientKind(row["kind"]),
        locale=row["locale"],
        timezone=row["timezone"],
        attributes=row["attributes"],
        data_key=row["data_key"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        erased_at=row["erased_at"],
    )


def _address_columns(rows: Sequence[StoredAddress]) -> tuple[list[object], ...]:
    return (
        [row.id for row in rows],
        [row.recipient_id for row in rows],
        [row.channel.value for row in rows],
        [row.hash for row in rows],
        [row.ciphertext for row in rows],
        [row.verified for row in rows],
        [row.status.value for row in rows],
        [row.given_at for row in rows],
        [row.created_at for row in rows],
        [row.updated_at for row in rows],
    )


def _known_address(row: Record) -> StoredAddress:
    """The address half of a row that `look_up` found."""
    return StoredAddress(
        id=row["address_id"],
        recipient_id=row["id"],
        channel=Channel(row["channel"]),
        hash=row["hash"],
        ciphertext=row["ciphertext"],
        verified=row["verified"],
        status=AddressStatus(row["status"]),
        given_at=row["given_at"],
        created_at=row["address_created_at"],
        updated_at=row["address_updated_at"],
    )


def _address(row: Record) -> StoredAddress:
    return StoredAddress(
        id=row["id"],
        recipient_id=row["recipient_id"],
        channel=Channel(row["channel"]),
        hash=row["hash"],
        ciphertext=row["ciphertext"],
        verified=row["verified"],
        status=AddressStatus(row["status"]),
        given_at=row["given_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
