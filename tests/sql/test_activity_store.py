"""Activity, counted on the real database: exact up to its bound, under the wall, and by index."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from waypost.adapters.postgres.activity import PgActivity
from waypost.adapters.postgres.queries import load
from waypost.delivery.model import State
from waypost.kernel.clock import VirtualClock
from waypost.kernel.ids import first_id_at, id_at
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Channel, Priority, TenantMode
from waypost.notifications.activity import ActivityReader, Window

NOW = datetime.now(UTC).replace(second=30, microsecond=0)
STORE = PgActivity()


async def put(
    admin: Any, tenant: str, at: datetime, *, status: int = 2, wait: float | None = None, due: Any = None
) -> Any:
    made = id_at(at, uuid4().bytes[:10])
    await admin.execute(
        "insert into notifications (tenant_id, id, retention, request_id, recipient_id, channel, category, priority, "
        "status, gate, version_id, send_at, expires_at, payload) "
        "values ($1, $2, 1, $2, $2, 1, 1, 1, $3, 1, $2, $4::timestamptz, $4::timestamptz + interval '1 day', '')",
        tenant,
        made,
        status,
        at,
    )
    if wait is not None:
        await admin.execute(
            "insert into attempts (tenant_id, notification_id, retention, n, worker_id, started_at, latency_ms, "
            "outcome) values ($1, $2, 1, 1, $2, $3, 5, 1)",
            tenant,
            made,
            at + timedelta(seconds=wait),
        )
    if due is not None:
        await admin.execute(
            "insert into queue (tenant_id, channel, priority, due, id, retention) values ($1, 1, 1, $2, $3, 1)",
            tenant,
            due,
            made,
        )
    return made


@pytest.fixture
async def tenants(make_tenant: Any, admin: Any) -> None:
    for tenant in ("acme", "globex"):
        await make_tenant(tenant)
        await admin.execute(
            "insert into lanes (tenant_id, channel, priority, due) values ($1, 1, 1, 'infinity')", tenant
        )


def scope(tenant: str, *permissions: Permission) -> Scope:
    return Scope(
        tenant_id=tenant,
        mode=TenantMode.SANDBOX,
        key_id=uuid4(),
        key_tenant=tenant,
        permissions=frozenset(permissions),
        request_id="rid_test",
    )


@pytest.mark.usefixtures("tenants")
async def test_each_message_stands_in_its_bar_and_under_its_state(admin: Any, api_work: Any) -> None:
    ago = [NOW - timedelta(minutes=minutes) for minutes in range(60)]
    await put(admin, "acme", ago[0], due=NOW)
    await put(admin, "acme", ago[1], wait=0.5)
    await put(admin, "acme", ago[1], wait=1.5)
    await put(admin, "acme", ago[1], status=State.SUPPRESSED)
    await put(admin, "acme", ago[59], status=State.FAILED, wait=2)
    held = await put(admin, "acme", ago[5])
    await admin.execute(
        "insert into claims (tenant_id, id, worker_id, channel, priority, ids) values ('acme', $1, $1, 1, 1, $2)",
        uuid4(),
        [held],
    )
    await put(admin, "globex", ago[1], wait=9)
    await put(admin, "acme", NOW - timedelta(minutes=61), wait=1)
    reader = ActivityReader(store=STORE, clock=VirtualClock(NOW))
    async with api_work.begin("acme") as tx:
        activity = await reader.look(tx, scope("acme", Permission.NOTIFICATIONS_READ), Window.HOUR)
    newest, before = activity.bars[-1], activity.bars[-2]
    assert newest.states == {State.QUEUED: 1}
    assert before.states == {State.DISPATCHED: 2, State.SUPPRESSED: 1}
    assert before.waits is not None
    assert (before.waits.median, before.waits.longest) == (1.0, 1.5)
    assert activity.bars[0].states == {State.FAILED: 1}
    assert activity.bars[-6].states == {State.DISPATCHING: 1}
    assert sum(bar.accepted for bar in activity.bars) == 6
    (lane,) = activity.lanes
    assert (lane.channel, lane.priority, lane.due, lane.later) == (Channel.EMAIL, Priority.NORMAL, 1, 0)
    assert lane.oldest_due == NOW


@pytest.mark.usefixtures("tenants")
async def test_counting_stops_at_its_bound(admin: Any, api_work: Any) -> None:
    for number in range(8):
        await put(admin, "acme", NOW + timedelta(milliseconds=number), status=State.SUPPRESSED)
    bounds = [first_id_at(NOW), first_id_at(NOW + timedelta(minutes=1))]
    async with api_work.begin("acme") as tx:
        (bounded,) = await STORE.counts(tx, bounds, 5)
        (exact,) = await STORE.counts(tx, bounds, 100)
    assert (bounded.accepted, bounded.ended) == (5, {State.SUPPRESSED: 5})
    assert (exact.accepted, exact.ended) == (8, {State.SUPPRESSED: 8})


@pytest.mark.usefixtures("tenants")
async def test_the_answer_is_remembered_for_a_moment_and_per_tenant(admin: Any, api_work: Any) -> None:
    clock = VirtualClock(NOW)
    reader = ActivityReader(store=STORE, clock=clock)

    async def accepted(tenant: str) -> int:
        async with api_work.begin(tenant) as tx:
            found = await reader.look(tx, scope(tenant, Permission.NOTIFICATIONS_READ), Window.HOUR)
        return sum(bar.accepted for bar in found.bars)

    assert await accepted("acme") == 0
    await put(admin, "acme", NOW)
    assert await accepted("acme") == 0
    assert await accepted("globex") == 0
    await clock.advance(4)
    assert await accepted("acme") == 1
    assert await accepted("globex") == 0


@pytest.mark.usefixtures("tenants")
@pytest.mark.parametrize(("name", "bound"), [("counts", 50_000), ("waits", 100)])
async def test_only_indexes_are_read(admin: Any, connect: Any, name: str, bound: int) -> None:
    for number in range(400):
        await put(admin, ["acme", "globex"][number % 2], NOW - timedelta(seconds=number), status=2 + number % 8, wait=1)
    await admin.execute("analyze")
    api = await connect("api")
    edges = [first_id_at(NOW - timedelta(minutes=minutes)) for minutes in range(60, -1, -1)]
    async with api.transaction():
        await api.execute("select set_config('app.tenant_id', 'acme', true)")
        # A small table is read whole for good reason; what matters is that an index can serve.
        await api.execute("set local enable_seqscan = off")
        plan = await api.fetch("explain (costs off) " + load("activity")[name], "acme", edges[:-1], edges[1:], bound)
    text = "\n".join(row[0] for row in plan)
    assert "Seq Scan" not in text
    assert "Index" in text
