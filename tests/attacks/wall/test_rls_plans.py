"""9. Under the wall, statements still find their rows by index: at scale, as the roles that run them.

A superuser's plan proves nothing: operators that are not leakproof never reach an index under row level security.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from waypost.adapters.postgres.queries import load

ROWS = 200_000
MOST_REMOVED = 1_000
BIG, SMALL = "plans-big", "plans-small"
FIRST, LAST = UUID(int=0), UUID(int=2**128 - 1)
NOW = datetime.now(UTC)

_ID = "(lpad(to_hex(({ms} - n)::bigint), 12, '0') || substr(md5(n::text), 1, 20))::uuid"
_HASH = "'sha256:' || md5(n::text) || md5((n + 1)::text)"
# References were right when they were written; checking 200,000 of them again is not what is asked here.
FILL = """
set session_replication_role = replica;
insert into tenants (id, name, mode, status, wrapped_key, created_at, updated_at)
  select t, t, 'live', 'active', 'k', now(), now() from unnest(array['{big}', '{small}']) t;
create temporary table seed as
  select n, {id} as id, {hash} as hash, case when n % 1000 = 0 then '{small}' else '{big}' end as t
  from generate_series(1, {rows}) n;
insert into recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)
  select t, id, 'user-' || n, 'user', 'k', now(), now() from seed;
insert into addresses (tenant_id, id, recipient_id, channel, hash, ciphertext, status, given_at, created_at, updated_at)
  select t, id, id, 1, hash, 'c', 'active', now(), now(), now() from seed;
insert into suppressions (tenant_id, id, channel, hash, masked, reason, source, created_at)
  select t, id, 1, hash, 'm', 'manual', 's', now() from seed where n % 4 = 0;
insert into notifications (tenant_id, id, retention, request_id, recipient_id, channel, category, priority, status,
                           reason, gate, version_id, send_at, expires_at, payload)
  select t, id, 1 + n % 2, id, id, 1, 1, 1, case when n % 100 = 0 then 8 else 2 end, null, 1, id, now(), now(), ''
  from seed;
insert into requests (tenant_id, id, key_id, notification_ids) select t, id, id, array[id] from seed where n % 4 = 0;
insert into queue (tenant_id, channel, priority, due, id, retention)
  select t, 1, 1, now() - interval '1 hour' + n * interval '1 millisecond', id, 1 + n % 2 from seed where n % 2 = 0;
insert into lanes (tenant_id, channel, priority, due) select t, 1, 1, now() from unnest(array['{big}', '{small}']) t;
insert into attempts (tenant_id, notification_id, retention, n, worker_id, started_at, outcome)
  select t, id, 1 + n % 2, 1, id, now(), 1 from seed where n % 2 = 1;
insert into tracking_events (tenant_id, notification_id, retention, id, kind, at, client, link, target)
  select t, id, 1 + n % 2, id, 2, now(), 1, 1, 'x' from seed where n % 2 = 0;
insert into notification_dedupe (tenant_id, dedupe_key, recipient_id, channel, notification_id, kept_until)
  select t, 'api:' || n, id, 1, id, now() from seed where n % 4 = 0;
insert into idempotency_keys (tenant_id, key, route, fingerprint)
  select t, 'k' || n, 'r', 'f' from seed where n % 4 = 0;
insert into audit (tenant_id, id, actor, action, subject, request_id)
  select t, id, 'a', 'a', 's', 'r' from seed where n % 4 = 0;
insert into template_versions (tenant_id, id, state, content, content_hash, created_at)
  select t, id, 'inline', 'c', decode(md5(n::text), 'hex'), now() from seed where n % 10 = 0;
insert into templates (tenant_id, id, key, channel, category, name, created_at, updated_at, published_at)
  select o, id, 'k-' || n, 1, 1, 'n', now(), now(), now() from seed, unnest(array[t, '_platform']) o where n % 10 = 5;
insert into template_versions (tenant_id, id, template_id, number, semver, source, state, content, content_hash,
                               created_at, published_at)
  select o, id, id, 1, '1.0.0', 'tenant', 'active', 'c', 'h', now(), now()
  from seed, unnest(array[t, '_platform']) o where n % 10 = 5;
