"""Limits at dispatch: exact whoever sends at once; what is over them waits, and says why."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from waypost.adapters.postgres.limits import PgLimits
from waypost.delivery.gate import Allow, Defer, GateFacts, Skip
from waypost.delivery.gatekeeper import Gatekeeper
from waypost.delivery.limits import Cap, Limits, Rate
from waypost.kernel.vocabulary import Category
from waypost.preferences.model import ConsentState

NOON = datetime(2026, 1, 15, 12, 0, 30, tzinfo=UTC)


@pytest.fixture
def keeper(office: Any) -> Gatekeeper:
    return Gatekeeper(work=office.worker_work, delivery=office.delivery, limits=PgLimits())


async def put(office: Any, limits: Limits) -> None:
    async with office.api_work.begin("acme") as tx:
        await PgLimits().put(tx, limits, NOON)


async def claimed(office: Any, count: int, **options: Any) -> list[Any]:
    await office.submit(count, **options)
    worker = await office.worker()
    return list((await worker.claim(count))[1])


async def test_only_who_has_limits_is_asked_about_every_time(office: Any) -> None:
    await office.make_tenant("other")
    await put(office, Limits(tenant=Rate(minute=1)))
    await office.submit(1)
    await office.submit(1, tenant="other")
    worker = await office.worker()
    assert {one.tenant_id: one.gate_changed for one in (await worker.claim(2))[1]} == {"acme": True, "other": False}
    await put(office, Limits())
    [free] = await claimed(office, 1)
    assert not free.gate_changed


async def test_workers_at_once_never_let_out_more_than_the_limit(office: Any, keeper: Gatekeeper) -> None:
    await put(office, Limits(tenant=Rate(minute=25)))
    rows = await claimed(office, 80)
    batches = [rows[start : start + 10] for start in range(0, 80, 10)]
    verdicts = [
        verdict for each in await asyncio.gather(*(keeper.judge("acme", batch, NOON) for batch in batches))
        for verdict in each
    ]  # fmt: skip
    assert sum(isinstance(verdict, Allow) for verdict in verdicts) == 25
    waits = sorted(verdict.until for verdict in verdicts if isinstance(verdict, Defer))
    first = NOON.replace(second=0) + timedelta(minutes=1)
    assert waits == [first] * 25 + [first + timedelta(minutes=1)] * 25 + [first + timedelta(minutes=2)] * 5
    again = await keeper.judge("acme", rows[:30], first)
    assert sum(isinstance(verdict, Allow) for verdict in again) == 25


async def test_security_messages_never_wait_but_count(office: Any, keeper: Gatekeeper) -> None:
    await put(office, Limits(channels={"email": Rate(day=1)}))
    codes = await claimed(office, 3, category=Category.SECURITY, expires_in=timedelta(days=400))
    letters = await claimed(office, 1, expires_in=timedelta(days=400))
    verdicts = await keeper.judge("acme", [*codes, *letters], NOON)
    assert [type(verdict) for verdict in verdicts] == [Allow, Allow, Allow, Defer]
    assert verdicts[3].fact == {"of": "channel", "per": "day", "limit": 1}
    assert verdicts[3].until == datetime(2026, 1, 16, tzinfo=UTC)


class Willing:
    """Everybody wants everything."""

    async def gate_facts(self, tx: Any, channel: Any, people: Any, kinds: Any) -> list[GateFacts]:
        fine = GateFacts(tenant_active=True, erased=False, address_status="active", consent=ConsentState.GRANTED)
        return [fine for _ in people]


async def test_the_cap_skips_marketing_only(office: Any) -> None:
    keeper = Gatekeeper(work=office.worker_work, delivery=Willing(), limits=PgLimits())
    await put(office, Limits(marketing_cap=Cap(max=2, seconds=3600)))
    adverts = await claimed(office, 3, category=Category.MARKETING, expires_in=timedelta(days=400))
    letters = await claimed(office, 1, expires_in=timedelta(days=400))
    who = {"recipient_id": adverts[0].recipient_id}
    same = [msgspec.structs.replace(one, **who) for one in [*adverts, *letters]]
    verdicts = await keeper.judge("acme", same, NOON)
    reasons = [verdict.reason.value if isinstance(verdict, Skip) else "goes" for verdict in verdicts]
    assert reasons == ["goes", "goes", "frequency_cap", "goes"]
    [later] = await keeper.judge("acme", same[2:3], NOON + timedelta(hours=2))
    assert isinstance(later, Allow)


async def test_a_gate_that_breaks_counts_nothing(office: Any, keeper: Gatekeeper) -> None:
    await put(office, Limits(tenant=Rate(minute=5)))
    rows = await claimed(office, 3)
    real = PgLimits.save
    try:
        PgLimits.save = _fail  # type: ignore[method-assign]
        with pytest.raises(RuntimeError):
            await keeper.judge("acme", rows, NOON)
    finally:
        PgLimits.save = real  # type: ignore[method-assign]
    assert await office.count("rate_counters") == 0


async def _fail(*_: Any) -> None:
    raise RuntimeError
