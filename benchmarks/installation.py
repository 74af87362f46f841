"""A whole Waypost in a temporary directory: embedded database as delivered, one live tenant, real processes."""

import asyncio
import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg

from benchmarks.processes import cpu_of_tree
from benchmarks.sample import CONTENT, address_of, attributes_of
from waypost.bootstrap import App
from waypost.bootstrap.api import open_app
from waypost.bootstrap.database import Database, run_database
from waypost.bootstrap.household import open_household
from waypost.kernel.tenancy import PLATFORM, PLATFORM_ONLY, Permission, Scope
from waypost.kernel.vocabulary import Category, TenantMode
from waypost.notifications.model import SubmitCommand
from waypost.recipients.model import RecipientFields, Target
from waypost.settings import Settings
from waypost.tenants.platform import operator_scope

TENANT = "bench"
_MOST_AT_ONCE = 1_000
_SCOPES = tuple(permission for permission in Permission if permission not in PLATFORM_ONLY)
_DONE = """
select not exists (select from waypost.claims) and not exists (select from waypost.lanes where due < 'infinity')
"""


@dataclass(frozen=True, kw_only=True)
class Installation:
    settings: Settings
    database: Database
    app: App
    key: str
    """Of the live tenant, with every scope of a tenant."""
    admin: "asyncpg.Connection[asyncpg.Record]"
    postmaster: int
    running: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)

    async def accept(
        self, first: int, count: int, *, send_at: datetime | None = None, sender: str | None = None
    ) -> None:
        """Through the use case that the API calls: people made, content rendered once, gate asked, inputs sealed."""
        scope = await self.scope()
        for start in range(first, first + count, _MOST_AT_ONCE):
            numbers = range(start, min(start + _MOST_AT_ONCE, first + count))
            command = SubmitCommand(
                to=tuple(_target(number) for number in numbers),
                content=CONTENT,
                category=Category.MARKETING,
                send_at=send_at,
                sender=sender,
            )
            async with self.app.work.begin(TENANT) as tx:
                await self.app.notifications.submit(tx, scope, command)

    async def claim_domain(self, name: str) -> None:
        """As if its records had been seen: it may stand in From, and either of its keys may sign."""
        scope = await self.scope()
        async with self.app.work.begin(TENANT) as tx:
            await self.app.domains.manage.create(tx, scope, name=name)
        await self.admin.execute(
            "update waypost.domains set state = 'verified', verified_at = now(), next_check_at = 'infinity'"
        )

    async def sign_with(self, algorithm: str | None) -> None:
        await self.admin.execute(
            "update waypost.dkim_keys set state = case when algorithm = $1 then 'active' else 'next' end", algorithm
        )

    async def wait_until_settled(self, patience: float = 300) -> float:
        """Returns when no lane has work and no claim is open: the moment."""
        deadline = time.perf_counter() + patience
        while not await self.admin.fetchval(_DONE):
            self._check_processes()
            if time.perf_counter() > deadline:
                raise TimeoutError("the queue does not empty")
            await asyncio.sleep(0.02)
        return time.perf_counter()

    async def come_to_rest(self) -> None:
        """What accepting leaves to be done is done, and does not fall into what is measured next by chance."""
        await self.admin.execute("vacuum analyze")
        await self.admin.execute("checkpoint")

    async def dispatched(self) -> int:
        """How many messages the ledger says went out: one accepted attempt and one outbox row each."""
        attempts = await self.admin.fetchval("select count(*) from waypost.attempts where outcome = 1")
        outbox = await self.admin.fetchval("select count(*) from waypost.outbox where kind = 1")
        assert attempts == outbox, f"{attempts} accepted attempts, {outbox} outbox rows"
        return attempts

    def database_cpu(self) -> float:
        return cpu_of_tree(self.postmaster)

    @contextmanager
    def process(self, module: str, *, name: str = "", **settings: object) -> Iterator["subprocess.Popen[bytes]"]:
        """A real process of ours; its log goes to a file in the data directory. Of two of a kind one needs a name."""
        known_as = name or module
        chosen = dataclasses.replace(
            self.settings,
            log_level="info",
            log_format="json",
            **settings,  # pyright: ignore[reportArgumentType]
        )
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
        with self._log_of(known_as).open("ab") as file:
            running = subprocess.Popen(
                [sys.executable, "-m", module], env={**environment, **chosen.environment()}, stderr=file
            )
            self.running[known_as] = running
            try:
                yield running
                self._check_processes()
            finally:
                del self.running[known_as]
                running.terminate()
                running.wait()

    def _check_processes(self) -> None:
        for module, process in self.running.items():
            if process.poll() is not None:
                raise RuntimeError(f"{module} ended: {self._log_of(module).read_text()[-2_000:]}")

    def _log_of(self, module: str) -> Path:
        return self.settings.data_dir / f"{module}.log"

    async def scope(self) -> Scope:
        return await self.app.access.authenticate(self.key, None, "rid_benchmark")


@asynccontextmanager
async def installed(**settings: object) -> AsyncIterator[Installation]:
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="waypost-bench-"))
        chosen = Settings(data_dir=Path(folder), port=0, **settings)  # pyright: ignore[reportArgumentType]
        database = await stack.enter_async_context(run_database(chosen))
        household = await stack.enter_async_context(open_household(chosen, database))
        chosen = dataclasses.replace(chosen, database_api_url=database.api_url, database_worker_url=database.worker_url)
        app = await stack.enter_async_context(open_app(chosen))
        scope = operator_scope("rid_benchmark")
        async with household.work.begin(PLATFORM) as tx:
            await household.tenants.create(tx, scope, tenant_id=TENANT, name="Bench", mode=TenantMode.LIVE)
        async with household.work.begin(PLATFORM) as tx:
            made = await household.keys.create(tx, scope, name="bench", scopes=_SCOPES, tenant_id=TENANT)
        admin = await asyncpg.connect(database.administrator.reveal())
        # Its recipients are strangers, and its marketing must go out.
        implied = '{"preferences": {"consent_policy": "implied"}}'
        await admin.execute("update waypost.tenants set settings = $1::text::jsonb where id = $2", implied, TENANT)
        stack.push_async_callback(admin.close)
        yield Installation(
            settings=chosen,
            database=database,
            app=app,
            key=made.secret,
            admin=admin,
            postmaster=int((Path(folder) / "postgres" / "postmaster.pid").read_text().split()[0]),
        )


def moment_after(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def _target(number: int) -> Target:
    fields = RecipientFields(email=address_of(number), attributes=attributes_of(number))
    return Target(id=f"reader-{number}", fields=fields)
