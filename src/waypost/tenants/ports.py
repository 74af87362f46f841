"""What the tenants slice needs from the system of record."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.kernel.work import Transaction
from waypost.tenants.model import ApiKey, AuditEntry, KeptCall, KeyOwner, Tenant, TenantStatus


class TenantStore(Protocol):
    """A transaction of the platform reaches another tenant's row by naming the tenant, and only here."""

    async def add(self, tx: Transaction, tenant: Tenant, wrapped_key: bytes) -> bool:
        """False where the id is taken."""
        ...

    async def find(self, tx: Transaction, tenant_id: str, *, for_change: bool = False) -> Tenant | None: ...

    async def wrapped_key(self, tx: Transaction, tenant_id: str) -> bytes | None: ...

    async def change(self, tx: Transaction, tenant: Tenant) -> None: ...

    async def page(
        self, tx: Transaction, after: str | None, limit: int, status: TenantStatus | None
    ) -> Sequence[Tenant]:
        """Every tenant by id, without the platform's own row."""
        ...


class Newcomers(Protocol):
    async def welcome(self, tx: Transaction, tenant_id: str) -> None:
        """Told of a tenant in the platform's transaction that makes it."""
        ...


class ApiKeyStore(Protocol):
    async def add(self, tx: Transaction, key: ApiKey, secret_hash: bytes) -> None: ...

    async def find(self, tx: Transaction, tenant_id: str, key_id: UUID) -> ApiKey | None: ...

    async def page(self, tx: Transaction, tenant_id: str, before: UUID | None, limit: int) -> Sequence[ApiKey]:
        """Newest first."""
        ...

    async def revoke(self, tx: Transaction, tenant_id: str, key_id: UUID, at: datetime) -> bool:
        """False where it was revoked already."""
        ...

    async def note_use(self, tx: Transaction, tenant_id: str, key_id: UUID, at: datetime) -> None: ...

    async def owner_of(self, tx: Transaction, secret_hash: bytes) -> KeyOwner | None:
        """Looks across tenants: whose key this is."""
        ...


class AuditStore(Protocol):
    async def add(self, tx: Transaction, tenant_id: str, entry: AuditEntry) -> None: ...

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[AuditEntry]:
        """Newest first."""
        ...


class IdempotencyStore(Protocol):
    async def claim(self, tx: Transaction, key: str, route: str, fingerprint: bytes, at: datetime) -> bool:
        """True when the key is now ours. Waits for a twin in flight; raises `Conflict` when that takes too long."""
        ...

    async def find(self, tx: Transaction, key: str) -> KeptCall | None: ...

    async def forget(self, tx: Transaction, key: str, older_than: datetime) -> None: ...

    async def keep(self, tx: Transaction, key: str, status: int, answer: bytes) -> None: ...

    async def claim_many(self, tx: Transaction, route: str, wanted: Mapping[str, bytes], at: datetime) -> bool:
        """Takes the keys that are free, each with its fingerprint, and says whether all were. Waits as `claim` does."""
        ...

    async def forget_many(self, tx: Transaction, keys: Sequence[str], older_than: datetime) -> None:
        """Frees those of the keys that were taken before then."""
        ...

    async def find_many(self, tx: Transaction, keys: Sequence[str]) -> Mapping[str, tuple[str, bytes]]:
        """Route and fingerprint of each key that is taken."""
        ...

    async def keep_new(self, tx: Transaction, calls: Mapping[str, KeptCall]) -> Set[str]:
        """Takes the keys that nobody has, each with its answer, and says which."""
        ...

    async def release_many(self, tx: Transaction, route: str, taken: Mapping[str, bytes]) -> None: ...
