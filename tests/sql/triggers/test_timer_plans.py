"""The statements of events and timers find their rows by index, as the roles of the application see them."""

import json
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from waypost.adapters.postgres.queries import load

ROWS = 40_000
MOST_REMOVED = 1_000
FILL = f"""
set session_replication_role = replica;
create temporary table seed as
  select n, case when n % 10 = 0 then 'small' else 'big' end as t, gen_random_uuid() as id,
         gen_random_uuid() as trigger_id
  from generate_series(1, {ROWS}) n;
insert into timers (tenant_id, id, kind, trigger_id, source, recipient_id, subject_key, slot, state, occurred_at, due,
                    payload, collecting, created_at, ended_at)
  select t, id, case when n % 3 = 0 then 'digest' else 'trigger' end, trigger_id, 's' || n, id, 'b-' || n, 'k',
         case when n % 2 = 0 then 'waiting' else 'fired' end, now(),
         now() + (n - 500) * interval '1 minute', '', n % 6 = 0, now(), case when n % 2 = 1 then now() end
  from seed;
insert into timer_news (tenant_id, subject_key, occurred_at, consumer, event_id, event_type, cancels, kept_until)
  select t, 'b-' || n, now(), 'c', 'e' || n, 't', true, now() from seed;
insert into consumed_events (tenant_id, consumer, event_id) select t, 'c', 'e' || n from seed;
insert into triggers (tenant_id, id, key, event_type, spec, created_at, updated_at)
  select t, id, 'k' || n, 't' || n % 2000, '{{}}', now(), now() from seed where n % 4 = 0;
insert into throttles (tenant_id, trigger_id, recipient_id, slot, times, touched_at)
  select t, trigger_id, id, 'k', '{{}}', now() from seed;
insert into escalation_messages (tenant_id, notification_id, timer_id) select t, id, id from seed;
insert into digest_items (tenant_id, timer_id, n, payload) select t, id, 1, '' from seed;
insert into recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)
  select t, id, 'user-' || n, 'user', 'k', now(), now() from seed;
insert into recipient_tags (tenant_id, recipient_id, tag) select t, id, 'tag-' || n % 500 from seed;
drop table seed;
reset session_replication_role;
analyze;
"""


def statements(one: dict[str, Any], tenant: str) -> Iterator[tuple[str, str, list[Any]]]:
    now, ids, shown = datetime.now(UTC), [one["id"]], [tenant, None, 21, None, None, None]
    window = ([one["trigger_id"]], ids, ["k"])
    yield "timers", "claim_timers", [tenant, now, 100]
    yield "timers", "claim_these", [tenant, ids]
    yield "timers", "hold_timer", [tenant, one["id"]]
    yield "timers", "timers_of_subjects", [tenant, [one["subject_key"]]]
    yield "timers", "page_of_timers", shown
    yield "timers", "page_of_subject", [*shown, one["subject_key"], None]
    yield "timers", "page_of_recipient", [*shown, one["id"]]
    yield "timers", "find_timer", [tenant, one["id"]]
    yield "timers", "names", [tenant, ids]
    yield "events", "news", [tenant, [one["subject_key"]], 500]
    yield "events", "forget_failure", [tenant, "c", "e1"]
    yield "triggers", "for_types", [tenant, ["t4"]]
    yield "triggers", "by_key", [tenant, "k4"]
    yield "triggers", "tagged", [tenant, ["tag-7"], 1_000]
    yield "digests", "hold_windows", [tenant, *window]
    yield "digests", "items", [tenant, ids]
    yield "throttles", "hold_throttles", [tenant, *window]
    yield "escalations", "timer_of_message", [tenant, one["id"]]
    yield "escalations", "messages_of_timers", [tenant, ids]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def complaints(plan: dict[str, Any]) -> Iterator[str]:
    for node in nodes(plan):
        removed = node.get("Rows Removed by Filter", 0) * node["Actual Loops"]
        place = f"{node['Node Type']} on {node.get('Relation Name', '')}"
        if removed >= MOST_REMOVED:
            yield f"{place}: {removed} rows removed by {node.get('Filter')}"
        if node["Node Type"] == "Seq Scan" and node["Actual Rows"] * node["Actual Loops"] >= MOST_REMOVED:
            yield f"{place}: reads the whole table"


@pytest.mark.parametrize("role", ["api", "worker"])
async def test_events_and_timers_find_their_rows_by_index(
    admin: asyncpg.Connection, connect: Callable[..., Awaitable[asyncpg.Connection]], role: str
) -> None:
    await admin.execute(FILL)
    connection = await connect(role)
    found: list[str] = []
    for tenant in ("big", "small"):
        one = dict(await admin.fetchrow("select * from timers where tenant_id = $1 and collecting limit 1", tenant))
        await connection.execute("select set_config('app.tenant_id', $1, false)", tenant)
        for stem, name, arguments in statements(one, tenant):
            if role == "api" and name == "forget_failure":
                continue
            async with connection.transaction():
                shown = await connection.fetchval(f"explain (analyze, format json) {load(stem)[name]}", *arguments)
            found += [f"{tenant} {stem}.{name}: {one}" for one in complaints(json.loads(shown)[0]["Plan"])]
    assert found == []


async def test_the_tenants_that_are_due_are_found_without_reading_those_that_wait(
    admin: asyncpg.Connection, connect: Callable[..., Awaitable[asyncpg.Connection]]
) -> None:
    """Few due: those rows only. Many due: a step per tenant. Counted by what the server says it has read."""
    await admin.execute(FILL)
    await admin.execute(
        "insert into tenants (id, name, mode, status, wrapped_key, created_at, updated_at)"
        " select t, t, 'live', 'active', 'k', now(), now() from unnest(array['big', 'small']) t"
    )
    worker = await connect("worker")
    for sample in (2_000, 10):
        rows = await worker.fetch("select * from tenants_with_due_timers(now(), '', 10, $1)", sample)
        assert [row["tenant_id"] for row in rows] == ["big", "small"]
        again = await worker.fetch("select * from tenants_with_due_timers(now(), 'big', 10, $1)", sample)
        assert [row["tenant_id"] for row in again] == ["small"]
        shown = json.loads(
            await worker.fetchval(
                "explain (analyze, buffers, format json) select * from tenants_with_due_timers(now(), '', 10, $1)",
                sample,
            )
        )
        read = shown[0]["Plan"]["Shared Hit Blocks"] + shown[0]["Plan"]["Shared Read Blocks"]
        assert read < 1_000, read
    assert await worker.fetch("select * from tenants_with_due_timers(now() - interval '1 year', '', 10, 10)") == []
