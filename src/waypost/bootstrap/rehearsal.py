"""A whole Waypost for one rehearsal: scratch database, fake Internet, told time. Everything is gone when it closes."""

import asyncio
import dataclasses
import random
import tempfile
import tomllib
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from waypost.adapters.embedded.server import EmbeddedServer
from waypost.adapters.internet.server import FakeInternet
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.rehearsal import SEARCH_PATH, PgRehearsal
from waypost.adapters.postgres.tenants import PgKeyring, PgTenantStore
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.bootstrap.api import open_app
from waypost.bootstrap.app import App
from waypost.bootstrap.database import prepare_named_database
from waypost.bootstrap.own_time import OwnTime, ToldClock
from waypost.bootstrap.quiet import QuietTelemetry
from waypost.bootstrap.rehearsed_broadcast import Broadcast, Progress
from waypost.bootstrap.worker import open_worker
from waypost.kernel.clock import SystemClock
from waypost.kernel.errors import Misconfigured
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import Channel, TenantMode
from waypost.kernel.work import Transaction
from waypost.preferences.model import ConsentPolicy
from waypost.preferences.policies import PolicyWish
from waypost.rehearsal.conductor import Conductor
from waypost.rehearsal.model import Letter, Person, Profile, Report, Return, ReturnKind
from waypost.rehearsal.profiles import PROFILES, read_profile
from waypost.rehearsal.world import World
from waypost.settings import Secret, Settings
from waypost.suppression.desk import Order
from waypost.suppression.model import SuppressionReason
from waypost.tenants.platform import ensure_platform, operator_scope

TENANT: Final = "rehearsal"
_REQUEST: Final = "waypost rehearse"
_AT_ONCE: Final = 500
_CONNECTIONS: Final = 20
_LEASE: Final = 3600.0
# Nothing of it is kept.
_CARELESS: Final = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "autovacuum_naptime": "5s"}
_REASONS: Final = {
    ReturnKind.UNDELIVERABLE: SuppressionReason.HARD_BOUNCE,
    ReturnKind.COMPLAINT: SuppressionReason.COMPLAINT,
}


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """A stage. What is sent on it reaches the fake Internet and nothing else."""

    app: App
    world: World
    clock: ToldClock
    settings: Settings
    database: PgRehearsal
    conductor: Conductor
    own_time: OwnTime
    broadcast: Broadcast
    scope: Scope

    async def send(self, people: Sequence[Person], letter: Letter, told: Progress | None = None) -> None:
        """Accepts a message to everyone, as a broadcast does: by a dispatch batch."""
        suppressed = [person.address for person in people if person.suppressed]
        for first in range(0, len(suppressed), _AT_ONCE):
            async with self.app.work.begin(TENANT) as tx:
                for address in suppressed[first : first + _AT_ONCE]:
                    await self._suppress(tx, address, SuppressionReason.MANUAL)
        await self.broadcast(self.scope, people, letter, told)

    async def run(self) -> None:
        """Sends until everything has ended and nothing comes back any more, however long that takes by its clock."""
        self.conductor.finished.clear()
        self.conductor.hand_returns_to(self._take_back)
        # Pauses before a message is tried again are drawn by chance.
        chance = random.getstate()
        random.seed(self.world.seed)
        try:
            await self._work()
        finally:
            random.setstate(chance)

    async def _work(self) -> None:
        async with open_worker(self.settings, QuietTelemetry(), own_time=self.own_time) as worker:
            running = asyncio.create_task(worker.run())
            done = asyncio.create_task(self.conductor.finished.wait())
            await asyncio.wait({running, done}, return_when=asyncio.FIRST_COMPLETED)
            done.cancel()
            await worker.stop(0)
            await running

    async def report(self) -> Report:
        states, reasons = await self.database.ends(TENANT)
        calls = await self.database.calls(TENANT)
        began, finished = self.world.began, self.world.finished or self.world.began
        return Report(
            profile=self.world.profile.name,
            seed=self.world.seed,
            recipients=states.total(),
            ended=dict(sorted(states.items())),
            reasons=dict(sorted(reasons.items())),
            attempts=calls.attempts,
            deferrals=calls.deferrals,
            retries=calls.retries,
            finished_after_seconds=round((finished - began).total_seconds()),
            settled_after_seconds=round((self.clock.now() - began).total_seconds()),
            suppressed=dict(sorted((await self.database.suppressed(TENANT)).items())),
            providers=self.world.reports(),
        )

    async def _take_back(self, returns: Sequence[Return]) -> None:
        async with self.app.work.begin(TENANT) as tx:
            for one in returns:
                await self._suppress(tx, one.address, _REASONS[one.kind])

    async def _suppress(self, tx: Transaction, address: str, reason: SuppressionReason) -> None:
        order = Order(channel=Channel.EMAIL, address=address, reason=reason)
        await self.app.suppressions.put(tx, self.scope, order)


