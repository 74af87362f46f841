"""Making, reading and changing tenants. Calls run in a transaction of the caller's own tenant."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, PreconditionFailed, refuse
from waypost.kernel.paging import Page, decode_cursor, encode_cursor, page_of, read_limit
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vault import Vault
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.tenants.access import Access
from waypost.tenants.audit import Audit
from waypost.tenants.model import Tenant, TenantStatus
from waypost.tenants.ports import Newcomers, TenantStore
from waypost.tenants.rules import check_transition, is_slug, read_name, read_slug

_LISTING: Final = "tenants"
_BEGINNINGS: Final = frozenset({TenantStatus.ACTIVE, TenantStatus.ONBOARDING})


class Tenants:
    def __init__(
        self,
        *,
        store: TenantStore,
        audit: Audit,
        vault: Vault,
        access: Access,
        clock: Clock,
        newcomers: Sequence[Newcomers] = (),
    ) -> None:
        self._newcomers = newcomers
        self._store = store
        self._audit = audit
        self._vault = vault
        self._access = access
        self._clock = clock

    async def create(
        self,
        tx: Transaction,
        scope: Scope,
        *,
        tenant_id: str,
        name: str,
        mode: TenantMode,
        status: TenantStatus = TenantStatus.ACTIVE,
    ) -> Tenant:
        scope.demand(Permission.TENANTS_MANAGE)
        if status not in _BEGINNINGS:
            raise refuse("/status", "invalid", "A tenant begins as onboarding or active.")
        now = self._clock.now()
        tenant = Tenant(
            id=read_slug(tenant_id, "/id"),
            name=read_name(name, "/name"),
            mode=mode,
            status=status,
            version=1,
            created_at=now,
            updated_at=now,
        )
        if not await self._store.add(tx, tenant, self._vault.new_tenant_key(tenant.id)):
            raise Conflict("There is a tenant of this id already.", code="tenant_exists")
        for one in self._newcomers:
            await one.welcome(tx, tenant.id)
        detail = {"name": tenant.name, "mode": tenant.mode.value, "status": tenant.status.value}
        await self._audit.record(tx, scope, "tenant.created", tenant.id, dict(detail), about=tenant.id)
        return tenant

    async def get(self, tx: Transaction, scope: Scope, tenant_id: str) -> Tenant:
        """Any key may read its own tenant. For a tenant's key there are no others; for the platform's, by scope."""
        if scope.is_platform:
            scope.demand(Permission.TENANTS_MANAGE)
        elif tenant_id != scope.tenant_id:
            raise _not_found()
        return await self._find(tx, tenant_id)

    async def page(
        self,
        tx: Transaction,
        scope: Scope,
        cursor: str | None,
        limit: int | None,
        *,
        status: TenantStatus | None = None,
    ) -> Page[Tenant]:
        scope.demand(Permission.TENANTS_MANAGE)
        size = read_limit(limit)
        found = await self._store.page(tx, decode_cursor(_LISTING, cursor), size + 1, status)
        return page_of(found, size, lambda tenant: encode_cursor(_LISTING, tenant.id))

    async def change(
        self,
        tx: Transaction,
        scope: Scope,
        tenant_id: str,
        *,
        name: str | None = None,
        status: TenantStatus | None = None,
        version: int | None = None,
    ) -> Tenant:
        """`version` is what the caller has seen (If-Match); None changes whatever is there."""
        scope.demand(Permission.TENANTS_MANAGE)
        tenant = await self._find(tx, tenant_id, for_change=True)
        if version is not None and version != tenant.version:
            raise PreconditionFailed("The tenant was changed meanwhile. Read it again.")
        wanted = replace(
            tenant,
            name=tenant.name if name is None else read_name(name, "/name"),
            status=status or tenant.status,
        )
        check_transition(tenant.status, wanted.status)
        if wanted == tenant:
            return tenant
        changed = replace(wanted, version=tenant.version + 1, updated_at=self._clock.now())
        await self._store.change(tx, changed)
        detail = {"name": changed.name, "status": changed.status.value, "status_before": tenant.status.value}
        await self._audit.record(tx, scope, "tenant.changed", tenant.id, dict(detail), about=tenant.id)
        self._access.forget_tenant(tenant.id)
        return changed

    async def _find(self, tx: Transaction, tenant_id: str, *, for_change: bool = False) -> Tenant:
        known = tenant_id != PLATFORM and is_slug(tenant_id)
        tenant = await self._store.find(tx, tenant_id, for_change=for_change) if known else None
        if tenant is None:
            raise _not_found()
        return tenant


def _not_found() -> NotFound:
    return NotFound("There is no tenant of this id.")