insert into template_contents (tenant_id, version_id, locale, content)
  select o, id, 'en', 'c' from seed, unnest(array[t, '_platform']) o where n % 10 = 5;
insert into gate_changes (tenant_id, recipient_id) select t, id from seed where n % 10 = 0;
insert into recipient_preferences (tenant_id, recipient_id, updated_at) select t, id, now() from seed;
insert into consents (tenant_id, recipient_id, n, id, channel, topic, state, source, at, proof)
  select t, id, 1, id, 1, '', 'granted', 's', now(), decode(repeat('00', 32), 'hex') from seed;
insert into platform_suppressions (tenant_id, channel, hash, suppression_id)
  select t, 1, hash, id from seed where n % 10 = 0;
insert into rate_counters (tenant_id, whose, channel, recipient_id, span, starts_at, taken)
  select t, 3, 0, id, 1, now(), 1 from seed where n % 4 = 0 or n % 1000 = 0;
insert into marketing_marks (tenant_id, recipient_id, sent, last_at)
  select t, id, array[now()], now() from seed where n % 4 = 0 or n % 1000 = 0;
insert into topics (tenant_id, key, title, category, opted_in, position, created_at, updated_at)
  select t, 'k-' || n, 't', 1, true, 0, now(), now() from seed where n % 1000 = 0 or n % 1000 = 1;
insert into pauses (tenant_id, id, scope, subject, reason, by_platform, created_at, created_by)
  select t, id, 'account', md5(n::text), '', false, now(), 'k' from seed where n % 20 = 0;
insert into alert_targets (tenant_id, id, kind, target, kinds, description, status, created_at, updated_at)
  select t, id, 'email', 'x', '{{}}', '', 'enabled', now(), now() from seed where n % 20 = 0;
insert into webhook_replays (tenant_id, id, endpoint_id, since, until)
  select t, id, '00000000-0000-0000-0000-000000000007', now(), now() from seed where n % 20 = 0;
