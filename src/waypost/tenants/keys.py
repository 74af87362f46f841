"""Making, listing and revoking keys. The secret is shown once, when it is made."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Forbidden, NotFound, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.tenants.access import Access
from waypost.tenants.audit import OPERATOR, Audit
from waypost.tenants.model import ApiKey, NewApiKey, TenantStatus
from waypost.tenants.ports import ApiKeyStore, TenantStore
from waypost.tenants.rules import check_expiry, check_grant, is_slug, read_name, read_scopes
from waypost.tenants.secret import hash_secret, hint_of, mint_secret

_LISTING: Final = "api-keys"


class ApiKeys:
    def __init__(self, *, store: ApiKeyStore, tenants: TenantStore, audit: Audit, access: Access, clock: Clock) -> None:
        self._store = store
        self._tenants = tenants
        self._audit = audit
        self._access = access
        self._clock = clock

    async def create(
        self,
        tx: Transaction,
        scope: Scope,
        *,
        name: str,
        scopes: Iterable[str],
        tenant_id: str | None = None,
        expires_at: datetime | None = None,
    ) -> NewApiKey:
        """For the caller's own tenant, or, by the platform, for the one it names."""
        target, mode = await self._target(tx, scope, tenant_id)
        wanted = read_scopes(scopes, "/scopes")
        check_grant(scope, target, wanted)
        now = self._clock.now()
        check_expiry(expires_at, now)
        secret = mint_secret(target, mode)
        key = ApiKey(
            tenant_id=target,
            id=mint(self._clock),
            name=read_name(name, "/name"),
            scopes=wanted,
            hint=hint_of(secret),
            created_at=now,
            created_by=scope.key_id if scope.key_id != OPERATOR else None,
            expires_at=expires_at,
            revoked_at=None,
            last_used_at=None,
        )
        await self._store.add(tx, key, hash_secret(secret))
        detail = {"name": key.name, "scopes": " ".join(sorted(wanted)), "hint": key.hint}
        await self._audit.record(tx, scope, "api_key.created", show("key", key.id), dict(detail), about=target)
        return NewApiKey(key=key, secret=secret)

    async def page(
        self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None, *, tenant_id: str | None = None
    ) -> Page[ApiKey]:
        """Newest first, the revoked and expired ones too."""
        target, _ = await self._target(tx, scope, tenant_id)
        size = read_limit(limit)
        found = await self._store.page(tx, target, decode_id_cursor(_LISTING, cursor), size + 1)
        return page_of(found, size, lambda key: encode_id_cursor(_LISTING, key.id))

    async def get(self, tx: Transaction, scope: Scope, key_id: UUID, *, tenant_id: str | None = None) -> ApiKey:
        target, _ = await self._target(tx, scope, tenant_id)
        return await self._find(tx, target, key_id)

    async def revoke(self, tx: Transaction, scope: Scope, key_id: UUID, *, tenant_id: str | None = None) -> None:
        """Revoking twice is as good as once. Other processes feel it within seconds."""
        target, _ = await self._target(tx, scope, tenant_id)
        key = await self._find(tx, target, key_id)
        if await self._store.revoke(tx, target, key_id, self._clock.now()):
            detail = {"name": key.name, "hint": key.hint}
            await self._audit.record(tx, scope, "api_key.revoked", show("key", key_id), dict(detail), about=target)
        self._access.forget_key(key_id)

    async def _find(self, tx: Transaction, tenant_id: str, key_id: UUID) -> ApiKey:
        key = await self._store.find(tx, tenant_id, key_id)
        if key is None:
            raise NotFound("There is no key of this id.")
        return key

    async def _target(self, tx: Transaction, scope: Scope, tenant_id: str | None) -> tuple[str, TenantMode]:
        scope.demand(Permission.KEYS_MANAGE)
        if tenant_id is None or tenant_id == scope.tenant_id:
            return scope.tenant_id, scope.mode
        if not scope.is_platform:
            raise Forbidden("This key belongs to another tenant than the one named.", code="other_tenant")
        scope.demand(Permission.TENANTS_ACT)
        known = tenant_id != PLATFORM and is_slug(tenant_id)
        tenant = await self._tenants.find(tx, tenant_id) if known else None
        if tenant is None or tenant.status is TenantStatus.DELETING:
            raise refuse("/tenant_id", "unknown_tenant", "There is no tenant of this id.")
        return tenant.id, tenant.mode
