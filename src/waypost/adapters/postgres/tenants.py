"""Tenants, their keys, and the ring of opened tenant keys, on PostgreSQL."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import AWAY, Connection, Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of, enter_tenant
from waypost.kernel.errors import Misconfigured, NotFound
from waypost.kernel.tenancy import PLATFORM, Permission
from waypost.kernel.vault import SealBroken, TenantKey, Vault
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.tenants.model import ApiKey, KeyOwner, Tenant, TenantStatus

_SQL: Final = load("tenants")
_MOST_OPEN_KEYS: Final = 10_000


@asynccontextmanager
async def standing_in(tx: Transaction, tenant_id: str) -> AsyncGenerator[Connection]:
    """The transaction's connection, seeing `tenant_id` within the block: how the platform reaches a tenant."""
    connection = connection_of(tx)
    if tenant_id == tx.tenant_id:
        yield connection
        return
    await enter_tenant(connection, tenant_id)
    try:
        yield connection
    finally:
        # In a transaction that has failed nothing can be set, nor done.
        with suppress(*AWAY):
            await enter_tenant(connection, tx.tenant_id)


class PgTenantStore:
    """Implements `tenants.ports.TenantStore`."""

    async def add(self, tx: Transaction, tenant: Tenant, wrapped_key: bytes) -> bool:
        async with standing_in(tx, tenant.id) as connection:
            added = await connection.fetchval(
                _SQL["add_tenant"],
                tenant.id,
                tenant.name,
                tenant.mode.value,
                tenant.status.value,
                wrapped_key,
                tenant.version,
                tenant.created_at,
                tenant.updated_at,
            )
        return added is not None

    async def find(self, tx: Transaction, tenant_id: str, *, for_change: bool = False) -> Tenant | None:
        statement = _SQL["find_tenant_for_change" if for_change else "find_tenant"]
        async with standing_in(tx, tenant_id) as connection:
            row = await connection.fetchrow(statement, tenant_id)
        return _tenant(row) if row is not None else None

    async def wrapped_key(self, tx: Transaction, tenant_id: str) -> bytes | None:
        async with standing_in(tx, tenant_id) as connection:
            return await connection.fetchval(_SQL["wrapped_key"], tenant_id)

    async def change(self, tx: Transaction, tenant: Tenant) -> None:
        async with standing_in(tx, tenant.id) as connection:
            await connection.execute(
                _SQL["change_tenant"], tenant.id, tenant.name, tenant.status.value, tenant.version, tenant.updated_at
            )

    async def page(
        self, tx: Transaction, after: str | None, limit: int, status: TenantStatus | None
    ) -> Sequence[Tenant]:
        rows = await connection_of(tx).fetch(_SQL["page_of_tenants"], after, limit, status.value if status else None)
        return [_tenant(row) for row in rows]


class PgApiKeyStore:
    """Implements `tenants.ports.ApiKeyStore`."""

    async def add(self, tx: Transaction, key: ApiKey, secret_hash: bytes) -> None:
        async with standing_in(tx, key.tenant_id) as connection:
            await connection.execute(
                _SQL["add_key"],
                key.tenant_id,
                key.id,
                key.name,
                sorted(scope.value for scope in key.scopes),
                secret_hash,
                key.hint,
                key.created_at,
                key.created_by,
                key.expires_at,
            )

    async def find(self, tx: Transaction, tenant_id: str, key_id: UUID) -> ApiKey | None:
        async with standing_in(tx, tenant_id) as connection:
            row = await connection.fetchrow(_SQL["find_key"], tenant_id, key_id)
        return _key(row) if row is not None else None

    async def page(self, tx: Transaction, tenant_id: str, before: UUID | None, limit: int) -> Sequence[ApiKey]:
        async with standing_in(tx, tenant_id) as connection:
            return [_key(row) for row in await connection.fetch(_SQL["page_of_keys"], tenant_id, before, limit)]

    async def revoke(self, tx: Transaction, tenant_id: str, key_id: UUID, at: datetime) -> bool:
        async with standing_in(tx, tenant_id) as connection:
            return await connection.fetchval(_SQL["revoke_key"], tenant_id, key_id, at) is not None

    async def note_use(self, tx: Transaction, tenant_id: str, key_id: UUID, at: datetime) -> None:
        async with standing_in(tx, tenant_id) as connection:
            await connection.execute(_SQL["note_use"], tenant_id, key_id, at)

    async def owner_of(self, tx: Transaction, secret_hash: bytes) -> KeyOwner | None:
        row = await connection_of(tx).fetchrow(_SQL["owner_of_key"], secret_hash)
        if row is None:
            return None
        return KeyOwner(
            tenant_id=row["tenant_id"],
            key_id=row["key_id"],
            scopes=_scopes(row["scopes"]),
            expires_at=row["expires_at"],
            revoked_at=row["revoked_at"],
            status=TenantStatus(row["tenant_status"]),
            mode=TenantMode(row["tenant_mode"]),
        )


class PgKeyring:
    """Implements `kernel.vault.Keyring`: each tenant's key is read and opened once per process."""

    def __init__(self, vault: Vault, *, most: int = _MOST_OPEN_KEYS) -> None:
        self._vault = vault
        self._most = most
        self._open: OrderedDict[str, TenantKey] = OrderedDict()

    async def of(self, tx: Transaction) -> TenantKey:
        return await self._key(tx, tx.tenant_id)

    async def of_platform(self, tx: Transaction) -> TenantKey:
        return await self._key(tx, PLATFORM)

    async def _key(self, tx: Transaction, tenant_id: str) -> TenantKey:
        key = self._open.get(tenant_id)
        if key is not None:
            self._open.move_to_end(tenant_id)
            return key
        async with standing_in(tx, tenant_id) as connection:
            wrapped = await connection.fetchval(_SQL["wrapped_key"], tenant_id)
        if wrapped is None:
            raise NotFound("There is no such tenant.")
        try:
            key = self._vault.tenant_key(tenant_id, wrapped)
        except SealBroken as broken:
            raise Misconfigured(
                "A tenant's key does not open under this master key.", code="master_key_wrong"
            ) from broken
        self._open[tenant_id] = key
        if len(self._open) > self._most:
            self._open.popitem(last=False)
        return key

    def __repr__(self) -> str:
        return "PgKeyring(…)"


def _tenant(row: Record) -> Tenant:
    return Tenant(
        id=row["id"],
        name=row["name"],
        mode=TenantMode(row["mode"]),
        status=TenantStatus(row["status"]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _key(row: Record) -> ApiKey:
    return ApiKey(
        tenant_id=row["tenant_id"],
        id=row["id"],
        name=row["name"],
        scopes=_scopes(row["scopes"]),
        hint=row["hint"],
        created_at=row["created_at"],
        created_by=row["created_by"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
    )


def _scopes(words: Sequence[str]) -> frozenset[Permission]:
    """A scope that this code does not know (yet, or any more) grants nothing."""
    known = {permission.value: permission for permission in Permission}
    return frozenset(known[word] for word in words if word in known)
