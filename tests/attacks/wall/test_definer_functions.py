"""3. The few functions that look across tenants: who owns them, who may call them, and that nobody can bend them."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from waypost.adapters.postgres.partitions import ensure_partitions
from waypost.kernel.ids import id_at

Connect = Callable[..., Awaitable[asyncpg.Connection]]

API, WORKER = {"waypost_api"}, {"waypost_worker"}
RESOLVERS = {
    "api_key_owner": API,
    "tenant_directory": API,
    "tenant_of_notification": API,
    "domain_is_taken": API | WORKER,
    "due_domains": WORKER,
    "due_lanes": WORKER,
    "next_lane_due": WORKER,
    "queue_standing": WORKER,
    "queue_totals": API,
    "pauses_in_force": WORKER,
    "pauses_at_work": WORKER,
    "tenants_with_wrong_lanes": WORKER,
    "tenants_with_held_rows": WORKER,
    "workers_alive": API | WORKER,
    "stalled_lanes": API | WORKER,
    "recent_troubles": API | WORKER,
    "tenants_to_alert": API | WORKER,
    "tenants_with_open_alerts": API | WORKER,
    "sleeping_lanes": WORKER,
    "due_suspects": WORKER,
    "lost_workers": WORKER,
    "abandoned_claims": WORKER,
    "tenants_to_purge": WORKER,
    "unread_news": WORKER,
    "due_webhooks": WORKER,
    "open_replays": WORKER,
    "relay_standing": WORKER,
    "tenants_with_due_timers": WORKER,
    "due_jobs": WORKER,
    "due_batches": WORKER,
    "changed_senders": WORKER,
    "jobs_to_tidy": WORKER,
    "inbox_tenants_due": WORKER,
}
MAINTENANCE = {"ensure_partitions": WORKER, "default_partition_rows": API | WORKER | {"waypost_dba"}}
NOW = datetime.now(UTC)


async def test_every_definer_function_is_on_the_list_and_safe(admin: asyncpg.Connection):
    rows = await admin.fetch(
        "select proname, proowner::regrole::text as owner, proconfig, proacl is null as open,"
        " array(select grantee::regrole::text from aclexplode(proacl) where privilege_type = 'EXECUTE'"
        "   and grantee <> proowner) as callers, prosrc"
        " from pg_proc where prosecdef and pronamespace not in ('pg_catalog'::regnamespace)"
    )
    assert {row["proname"] for row in rows} == set(RESOLVERS) | set(MAINTENANCE)
    for row in rows:
        name = row["proname"]
        assert row["owner"] == ("waypost_resolver" if name in RESOLVERS else "waypost_owner"), name
        assert "search_path=pg_catalog, pg_temp" in row["proconfig"], name
        assert not row["open"], f"{name} may be called by anybody"
        assert set(row["callers"]) == (RESOLVERS | MAINTENANCE)[name], name


async def test_no_function_is_open_to_the_public(admin: asyncpg.Connection):
    rows = await admin.fetch(
        "select oid::regprocedure::text as name from pg_proc where pronamespace = 'waypost'::regnamespace"
        " and (proacl is null or exists (select from aclexplode(proacl) where grantee = 0))"
    )
    assert [row["name"] for row in rows] == []


async def test_the_resolver_reads_only_what_its_questions_need(admin: asyncpg.Connection):
    granted = await admin.fetch(
        "select table_name, column_name, privilege_type from information_schema.column_privileges"
        " where grantee = 'waypost_resolver' and table_schema = 'waypost'"
    )
    assert {row["privilege_type"] for row in granted} == {"SELECT"}
    seen = {(row["table_name"], row["column_name"]) for row in granted}
    for secret in (
        ("tenants", "wrapped_key"),
        ("notifications", "payload"),
        ("notifications", "recipient_id"),
        ("idempotency_keys", "answer"),
        ("api_keys", "name"),
    ):
        assert secret not in seen
    assert not await admin.fetchval("select has_schema_privilege('waypost_resolver', 'waypost', 'create')")


async def test_a_temporary_table_of_the_same_name_is_not_read(
    database: Any, admin: asyncpg.Connection, connect: Connect, make_tenant: Callable[..., Awaitable[str]]
):
    await make_tenant("acme")
    hashed = uuid4().bytes
    await admin.execute(
        "insert into api_keys (tenant_id, id, name, scopes, secret_hash, hint, created_at)"
        " values ('acme', $1, 'n', '{a}', $2, 'h', now())",
        uuid4(),
        hashed,
    )
    api = await connect("api")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await api.execute("create temporary table tenants (id text)")
    await admin.execute(f"grant temporary on database {database.name} to waypost_api")
    await api.execute("create temporary table tenants (id text, status text, mode text)")
    await api.execute("create temporary table api_keys (tenant_id text, id uuid, scopes text[], secret_hash bytea,"
                      " expires_at timestamptz, revoked_at timestamptz)")  # fmt: skip
    await api.execute("insert into tenants values ('victim', 'active', 'live')")
    await api.execute("insert into api_keys values ('victim', gen_random_uuid(), '{all}', $1)", hashed)
    await api.execute("create function pg_temp.now() returns timestamptz language sql return 'infinity'::timestamptz")
    await api.execute("set search_path = pg_temp, waypost")
    rows = await api.fetch("select * from waypost.api_key_owner($1)", hashed)
    assert [(row["tenant_id"], row["scopes"]) for row in rows] == [("acme", ["a"])]


@pytest.mark.parametrize("hashed", [b"", None, bytes(32), b"x" * 1_000_000])
async def test_a_key_that_is_nobodys_finds_nobody(
    connect: Connect, hashed: bytes | None, make_tenant: Callable[..., Awaitable[str]]
):
    await make_tenant("acme")
    assert await (await connect("api")).fetch("select * from api_key_owner($1)", hashed) == []


async def test_the_directory_lists_tenants_without_keys_and_without_the_platform(
    connect: Connect, make_tenant: Callable[..., Awaitable[str]]
):
    for tenant in ("bbb", "aaa", "_platform"):
        await make_tenant(tenant)
    await make_tenant("ccc", status="suspended")
    api = await connect("api")
    rows = await api.fetch("select * from tenant_directory(null, 10, null)")
    assert [row["id"] for row in rows] == ["aaa", "bbb", "ccc"]
    assert "wrapped_key" not in rows[0].keys()  # noqa: SIM118
    rows = await api.fetch("select * from tenant_directory('aaa', 1, null)")
    assert [row["id"] for row in rows] == ["bbb"]
    assert [row["id"] for row in await api.fetch("select * from tenant_directory(null, 10, 'suspended')")] == ["ccc"]


async def add_notification(admin: asyncpg.Connection, tenant: str) -> UUID:
    identity = id_at(NOW, uuid4().bytes[:10])
    await admin.execute(
        "insert into notifications (tenant_id, id, retention, request_id, recipient_id, channel, category, priority,"
        " status, gate, version_id, send_at, expires_at, payload)"
        " values ($1, $2, 1, $2, $2, 1, 1, 1, 2, 1, $2, now(), now(), '')",
        tenant,
        identity,
    )
    return identity


async def test_a_notification_finds_its_tenant(
    admin: asyncpg.Connection, connect: Connect, make_tenant: Callable[..., Awaitable[str]]
):
    await ensure_partitions(admin)
    ids = {tenant: await add_notification(admin, await make_tenant(tenant)) for tenant in ("aaa", "bbb")}
    api = await connect("api")
    for tenant, identity in ids.items():
        assert await api.fetchval("select tenant_of_notification($1)", identity) == tenant
    assert await api.fetchval("select tenant_of_notification($1)", uuid4()) is None


async def add_queued(admin: asyncpg.Connection, tenant: str, due: datetime, *, claims: int = 0, priority: int = 1):
    identity = uuid4()
    await admin.execute(
        "insert into queue (tenant_id, channel, priority, due, id, retention, claims)"
        " values ($1, 1, $4, $2, $3, 1, $5)",
        tenant, due, identity, priority, claims,
    )  # fmt: skip
    return identity


async def add_lane(admin: asyncpg.Connection, tenant: str, due: datetime | None, *, priority: int = 1, vtime: int = 0):
    await admin.execute(
        "insert into lanes (tenant_id, channel, priority, due, vtime)"
        " values ($1, 1, $3, coalesce($2::timestamptz, 'infinity'), $4)",
        tenant, due, priority, vtime,
    )  # fmt: skip


async def test_due_lanes_come_fairest_first_and_only_when_due(
    admin: asyncpg.Connection, connect: Connect, make_tenant: Callable[..., Awaitable[str]]
):
    for tenant in ("aaa", "bbb", "ccc", "ddd"):
        await make_tenant(tenant, status="suspended" if tenant == "bbb" else "active")
    await add_lane(admin, "aaa", NOW - timedelta(minutes=1), vtime=50)
    await add_lane(admin, "bbb", NOW - timedelta(minutes=1), vtime=10)
    await add_lane(admin, "ccc", NOW + timedelta(hours=1))
    await add_lane(admin, "ddd", None)
    worker = await connect("worker")
    rows = await worker.fetch("select tenant_id, active from due_lanes(10)")
    assert [tuple(row) for row in rows] == [("bbb", False), ("aaa", True)]
    assert await worker.fetchval("select next_lane_due()") == NOW + timedelta(hours=1)


async def test_nothing_is_due_next_when_every_lane_is_empty(admin: asyncpg.Connection, connect: Connect):
    await add_lane(admin, "ddd", None)
    assert await (await connect("worker")).fetchval("select next_lane_due()") is None


async def test_lanes_that_sleep_past_their_queue_are_found(admin: asyncpg.Connection, connect: Connect):
    past, future = NOW - timedelta(minutes=1), NOW + timedelta(hours=1)
    expected: dict[str, UUID] = {}
    expected["missing"] = await add_queued(admin, "missing", past)
    await add_queued(admin, "missing", NOW)
    await add_lane(admin, "idle", None)
    expected["idle"] = await add_queued(admin, "idle", past)
    await add_lane(admin, "late", future + timedelta(hours=1))
    expected["late"] = await add_queued(admin, "late", future)
    await add_lane(admin, "past-its-row", past)
    expected["past-its-row"] = await add_queued(admin, "past-its-row", past)
    await admin.execute("update lanes set head = now() where tenant_id = 'past-its-row'")
    await add_lane(admin, "awake", NOW - timedelta(seconds=1))
    await add_queued(admin, "awake", past)
    await add_lane(admin, "in-time", future)
    await add_queued(admin, "in-time", future)
    await add_queued(admin, "suspect", past, claims=2)
    rows = await (await connect("worker")).fetch("select tenant_id, id from sleeping_lanes()")
    assert {row["tenant_id"]: row["id"] for row in rows} == expected


async def test_suspects_are_found_oldest_first(admin: asyncpg.Connection, connect: Connect):
    younger = await add_queued(admin, "aaa", NOW - timedelta(minutes=1), claims=2)
    older = await add_queued(admin, "bbb", NOW - timedelta(minutes=2), claims=3)
    await add_queued(admin, "bbb", NOW - timedelta(minutes=3), claims=1)
    await add_queued(admin, "bbb", NOW + timedelta(hours=3), claims=3)
    rows = await (await connect("worker")).fetch("select id from due_suspects(10)")
    assert [row["id"] for row in rows] == [older, younger]


async def test_lost_workers_and_what_they_held_but_not_soon_after_a_restart(
    admin: asyncpg.Connection, connect: Connect
):
    alive, dead, forgotten = uuid4(), uuid4(), uuid4()
    for worker, lease in ((alive, timedelta(minutes=1)), (dead, timedelta(minutes=-1))):
        await admin.execute(
            "insert into workers (id, host, pid, code, lease_until) values ($1, 'h', 1, 1, now() + $2)", worker, lease
        )
    claims = {}
    for worker, tenant in ((alive, "aaa"), (dead, "bbb"), (dead, "ccc"), (forgotten, "ddd")):
        claims[tenant] = uuid4()
        await admin.execute(
            "insert into claims (tenant_id, id, worker_id, channel, priority, ids) values ($1, $2, $3, 1, 1, '{}')",
            tenant, claims[tenant], worker,
        )  # fmt: skip
    connection = await connect("worker")
    rows = await connection.fetch("select worker_id from lost_workers($1)", timedelta(0))
    assert {row["worker_id"] for row in rows} == {dead, forgotten}
    assert await connection.fetch("select worker_id from lost_workers($1)", timedelta(days=1)) == []
    rows = await connection.fetch("select tenant_id, id from abandoned_claims($1)", dead)
    assert [tuple(row) for row in rows] == [("bbb", claims["bbb"]), ("ccc", claims["ccc"])]


async def test_tenants_with_rows_past_their_time(
    admin: asyncpg.Connection, connect: Connect, make_tenant: Callable[..., Awaitable[str]]
):
    old, recent = NOW - timedelta(days=60), NOW
    for tenant, when in (("aaa", old), ("bbb", old), ("ccc", recent)):
        await make_tenant(tenant)
        await admin.execute("insert into idempotency_keys (tenant_id, key, route, fingerprint, created_at)"
                            " values ($1, 'k', 'r', '', $2)", tenant, when)  # fmt: skip
        await admin.execute("insert into gate_changes values ($1, $2, $3)", tenant, uuid4(), when)
        await admin.execute("insert into notification_dedupe values ($1, 'k', $2, 1, $2, $3)", tenant, uuid4(), when)
        await admin.execute("insert into outbox (tenant_id, at, kind, subject_id) values ($1, $3, 1, $2)",
                            tenant, uuid4(), when)  # fmt: skip
        await admin.execute("insert into consumed_events values ($1, 'c', 'e', $2)", tenant, when)
        await admin.execute("insert into event_failures values ($1, 'c', 'e', $2, 1, 'c', 'p', '', $3)",
                            tenant, uuid4(), when)  # fmt: skip
        await admin.execute("insert into timers (tenant_id, id, kind, source, state, occurred_at, payload, created_at,"
                            " ended_at) values ($1, $2, 'trigger', 'c/e', 'fired', $3, '', $3, $3)",
                            tenant, uuid4(), when)  # fmt: skip
        await admin.execute("insert into timer_news values ($1, 's', $2, 'c', 'e', 't', true, null, $2)", tenant, when)
        await admin.execute("insert into throttles values ($1, $2, $2, '', '{}', $3)", tenant, uuid4(), when)
    worker = await connect("worker")
    for kind in (
        "idempotency_keys", "gate_changes", "notification_dedupe", "outbox", "consumed_events", "event_failures",
        "timers", "timer_news", "throttles",
    ):  # fmt: skip
        rows = await worker.fetch("select * from tenants_to_purge($1, $2, 10)", kind, NOW - timedelta(days=30))
        assert {row["tenant_id"] for row in rows} == {"aaa", "bbb"}, kind
        rows = await worker.fetch("select * from tenants_to_purge($1, $2, 1)", kind, NOW - timedelta(days=30))
        assert len(rows) == 1
    with pytest.raises(asyncpg.CaseNotFoundError):
        await worker.fetch("select * from tenants_to_purge('tenants', now(), 10)")


HUGE = "x" * 1_000_000
ODD: dict[str, list[Any]] = {
    "text": [None, "", HUGE, "tenant-two", "'; drop table tenants; --"],
    "bytea": [None, b"", HUGE.encode(), b"\x00"],
    "uuid": [None, UUID(int=0), UUID(int=2**128 - 1)],
    "text[]": [None, [], [HUGE, None], ["queue_stalled"]],
    "integer": [None, 0, -1, 2**31 - 1],
    "interval": [None, timedelta(0), timedelta(days=-100_000), timedelta(days=100_000)],
    "timestamp with time zone": [None, datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)],
}
# What each may tell of another tenant at most, however it is asked: nothing that is not named here.
PROMISED = {
    "domain_is_taken": {"domain_is_taken"},
    "due_domains": {"tenant_id", "id"},
    "tenant_directory": {"id", "name", "mode", "status", "settings", "version", "created_at", "updated_at"},
    "api_key_owner": {"tenant_id", "key_id", "scopes", "expires_at", "revoked_at", "tenant_status", "tenant_mode"},
    "tenant_of_notification": {"tenant_of_notification"},
    "due_lanes": {"tenant_id", "channel", "priority", "start", "active"},
    "next_lane_due": {"next_lane_due"},
    "queue_standing": {"channel", "priority", "waiting", "oldest_due"},
    "sleeping_lanes": {"tenant_id", "channel", "priority", "due", "id"},
    "due_suspects": {"tenant_id", "id", "channel", "priority", "due", "claims"},
    "lost_workers": {"worker_id"},
    "abandoned_claims": {"tenant_id", "id", "channel", "priority"},
    "tenants_to_purge": {"tenant_id"},
    "unread_news": {"tenant_id"},
    "due_webhooks": {"tenant_id", "endpoint_id"},
    "open_replays": {"tenant_id"},
    "relay_standing": {"reader", "waiting", "oldest"},
    "tenants_with_due_timers": {"tenant_id"},
    "queue_totals": {
        *("channel", "priority", "waiting", "scheduled", "held", "in_flight", "oldest_due", "capped"),
    },
    "pauses_in_force": {"tenant_id", "scope", "subject"},
    "pauses_at_work": {"tenant_id", "id"},
    "tenants_with_wrong_lanes": {"tenant_id"},
    "tenants_with_held_rows": {"tenant_id", "first_expires", "stranded"},
    "workers_alive": {"workers_alive"},
    "stalled_lanes": {"tenant_id", "channel", "oldest_due"},
    "recent_troubles": {"tenant_id", "trouble", "count"},
    "tenants_to_alert": {"tenant_id"},
    "tenants_with_open_alerts": {"tenant_id"},
    "due_jobs": {"tenant_id", "id"},
    "due_batches": {"tenant_id", "id"},
    "changed_senders": {"tenant_id", "changed_at", "lately"},
    "jobs_to_tidy": {"tenant_id", "id"},
}


@pytest.mark.parametrize("name", RESOLVERS)
async def test_odd_questions_get_no_more_than_was_promised(
    name: str, two_tenants: None, wall: Any, connect: Connect
) -> None:
    caller = await connect("api" if RESOLVERS[name] == API else "worker")
    types = await wall.admin.fetchval(
        "select array(select format_type(t, null) from unnest(proargtypes) with ordinality as a (t, n) order by n)"
        " from pg_proc where proname = $1 and pronamespace = 'waypost'::regnamespace",
        name,
    )
    before = await wall.digest()
    marks = ", ".join(f"${n}::{kind}" for n, kind in enumerate(types, 1))
    width = max([1, *(len(ODD[kind]) for kind in types)])
    for turn in range(width):
        arguments = [ODD[kind][turn % len(ODD[kind])] for kind in types]
        try:
            rows = await caller.fetch(f"select * from waypost.{name}({marks})", *arguments)
        except asyncpg.PostgresError as refusal:
            assert len(str(refusal)) < 500, "a refusal repeats what it was given"  # noqa: PT017
            continue
        assert len(rows) <= (1 if name in ("api_key_owner", "tenant_of_notification", "next_lane_due") else 1_000)
        assert all(set(row.keys()) == PROMISED[name] for row in rows)
    assert await wall.digest() == before
