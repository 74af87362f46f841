"""What a timer tick costs when many timers wait, against the same when few do: both fire a thousand that are due."""

import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from statistics import median

from benchmarks.installation import TENANT, Installation, installed
from benchmarks.results import Findings, compared
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.template_contents import PgVersionStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.render.pool import RenderPool
from waypost.adapters.vault.keyring import LocalVault
from waypost.bootstrap.events import join_firing
from waypost.bootstrap.submitting import join_submit
from waypost.delivery.model import State
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Category, Channel, TenantMode
from waypost.notifications.model import Accepted
from waypost.templates.catalog import NewTemplate
from waypost.templates.drafting import NewVersion
from waypost.templates.model import Format, LocaleSource, Written
from waypost.templates.versions import Versions
from waypost.tenants.audit import OPERATOR
from waypost.triggers.fire import Firing
from waypost.triggers.model import Event, TriggerSpec
from waypost.triggers.take import Events

_WAIT = """
insert into waypost.timers (tenant_id, id, kind, source, state, occurred_at, due, payload, created_at)
select 'waiting-' || n % 1000, gen_random_uuid(), 'trigger', 's' || n, 'waiting', now(),
       now() + interval '1 day' + n * interval '1 second', decode(repeat('ab', 160), 'hex'), now()
from generate_series($1::integer, $2::integer) n
"""
_DUE = "update waypost.timers set due = now() - interval '1 second' where tenant_id = $1 and state = 'waiting'"


class _Silence:
    def accepted(self, accepted: Sequence[Accepted], seconds: float) -> None: ...

    def fanned_out(self, channel: Channel, status: State, count: int, seconds: float) -> None: ...

    def taken(self, accepted: int, duplicates: int, refused: int) -> None: ...

    def fired(self, word: str, reason: str, count: int) -> None: ...

    def ticked(self, seconds: float) -> None: ...

    def consumed(self, outcome: str) -> None: ...


_SCOPE = Scope(
    tenant_id=TENANT,
    mode=TenantMode.SANDBOX,
    key_id=OPERATOR,
    key_tenant=TENANT,
    permissions=frozenset(Permission),
    request_id="bench",
)


class _Ticker:
    def __init__(self, house: Installation, firing: Firing, due: int) -> None:
        self._house = house
        self._firing = firing
        self._due = due
        self._told = 0

    async def tick(self) -> float:
        """Seconds; every timer is checked to have fired."""
        self._told += 1
        data = {"guest": {"id": "guest", "email": "guest@example.com"}}
        events = [
            Event(id=f"{self._told}-{n}", type="t", occurred_at=datetime.now(UTC), data=data) for n in range(self._due)
        ]
        async with self._house.app.work.begin(TENANT) as tx:
            taking: Events = self._house.app.events.events
            await taking.take_all(tx, _SCOPE, events)
        await self._house.admin.execute(_DUE, TENANT)
        await self._house.admin.execute("analyze waypost.timers")
        begun = time.perf_counter()
        fired = await self._firing.tick()
        seconds = time.perf_counter() - begun
        assert fired == self._due, fired
        return seconds


async def _publish(house: Installation) -> None:
    templates, triggers = house.app.templates, house.app.events.triggers
    source = LocaleSource(subject="A word", body="Hello", format=Format.TEXT)
    async with house.app.work.begin(TENANT) as tx:
        new = NewTemplate(key="reminder", channel=Channel.EMAIL, category=Category.OPERATIONAL)
        await templates.catalog.create(tx, _SCOPE, new)
        draft = NewVersion(written=Written(locales={"en": source}), semver="1.0.0")
        await templates.drafts.add(tx, _SCOPE, "reminder", Channel.EMAIL, draft)
        await templates.publish(tx, _SCOPE, "reminder", Channel.EMAIL, "1.0.0")
        spec = TriggerSpec(event_type="t", template="reminder", recipient="$.data.guest", offset="1h")
        await triggers.create(tx, _SCOPE, spec, None)


@asynccontextmanager
async def _with_waiting(rows: int, due: int) -> AsyncIterator[_Ticker]:
    async with AsyncExitStack() as stack:
        house = await stack.enter_async_context(installed())
        await _publish(house)
        for start in range(0, rows, 100_000):
            await house.admin.execute(_WAIT, start + 1, min(start + 100_000, rows))
        await house.admin.execute("vacuum analyze waypost.timers")
        await house.admin.execute("checkpoint")
        clock, silence = house.app.clock, _Silence()
        keyring, renderer = PgKeyring(LocalVault(house.database.master)), RenderPool(clock=clock)
        stack.push_async_callback(renderer.close)
        options = PoolOptions(application_name="bench", max_size=3, index_plans=True)
        pool = await open_pool(house.database.worker_url.reveal(), options)
        stack.push_async_callback(pool.close)
        delivery, work = PgDelivery(clock=clock, ring=lambda: None), PgWork(pool)
        versions = Versions(store=PgVersionStore(), renderer=renderer, keyring=keyring, clock=clock)
        joined = join_submit(
            versions=versions, renderer=renderer, keyring=keyring, delivery=delivery, telemetry=silence, clock=clock
        )
        firing = join_firing(
            work=work, joined=joined, delivery=delivery, keyring=keyring, telemetry=silence, clock=clock
        )
        ticker = _Ticker(house, firing, due)
        await ticker.tick()
        yield ticker


async def measure(*, quick: bool) -> Findings:
    small, large, due = (100, 2_000, 50) if quick else (1_000, 1_000_000, 1_000)
    rounds, ticks = (2, 1) if quick else (5, 2)
    few: list[float] = []
    many: list[float] = []
    async with AsyncExitStack() as stack:
        with_few = await stack.enter_async_context(_with_waiting(small, due))
        with_many = await stack.enter_async_context(_with_waiting(large, due))
        for _ in range(rounds):
            pairs: list[tuple[float, float]] = []
            for _ in range(ticks):
                # Whichever goes second finds the machine warmer.
                if random.random() < 0.5:
                    pairs.append((await with_few.tick(), await with_many.tick()))
                else:
                    theirs = await with_many.tick()
                    pairs.append((await with_few.tick(), theirs))
            few.append(median(pair[0] for pair in pairs) * 1e3)
            many.append(median(pair[1] for pair in pairs) * 1e3)
    entry = compared(
        name="timers",
        what=f"a tick that fires {due:,} with {large:,} waiting",
        unit="ms",
        ours=many,
        reference=f"the same with {small:,} waiting",
        theirs=few,
        goal="≤ 1.5",
        at_most=1.5,
    )
    return Findings([entry])