drop table seed;
reset session_replication_role;
"""


def statements(one: dict[str, Any], tenant: str) -> Iterator[tuple[str, str, list[Any]]]:
    """What runs on the way of a notification and of whoever reads about it, with the arguments of one call."""
    ids, hashes, bounds = [one["id"]], [one["hash"]], [tenant, LAST, FIRST, None, None, 21]
    yield "recipients", "by_external_ids", [tenant, [one["external_id"]]]
    yield "recipients", "lock_recipients", [tenant, ids]
    yield "recipients", "page_of_recipients", [tenant, None, 21]
    yield "recipients", "addresses_of_recipients", [tenant, ids]
    yield "recipients", "look_up", [tenant, [one["external_id"]], [1], hashes, True]
    yield "suppression", "standing", [tenant, 1, one["hash"], "manual", ""]
    yield "suppression", "find", [tenant, one["id"]]
    yield "suppression", "page", [tenant, LAST, 21, None, None]
    yield "suppression", "of_address", [tenant, LAST, 21, 1, None, one["hash"]]
    yield "suppression", "mark_people", [tenant, 1, one["hash"]]
    yield "suppression", "reach_of", [tenant, one["id"], 1, one["id"]]
    yield "delivery", "gate_facts", [tenant, 1, ids, ids, ["news"], [True], "email"]
    yield "delivery", "current_address", [tenant, one["id"], 1]
    yield "delivery", "waiting_for", [tenant, one["id"], 1, [5], None]
    yield "preferences", "someone", [tenant, one["external_id"]]
    yield "preferences", "someone_by_id", [tenant, one["id"]]
    yield "preferences", "choices", [tenant, one["id"]]
    yield "preferences", "last_consent", [tenant, one["id"]]
    yield "preferences", "page_of_consents", [tenant, one["id"], None, 21]
    yield "preferences", "standing_consents", [tenant, one["id"]]
    yield "delivery", "states", [tenant, ids]
    yield "delivery", "attempts", [tenant, one["id"]]
    yield "delivery", "notes", [tenant, one["id"]]
    yield "delivery", "take_back", [tenant, ids]
    yield "notifications", "request", [tenant, one["id"]]
    yield "notifications", "by_ids", [tenant, ids]
    yield "notifications", "resend_of", [tenant, one["id"]]
    yield "notifications", "recipient_ids", [tenant, one["external_id"]]
    yield "notifications", "page_all", bounds
    yield "notifications", "page_of_recipient", [*bounds, ids]
    yield "notifications", "page_ended", [*bounds, 8, None]
    yield "notifications", "page_queued", [*bounds, False, None]
    yield "notifications", "page_dispatched", [*bounds, None]
    yield "notifications", "page_dispatching", [*bounds, None]
    yield "template_contents", "find_inline", [tenant, bytes.fromhex("00" * 16)]
    yield "template_contents", "load_contents", [tenant, ids, ["en" for _ in ids]]
    yield "template_contents", "schemas", [tenant, ids]
    yield "template_contents", "active_by_key", [tenant, "k-5", 1]
    yield "templates", "active_fragments", [tenant, 1, ["k-5", "k-15"]]
    yield "templates", "find_template", [tenant, "k-5", 1]
    yield "templates", "page_of_templates", [tenant, None, 21]
    yield "templates", "page_of_versions", [tenant, one["id"], None, 21]
    yield "idempotency", "find_call", [tenant, "k4"]
    yield "audit", "page_of_entries", [tenant, None, 21]
    yield "tenants", "page_of_keys", [tenant, None, 21]
    yield "mailbox", "page_of_letters", [tenant, None, 21]
    yield "preferences", "page_of_topics", [tenant, -5, "", 21]
    yield "pauses", "page_of_pauses", [tenant, LAST, 21]
    yield "alerts", "page_of_targets", [tenant, LAST, 21]
    yield "webhook_deliveries", "replays", [tenant, UUID(int=7), LAST, 21]
    yield "tracking", "of_notification", [tenant, one["id"], 500]
    yield "news_subjects", "link_targets", [tenant, ids, min(ids), max(ids)]
    event = [[uuid4()], ids[:1], [1], [NOW], [1], [0], [None], [None], [1]]
    yield "tracking", "add", [tenant, ids, min(ids), max(ids), *event]


def statements_of_the_worker(one: dict[str, Any], tenant: str) -> Iterator[tuple[str, str, list[Any]]]:
    """The gate at dispatch with its limits, and what a settlement asks before it suppresses an address."""
    ids, old = [one["id"]], NOW - timedelta(days=30)
    yield "delivery", "gate_facts", [tenant, 1, ids, ids, ["news"], [True], "email"]
    yield "limits", "limits", [tenant]
    yield "limits", "counters", [tenant, ids]
    yield "limits", "marks", [tenant, ids]
    yield "limits", "save_counters", [tenant, [3], [0], ids, [1], [NOW], [2], [None], [0]]
    yield "limits", "save_marks", [tenant, ids, ["{}"], [NOW]]
    yield "limits", "sweep_counters", [tenant, old]
    yield "limits", "sweep_marks", [tenant, old]
    yield "suppression", "has_ended_so_often", [tenant, one["id"], one["id"], FIRST, 2]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def complaints(plan: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for node in nodes(plan):
        removed = node.get("Rows Removed by Filter", 0) * node["Actual Loops"]
        place = f"{node['Node Type']} on {node.get('Relation Name', '')}"
        if removed >= MOST_REMOVED:
            found.append(f"{place}: {removed} rows removed by {node.get('Filter')}")
        if node["Node Type"] == "Seq Scan" and node["Actual Rows"] * node["Actual Loops"] + removed >= MOST_REMOVED:
            found.append(f"{place}: reads the whole table")
    return found


async def test_statements_find_their_rows_by_index(wall: Any, connect: Any) -> None:
    await wall.admin.fetch("select * from ensure_partitions(1)")
    milliseconds = str(int(NOW.timestamp() * 1000))
    text = FILL.format(big=BIG, small=SMALL, rows=ROWS, id=_ID.format(ms=milliseconds), hash=_HASH)
    await wall.admin.execute(text)
    await fan_out_reads_its_people_only(wall, connect)
    await wall.admin.execute("analyze")
    await fan_out_reads_its_people_only(wall, connect)
    roles = (await connect("api"), statements), (await connect("worker"), statements_of_the_worker)
    asked, found = 0, list[str]()
    for tenant in (BIG, SMALL):
        one = await wall.admin.fetchrow(
            "select r.id, r.external_id, a.hash from recipients r join addresses a on a.recipient_id = r.id"
            " where r.tenant_id = $1 order by r.id limit 1",
            tenant,
        )
        for role, statements_of in roles:
            await role.execute("select set_config('app.tenant_id', $1, false)", tenant)
            for stem, name, arguments in statements_of(dict(one), tenant):
                async with wall.undone(role):
                    shown = await role.fetchval(f"explain (analyze, format json) {load(stem)[name]}", *arguments)
                asked += 1
                plan = json.loads(shown)[0]["Plan"]
                found += [f"{tenant} {stem}.{name}: {complaint}" for complaint in complaints(plan)]
    assert asked >= 50
    assert found == []
    api, _ = roles[0]

    # What the wall costs where it is not minded: the same look-up by an operator that is not leakproof.
    shown = await api.fetchval(
        "explain (analyze, format json) select id from recipients where external_id like 'user-7'"
    )
    assert complaints(json.loads(shown)[0]["Plan"]) == []
    await api.execute("select set_config('app.tenant_id', $1, false)", BIG)
    shown = await api.fetchval(
        "explain (analyze, format json) select id from recipients where external_id like 'user-7'"
    )
    assert complaints(json.loads(shown)[0]["Plan"]) != [], "this test would not notice a scan"

    await claim_reads_its_batch_only(wall, connect)


async def claim_reads_its_batch_only(wall: Any, connect: Any) -> None:
    """The claim's statements are inside a function: what it read is counted instead."""
    worker_id, batch = uuid4(), 100
    await wall.admin.execute(
        "insert into workers (id, host, pid, code, lease_until) values ($1, 'h', 1, 1, $2)",
        worker_id,
        NOW + timedelta(hours=1),
    )
    worker = await connect("worker")
    async with worker.transaction():
        claimed = await worker.fetch("select * from waypost.claim($1, $2, $3)", worker_id, uuid4(), batch)
        read = await worker.fetchval(
            "select max(pg_stat_get_xact_tuples_returned(oid)) from pg_class"
            " where relnamespace = 'waypost'::regnamespace and relkind in ('r', 'i')"
        )
    assert len(claimed) == batch
    assert read <= 10 * batch


