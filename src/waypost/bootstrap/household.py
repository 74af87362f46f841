"""What `waypost up` keeps beside the API and the worker: the platform, the demo tenant, the catch-all mailbox."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from waypost.adapters.catchall.server import CatchAll
from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.mailbox import PgMailboxStore
from waypost.adapters.postgres.migrate import code_version
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.tenants import PgApiKeyStore, PgKeyring, PgTenantStore
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.bootstrap.clock_sync import database_clock
from waypost.bootstrap.database import Database, prepare_named_database
from waypost.bootstrap.everywhere import everywhere_of
from waypost.kernel.errors import Unauthenticated
from waypost.kernel.tenancy import PLATFORM, PLATFORM_ONLY, Permission
from waypost.kernel.vocabulary import TenantMode
from waypost.mailbox.receive import Receive
from waypost.settings import Settings
from waypost.tenants.access import Access
from waypost.tenants.accounts import Tenants
from waypost.tenants.audit import Audit
from waypost.tenants.keys import ApiKeys
from waypost.tenants.platform import create_platform_key, ensure_platform, operator_scope

DEMO: Final = "demo"
_REQUEST: Final = "waypost up"
_API_KEY: Final = "WAYPOST_API_KEY"
_PLATFORM_KEY: Final = "WAYPOST_PLATFORM_KEY"
_CONNECTIONS: Final = 4
_DEMO_SCOPES: Final = tuple(scope for scope in Permission if scope not in PLATFORM_ONLY)


@dataclass(frozen=True, kw_only=True)
class Household:
    work: PgWork
    stores: PgTenantStore
    tenants: Tenants
    keys: ApiKeys
    access: Access
    catchall: CatchAll

    async def ensure_demo(self, known: Mapping[str, str]) -> dict[str, str]:
        """The demo tenant and two keys that work: those already known, new ones where they do not."""
        scope = operator_scope(_REQUEST)
        async with self.work.begin(PLATFORM) as tx:
            if await self.stores.find(tx, DEMO) is None:
                await self.tenants.create(tx, scope, tenant_id=DEMO, name="Demo", mode=TenantMode.SANDBOX)
        api_key = known.get(_API_KEY)
        if not await self._opens(api_key, DEMO):
            async with self.work.begin(PLATFORM) as tx:
                made = await self.keys.create(tx, scope, name=_REQUEST, scopes=_DEMO_SCOPES, tenant_id=DEMO)
            api_key = made.secret
        platform_key = known.get(_PLATFORM_KEY)
        if not await self._opens(platform_key, PLATFORM):
            made = await create_platform_key(self.work, self.keys, name=_REQUEST, request_id=_REQUEST)
            platform_key = made.secret
        return {_API_KEY: api_key or "", _PLATFORM_KEY: platform_key or ""}

    async def _opens(self, secret: str | None, tenant_id: str) -> bool:
        try:
            scope = await self.access.authenticate(secret, None, _REQUEST)
        except Unauthenticated:
            return False
        return scope.tenant_id == tenant_id


@asynccontextmanager
async def open_household(settings: Settings, database: Database) -> AsyncGenerator[Household]:
    options = PoolOptions(application_name="waypost up", max_size=_CONNECTIONS)
    pool = await open_pool((settings.database_api_url or database.api_url).reveal(), options)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(pool.close)
        clock = await stack.enter_async_context(database_clock(pool))
        work = PgWork(pool)
        stores, vault = PgTenantStore(), LocalVault(database.master)
        await ensure_platform(work, stores, vault, clock)
        audit = Audit(PgAuditStore(), clock)
        access = Access(work=work, keys=PgApiKeyStore(), tenants=stores, clock=clock)
        tenants = Tenants(
            store=stores,
            audit=audit,
            vault=vault,
            access=access,
            clock=clock,
            newcomers=[everywhere_of(PgKeyring(vault))],
        )
        keys = ApiKeys(store=PgApiKeyStore(), tenants=stores, audit=audit, access=access, clock=clock)
        receive = Receive(work=work, store=PgMailboxStore(), keyring=PgKeyring(vault), clock=clock)
        yield Household(work=work, stores=stores, tenants=tenants, keys=keys, access=access, catchall=CatchAll(receive))


async def install(settings: Settings) -> int:
    """For `waypost migrate`: roles, schema and the platform's row. Answers the schema's version."""
    database = await prepare_named_database(settings)
    async with open_household(settings, database):
        return code_version()


async def make_platform_key(settings: Settings, name: str) -> str:
    """The first platform key of a deployment, made by whoever holds the database and the master key."""
    database = await prepare_named_database(settings)
    async with open_household(settings, database) as household:
        made = await create_platform_key(household.work, household.keys, name=name, request_id="waypost keys platform")
        return made.secret
