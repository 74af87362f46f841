"""The platform's own beginnings: its row, which also proves that the master key is the right one, and its first key."""

from collections.abc import Iterable

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Misconfigured
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vault import SealBroken, Vault
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Work
from waypost.tenants.audit import OPERATOR
from waypost.tenants.keys import ApiKeys
from waypost.tenants.model import NewApiKey, Tenant, TenantStatus
from waypost.tenants.ports import TenantStore


def operator_scope(request_id: str) -> Scope:
    """Whoever runs commands on the server itself may do everything; the audit says `operator`."""
    return Scope(
        tenant_id=PLATFORM,
        mode=TenantMode.LIVE,
        key_id=OPERATOR,
        key_tenant=PLATFORM,
        permissions=frozenset(Permission),
        request_id=request_id,
    )


async def ensure_platform(work: Work, tenants: TenantStore, vault: Vault, clock: Clock) -> None:
    """Makes the platform's row on a fresh database; on any other, refuses a master key that is not this database's."""
    async with work.begin(PLATFORM) as tx:
        wrapped = await tenants.wrapped_key(tx, PLATFORM)
        if wrapped is None:
            now = clock.now()
            platform = Tenant(
                id=PLATFORM,
                name="Platform",
                mode=TenantMode.LIVE,
                status=TenantStatus.ACTIVE,
                version=1,
                created_at=now,
                updated_at=now,
            )
            await tenants.add(tx, platform, vault.new_tenant_key(PLATFORM))
            # Another process may have been first: what counts is the key that is there now.
            wrapped = await tenants.wrapped_key(tx, PLATFORM)
    check_master_key(vault, wrapped)


async def verify_master_key(work: Work, tenants: TenantStore, vault: Vault) -> None:
    """For processes that do not migrate: the database must have been made with this master key."""
    async with work.begin(PLATFORM) as tx:
        wrapped = await tenants.wrapped_key(tx, PLATFORM)
    if wrapped is None:
        raise Misconfigured("The database has not been set up. Run: waypost migrate", code="not_migrated")
    check_master_key(vault, wrapped)


def check_master_key(vault: Vault, wrapped: bytes | None) -> None:
    try:
        vault.tenant_key(PLATFORM, wrapped or b"")
    except SealBroken:
        raise Misconfigured(
            "The master key is not the one this database was made with. Put the right master.key into the data "
            "directory; nothing has been changed.",
            code="master_key_wrong",
        ) from None


async def create_platform_key(
    work: Work, keys: ApiKeys, *, name: str, request_id: str, scopes: Iterable[Permission] = tuple(Permission)
) -> NewApiKey:
    async with work.begin(PLATFORM) as tx:
        return await keys.create(tx, operator_scope(request_id), name=name, scopes=[scope.value for scope in scopes])