async def fan_out_reads_its_people_only(wall: Any, connect: Any) -> None:
    """As that of the claim. The first call learns of which kinds people are, the second writes to them."""
    people = await wall.admin.fetchval(
        "select array_agg(id order by id) from (select id from recipients where tenant_id = $1 limit 100) r", BIG
    )
    statement = load("fan_out")["fan_out"]
    for name in ("api", "worker"):
        role = await connect(name)
        async with wall.undone(role):
            await role.execute("select set_config('app.tenant_id', $1, true)", BIG)
            kinds, house, left = list[str](), "", list[Any]()
            for stem in (people[0].bytes[:6] + b"first.", people[0].bytes[:6] + b"second"):
                some = [["en"] * len(kinds), [UUID(int=1)] * len(kinds)]
                what = (
                    "brd:x",
                    stem,
                    UUID(bytes=stem + bytes(4)),
                    UUID(int=2),
                    2,
                    3,
                    1,
                    1,
                    UUID(int=3),
                )
                asked = (people, 1, "email", None, True, house, kinds, *some, *what, NOW, NOW + timedelta(days=1))
                left = await role.fetch(statement, *asked)
                if not kinds:
                    kinds, house = [*{row["kind"] for row in left if row["kind"]}], left[0]["house"]
                    assert len(left) == len(people)
            read = await role.fetchval(
                "select max(pg_stat_get_xact_tuples_returned(oid)) from pg_class"
                " where relnamespace = 'waypost'::regnamespace and relkind in ('r', 'i')"
            )
            made = await role.fetchval("select count(*) from notification_dedupe where dedupe_key = 'brd:x'")
        assert (len(kinds), made + len(left)) == (1, len(people))
        assert 0 < len(left) < len(people)
        assert read <= 10 * len(people)


@pytest.mark.parametrize("statement", ["select 1", "select n from generate_series(1, 5) n where n > 3"])
async def test_a_harmless_plan_is_not_complained_about(statement: str, connect: Any) -> None:
    shown = await (await connect("api")).fetchval(f"explain (analyze, format json) {statement}")
    assert complaints(json.loads(shown)[0]["Plan"]) == []
