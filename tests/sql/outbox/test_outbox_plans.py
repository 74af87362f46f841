"""At scale, as the worker's role, under the wall: the relay's statements find their rows by index."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from waypost.adapters.postgres.queries import load

ROWS = 30_000
NOW = datetime.now(UTC) + timedelta(minutes=1)


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(inner for child in plan.get("Plans", ()) for inner in nodes(child))]


@pytest.fixture
async def crowded(hall: Any) -> UUID:
    """Thousands of deliveries that are done, a few that wait, and much news."""
    made = await hall.endpoint()
    await hall.endpoint()
    admin = hall.admin
    await admin.execute(
        "insert into webhook_deliveries (tenant_id, id, endpoint_id, outbox_id, at, kind, subject_id, n, state, due,"
        " give_up_at) select 'acme', gen_random_uuid(), e.id, n, now(), 1, gen_random_uuid(), 1,"
        " case when n % 500 = 0 then 'waiting' else 'delivered' end, now(), now()"
        f" from generate_series(1, {ROWS}) n, webhook_endpoints e"
    )
    await admin.execute(
        "insert into webhook_attempts (tenant_id, delivery_id, n, at, latency_ms, answer)"
        " select tenant_id, id, 1, now(), 1, '' from webhook_deliveries"
    )
    await admin.execute(
        "insert into outbox (tenant_id, kind, subject_id, n) select 'acme', 1, gen_random_uuid(), 1"
        f" from generate_series(1, {ROWS})"
    )
    await admin.execute("update webhook_lanes set due = now()")
    await admin.execute("analyze")
    return made.endpoint.id


async def explain(hall: Any, stem: str, name: str, *arguments: object) -> list[dict[str, Any]]:
    async with hall.worker.begin("acme") as tx:
        text = f"explain (analyze, format json) {load(stem)[name]}"
        found = await tx.connection.fetchval(text, *arguments)
    return nodes(json.loads(found)[0]["Plan"])


async def test_the_relay_s_statements_touch_what_they_need(hall: Any, crowded: UUID) -> None:
    ids = [row["id"] for row in await hall.admin.fetch("select id from outbox order by id limit 200")]
    delivery = await hall.admin.fetchval("select id from webhook_deliveries limit 1")
    asked: list[tuple[str, str, tuple[object, ...]]] = [
        ("outbox", "news", ("acme", ids)),
        ("outbox", "news_from", ("acme", 0, 500)),
        ("outbox", "take_batches", ("acme", 0, 20)),
        ("outbox", "held", ("acme", 1, [uuid4()])),
        ("webhook_deliveries", "lock_lane", ("acme", crowded, NOW)),
        ("webhook_deliveries", "take", ("acme", crowded, NOW, 64, NOW)),
        ("webhook_deliveries", "book", ("acme", crowded, NOW, True, NOW)),
        ("webhook_deliveries", "attempts", ("acme", [delivery])),
        ("webhook_deliveries", "page", ("acme", crowded, UUID(int=2**128 - 1), None, 51)),
        ("webhook_deliveries", "page_undelivered", ("acme", crowded, UUID(int=2**128 - 1), "failed", 51)),
    ]
    for stem, name, arguments in asked:
        for node in await explain(hall, stem, name, *arguments):
            assert node["Node Type"] != "Seq Scan" or node.get("Relation Name") is None, (name, node)
            assert node.get("Rows Removed by Filter", 0) <= 1_000, (name, node)
