"""Recipients and their addresses on PostgreSQL, always many at a time."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

from msgspec.structs import replace

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.model import (
    UNASKED,
    AddressStatus,
    Known,
    LookedUp,
    RecipientKind,
    StoredAddress,
    StoredRecipient,
)

_SQL: Final = load("recipients")
_BUCKETS: Final = 64
_KINDS: Final = {kind.value: kind for kind in RecipientKind}
_CHANNELS: Final = {channel.value: channel for channel in Channel}
_STATUSES: Final = {status.value: status for status in AddressStatus}
T = TypeVar("T")


class PgRecipientStore:
    """Implements `recipients.ports.RecipientStore`."""

    async def by_external_ids(self, tx: Transaction, ids: Sequence[str]) -> Sequence[StoredRecipient]:
        rows = await connection_of(tx).fetch(_SQL["by_external_ids"], tx.tenant_id, ids)
        return [recipient_of(row) for row in rows]

    async def look_up(
        self, tx: Transaction, ids: Sequence[str], spots: Sequence[tuple[Channel, str]], *, moments: bool = True
    ) -> LookedUp:
        rows = await connection_of(tx).fetch(
            _SQL["look_up"],
            tx.tenant_id,
            ids,
            [channel.value for channel, _ in spots],
            [hashed for _, hashed in spots],
            moments,
        )
        return LookedUp(known=_known_of(rows), has_erased=rows[0]["has_erased"])

    async def lock(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[StoredRecipient]:
        rows = await connection_of(tx).fetch(_SQL["lock_recipients"], tx.tenant_id, ids)
        return [recipient_of(row) for row in rows]

    async def add(
        self, tx: Transaction, rows: Sequence[StoredRecipient], addresses: Sequence[StoredAddress]
    ) -> frozenset[UUID]:
        added = await connection_of(tx).fetch(
            _SQL["add_recipients"],
            tx.tenant_id,
            [row.id for row in rows],
            [row.external_id for row in rows],
            _once([row.kind for row in rows]),
            _once([row.locale or "" for row in rows]),
            _once([row.timezone or "" for row in rows]),
            [row.attributes for row in rows],
            [row.data_key for row in rows],
            _once([row.version for row in rows]),
            _once([row.created_at for row in rows]),
            _once([row.updated_at for row in rows]),
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

    async def by_ids(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[StoredRecipient]:
        rows = await connection_of(tx).fetch(_SQL["by_ids"], tx.tenant_id, ids)
        return [recipient_of(row) for row in rows]

    async def merged_into(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[UUID]:
        return [row["id"] for row in await connection_of(tx).fetch(_SQL["merged_into"], tx.tenant_id, ids)]

    async def erased_among(self, tx: Transaction, hashes: Sequence[str]) -> frozenset[str]:
        rows = await connection_of(tx).fetch(_SQL["erased_among"], tx.tenant_id, hashes)
        return frozenset(row["id_hash"] for row in rows)

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[StoredRecipient]:
        return _many(await connection_of(tx).fetch(_SQL["page_of_recipients"], tx.tenant_id, before, limit))

    async def page_by_prefix(self, tx: Transaction, prefix: str, after: str, limit: int) -> Sequence[StoredRecipient]:
        return _many(await connection_of(tx).fetch(_SQL["page_by_prefix"], tx.tenant_id, prefix, after, limit))

    async def page_by_tag(
        self, tx: Transaction, tag: str, before: UUID | None, limit: int
    ) -> Sequence[StoredRecipient]:
        return _many(await connection_of(tx).fetch(_SQL["page_by_tag"], tx.tenant_id, tag, before, limit))

    async def page_by_list(
        self, tx: Transaction, list_id: UUID, before: UUID | None, limit: int
    ) -> Sequence[StoredRecipient]:
        return _many(await connection_of(tx).fetch(_SQL["page_by_list"], tx.tenant_id, list_id, before, limit))

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

    async def verify(self, tx: Transaction, address_id: UUID, at: datetime, *, verified: bool) -> None:
        await connection_of(tx).execute(_SQL["mark_verified"], tx.tenant_id, address_id, verified, at)

    async def suppressed_among(self, tx: Transaction, hashes: Sequence[str]) -> frozenset[str]:
        rows = await connection_of(tx).fetch(_SQL["suppressed_among"], tx.tenant_id, hashes)
        return frozenset(row["hash"] for row in rows)


class PgTagStore:
    """Implements `recipients.ports.TagStore`."""

    async def of_recipients(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, tuple[str, ...]]:
        found: dict[UUID, list[str]] = {}
        for row in await connection_of(tx).fetch(_SQL["tags_of"], tx.tenant_id, ids):
            found.setdefault(row["recipient_id"], []).append(row["tag"])
        return {recipient_id: tuple(tags) for recipient_id, tags in found.items()}

    async def add(self, tx: Transaction, pairs: Sequence[tuple[UUID, str]]) -> None:
        await connection_of(tx).execute(
            _SQL["add_tags"], tx.tenant_id, [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        )

    async def remove(self, tx: Transaction, pairs: Sequence[tuple[UUID, str]]) -> None:
        await connection_of(tx).execute(
            _SQL["remove_tags"], tx.tenant_id, [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        )


def _many(rows: Sequence[Record]) -> list[StoredRecipient]:
    return [recipient_of(row) for row in rows]


def recipient_of(row: Record) -> StoredRecipient:
    return StoredRecipient(
        id=row["id"],
        external_id=row["external_id"],
        kind=_KINDS[row["kind"]],
        locale=row["locale"],
        timezone=row["timezone"],
        attributes=row["attributes"],
        data_key=row["data_key"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        erased_at=row["erased_at"],
        merged_into=row["merged_into"],
    )


def _address_columns(rows: Sequence[StoredAddress]) -> tuple[list[object], ...]:
    return (
        [row.id for row in rows],
        [row.recipient_id for row in rows],
        _once([row.channel for row in rows]),
        [row.hash for row in rows],
        [row.ciphertext for row in rows],
        _once([row.verified for row in rows]),
        _once([row.status for row in rows]),
        _once([row.given_at for row in rows]),
        _once([row.created_at for row in rows]),
        _once([row.updated_at for row in rows]),
    )


def _once(column: list[T]) -> list[T]:
    """One element where all are the same."""
    return column[:1] if column and column.count(column[0]) == len(column) else column


def _known_of(rows: Sequence[Record]) -> list[Known]:
    """What `look_up` found; rows about one person stand together. Taken apart and put together by place: by its name,
    each of two dozen values would take as long as all of them."""
    known: list[Known] = []
    for (
        _has_erased,
        recipient_id,
        external_id,
        kind,
        locale,
        timezone,
        attributes,
        data_key,
        version,
        created_at,
        updated_at,
        erased_at,
        merged_into,
        asked,
        asked_often,
        address_id,
        channel,
        hashed,
        ciphertext,
        verified,
        status,
        given_at,
        address_created_at,
        address_updated_at,
    ) in rows:
        if recipient_id is None:
            continue
        addresses: tuple[StoredAddress, ...] = ()
        if address_id is not None:
            address = StoredAddress(
                address_id,
                recipient_id,
                _CHANNELS[channel],
                hashed,
                ciphertext,
                verified,
                _STATUSES[status],
                given_at or UNASKED,
                address_created_at or UNASKED,
                address_updated_at or UNASKED,
            )
            addresses = (address,)
        if known and known[-1].row.id == recipient_id:
            known[-1] = replace(known[-1], addresses=known[-1].addresses + addresses)
            continue
        row = StoredRecipient(
            recipient_id,
            external_id,
            _KINDS[kind],
            locale,
            timezone,
            attributes,
            data_key,
            version,
            created_at or UNASKED,
            updated_at or UNASKED,
            erased_at,
            merged_into,
        )
        names = () if asked is None else (asked,)
        known.append(Known(row, addresses, names if asked_often is None else tuple(asked_often)))
    return known


def _address(row: Record) -> StoredAddress:
    return StoredAddress(
        id=row["id"],
        recipient_id=row["recipient_id"],
        channel=_CHANNELS[row["channel"]],
        hash=row["hash"],
        ciphertext=row["ciphertext"],
        verified=row["verified"],
        status=_STATUSES[row["status"]],
        given_at=row["given_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
