"""Blobs in PostgreSQL: the bytes of attachments and images, sealed."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.blobs import SealedBlob
from waypost.kernel.work import Transaction

_SQL: Final = load("blobs")


class PgBlobs:
    """Implements `kernel.blobs.BlobStore`."""

    async def touch(self, tx: Transaction, until: Mapping[bytes, datetime | None]) -> Set[bytes]:
        rows = await connection_of(tx).fetch(_SQL["touch"], tx.tenant_id, list(until), list(until.values()))
        return {row["address"] for row in rows}

    async def add(self, tx: Transaction, blobs: Sequence[SealedBlob]) -> None:
        # One at a time: together they could be more than a single statement should carry.
        for blob in blobs:
            await connection_of(tx).execute(_SQL["add"], tx.tenant_id, [blob.address], [blob.sealed], [blob.until])

    async def add_uses(self, tx: Transaction, uses: Sequence[tuple[bytes, UUID]]) -> None:
        addresses, recipients = [address for address, _ in uses], [recipient for _, recipient in uses]
        await connection_of(tx).execute(_SQL["add_uses"], tx.tenant_id, addresses, recipients)

    async def read(self, tx: Transaction, owner: str, addresses: Sequence[bytes]) -> Mapping[bytes, bytes]:
        rows = await connection_of(tx).fetch(_SQL["read"], owner, list(addresses))
        return {row["address"]: row["sealed"] for row in rows}


class PgForgetFiles:
    """Implements `recipients.ports.AlsoForgets` for the files that somebody was sent."""

    async def forget(self, tx: Transaction, ids: Sequence[UUID], hashes: Sequence[str]) -> Mapping[str, int]:
        done = await connection_of(tx).execute(_SQL["forget_uses"], tx.tenant_id, ids)
        return {"attachments": int(done.rsplit(" ", 1)[-1])}
