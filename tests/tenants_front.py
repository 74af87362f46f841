"""The tenants slice as it is put together in production, for tests on the real database."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.tenants import PgApiKeyStore, PgTenantStore
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.clock import VirtualClock
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.tenants.access import Access
from waypost.tenants.accounts import Tenants
from waypost.tenants.audit import Audit
from waypost.tenants.keys import ApiKeys
from waypost.tenants.model import NewApiKey, Tenant, TenantStatus
from waypost.tenants.platform import ensure_platform, operator_scope

VAULT = LocalVault(MasterKey(bytes(range(32))))
EVERYTHING = tuple(Permission)
TENANT_SCOPES = tuple(
    permission for permission in Permission if permission not in (Permission.TENANTS_ACT, Permission.TENANTS_MANAGE)
)


@dataclass(frozen=True, kw_only=True)
class Front:
    """The tenants slice as it is put together in production."""

    work: PgWork
    clock: VirtualClock
    access: Access
    tenants: Tenants
    keys: ApiKeys
    audit: Audit

    async def make_tenant(
        self, tenant_id: str, *, mode: TenantMode = TenantMode.SANDBOX, status: TenantStatus = TenantStatus.ACTIVE
    ) -> Tenant:
        async with self.work.begin(PLATFORM) as tx:
            return await self.tenants.create(
                tx, operator_scope("req"), tenant_id=tenant_id, name=tenant_id.title(), mode=mode, status=status
            )

    async def make_key(
        self, tenant_id: str, scopes: tuple[Permission, ...] = TENANT_SCOPES, *, lives: timedelta | None = None
    ) -> NewApiKey:
        async with self.work.begin(PLATFORM) as tx:
            return await self.keys.create(
                tx,
                operator_scope("req"),
                name="test",
                scopes=[scope.value for scope in scopes],
                tenant_id=tenant_id,
                expires_at=self.clock.now() + lives if lives else None,
            )

    async def set_status(self, tenant_id: str, status: TenantStatus) -> None:
        async with self.work.begin(PLATFORM) as tx:
            await self.tenants.change(tx, operator_scope("req"), tenant_id, status=status)

    async def enter(self, secret: str | None, header: str | None = None) -> Scope:
        return await self.access.authenticate(secret, header, "req_1")

    def another_process(self) -> "Front":
        return replace(
            self,
            access=Access(work=self.work, keys=PgApiKeyStore(), tenants=PgTenantStore(), clock=self.clock),
        )


@pytest.fixture
async def front(api_work: PgWork, clock: VirtualClock) -> Front:
    tenants, keys, audit = PgTenantStore(), PgApiKeyStore(), Audit(PgAuditStore(), clock)
    access = Access(work=api_work, keys=keys, tenants=tenants, clock=clock)
    await ensure_platform(api_work, tenants, VAULT, clock)
    return Front(
        work=api_work,
        clock=clock,
        access=access,
        tenants=Tenants(store=tenants, audit=audit, vault=VAULT, access=access, clock=clock),
        keys=ApiKeys(store=keys, tenants=tenants, audit=audit, access=access, clock=clock),
        audit=audit,
    )
