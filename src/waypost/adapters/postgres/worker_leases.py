"""Workers' leases in PostgreSQL, and what lost workers left behind."""

import os
import socket
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.delivery.model import Held, Way
from waypost.delivery.ports import Hold
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention
from waypost.kernel.work import Transaction
from waypost.notifications.addressees import SealedAddressee

_SQL: Final = load("worker_leases")
_WORK: Final = load("work")


class PgWorkerLeases:
    """Implements `delivery.ports.WorkerStore`, on a connection that no batch can keep busy."""

    def __init__(self, *, line: Line, code_version: int) -> None:
        self._line = line
        self._code = code_version

    async def renew(self, worker_id: UUID, lease_seconds: float) -> datetime:
        async with self._line.use() as connection:
            lease = timedelta(seconds=lease_seconds)
            return await connection.fetchval(
                _SQL["renew"], worker_id, socket.gethostname(), os.getpid(), self._code, lease
            )

    async def sign_off(self, worker_id: UUID) -> bool:
        async with self._line.use() as connection:
            return await connection.fetchval(_SQL["sign_off"], worker_id) is not None

    async def lost(self, lease_seconds: float) -> Sequence[UUID]:
        async with self._line.use() as connection:
            rows = await connection.fetch(_SQL["lost"], timedelta(seconds=lease_seconds))
            return [row["worker_id"] for row in rows]

    async def forget(self, worker_id: UUID) -> None:
        async with self._line.use() as connection:
            await connection.execute(_SQL["forget_lost"], worker_id)

    async def is_known(self, worker_id: UUID) -> bool:
        async with self._line.use() as connection:
            return await connection.fetchval(_SQL["is_known"], worker_id)

    async def holds(self, worker_id: UUID) -> Sequence[Hold]:
        async with self._line.use() as connection:
            rows = await connection.fetch(_SQL["holds"], worker_id)
            return [Hold(tenant_id=row["tenant_id"], batch_id=row["id"]) for row in rows]

    async def open_attempts(self, worker_id: UUID, hold: Hold) -> Sequence[Held]:
        async with self._line.use() as connection, connection.transaction():
            await connection.execute(_WORK["enter_tenant"], hold.tenant_id)
            rows = await connection.fetch(_SQL["open_attempts"], hold.tenant_id, hold.batch_id, worker_id)
        return [
            Held(
                tenant_id=hold.tenant_id,
                id=row["id"],
                retention=Retention(row["retention"]),
                n=row["n"],
                claims=row["claims"],
                channel=Channel(row["channel"]),
                category=Category(row["category"]),
                priority=Priority(row["priority"]),
                expires_at=row["expires_at"],
                way=None if row["account_id"] is None else Way(account_id=row["account_id"]),
            )
            for row in rows
        ]

    async def let_go(self, worker_id: UUID, hold: Hold) -> None:
        async with self._line.use() as connection, connection.transaction():
            await connection.execute(_WORK["enter_tenant"], hold.tenant_id)
            place = (hold.tenant_id, hold.batch_id, worker_id)
            if orphans := await connection.fetch(_SQL["orphans"], *place):
                await connection.execute(
                    _SQL["requeue"],
                    [row["id"] for row in orphans],
                    [row["channel"] for row in orphans],
                    [row["priority"] for row in orphans],
                    [row["due"] for row in orphans],
                    [row["retention"] for row in orphans],
                    [row["attempt"] for row in orphans],
                    [1 for _ in orphans],
                )
            await connection.execute(_SQL["drop_hold"], *place)


class PgAddressees:
    """Implements `notifications.addressees.AddresseeStore`."""

    async def sealed(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[SealedAddressee]:
        rows = await connection_of(tx).fetch(_SQL["addressees"], tx.tenant_id, list(ids), ids[-1])
        return [
            SealedAddressee(
                id=row["id"],
                channel=Channel(row["channel"]),
                recipient_id=row["recipient_id"],
                address_id=row["address_id"],
                payload=row["payload"],
                data_key=row["data_key"],
            )
            for row in rows
        ]