@contextmanager
def _scratch() -> Generator[Path]:
    """A directory within one that other users may pass through: the embedded server may have to run as one of them."""
    with tempfile.TemporaryDirectory(prefix="wpr-") as name:
        outside = Path(name)
        outside.chmod(0o755)
        (outside / "d").mkdir(mode=0o700)
        yield outside / "d"


@asynccontextmanager
async def open_rehearsal(
    profile: Profile, *, seed: int = 1, horizon: timedelta = timedelta(days=14), start: datetime | None = None
) -> AsyncGenerator[Rehearsal]:
    """`start` is the moment at which it begins by its own clock; partitions must exist for it, so it is about now."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(_scratch())
        clock = ToldClock((start or SystemClock().now()).replace(microsecond=0))
        world = World(profile, seed, clock)
        internet = FakeInternet(world)
        stack.push_async_callback(internet.close)
        server = EmbeddedServer(folder, settings=_CARELESS)
        stack.push_async_callback(server.stop)
        settings = Settings(
            data_dir=folder,
            database_url=Secret(await server.start()),
            smtp_url=Secret(f"smtp://127.0.0.1:{await internet.start()}?tls=off"),
            smtp_connections=_CONNECTIONS,
            lease=_LEASE,
            relay="off",
        )
        database = await prepare_named_database(settings)
        known = dataclasses.replace(
            settings, database_url=None, database_api_url=database.api_url, database_worker_url=database.worker_url
        )
        told = await PgRehearsal.open(database.administrator.reveal())
        stack.push_async_callback(told.close)
        await told.tell(clock.now())
        pool = await open_pool(database.api_url.reveal(), PoolOptions(application_name="waypost rehearsal", max_size=1))
        await ensure_platform(PgWork(pool), PgTenantStore(), LocalVault(database.master), clock)
        await pool.close()
        conductor = Conductor(clock=clock, world=world, database=told, horizon=horizon)
        own_time = OwnTime(clock=clock, ear=conductor, timekeeper=conductor, search_path=SEARCH_PATH)
        app = await stack.enter_async_context(open_app(known, own_time=own_time))
        yield Rehearsal(
            app=app,
            world=world,
            clock=clock,
            settings=known,
            database=told,
            conductor=conductor,
            own_time=own_time,
            broadcast=Broadcast(app, PgKeyring(LocalVault(database.master))),
            scope=await _make_tenant(app),
        )


def chosen_profile(named: str | Path) -> Profile:
    """One that comes along, by its name, or the TOML file of that name."""
    if str(named) in PROFILES:
        return PROFILES[str(named)]
    path = Path(named)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        known = ", ".join(PROFILES)
        raise Misconfigured(f"There is no profile and no file {named}. Those that come along: {known}.") from None
    except tomllib.TOMLDecodeError as fault:
        raise Misconfigured(f"The profile {named} is not TOML: {fault}.") from None
    return read_profile(path.stem, content)


async def _make_tenant(app: App) -> Scope:
    """A live one: a sandbox tenant's mail would go to the catch-all. Whether people have consented is not rehearsed."""
    async with app.work.begin(PLATFORM) as tx:
        await app.tenants.create(tx, operator_scope(_REQUEST), tenant_id=TENANT, name="Rehearsal", mode=TenantMode.LIVE)
    scope = Scope(
        tenant_id=TENANT,
        mode=TenantMode.LIVE,
        key_id=mint(app.clock),
        key_tenant=TENANT,
        permissions=frozenset(Permission),
        request_id=_REQUEST,
    )
    async with app.work.begin(TENANT) as tx:
        await app.wishes.policies.change(tx, scope, PolicyWish(consent_policy=ConsentPolicy.IMPLIED))
    return scope
