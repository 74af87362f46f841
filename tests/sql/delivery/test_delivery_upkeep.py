"""Upkeep: bounded purges inside each tenant's wall, partitions ahead, and chores that survive their failures."""

import asyncio
from datetime import timedelta
from typing import Any

from waypost.delivery.upkeep import Purged, Upkeep
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Unavailable


async def test_each_table_loses_what_is_past_its_time_and_nothing_else(office: Any) -> None:
    await office.make_tenant("other")
    for tenant in ("acme", "other"):
        for old in (True, False):
            age = "interval '30 days'" if old else "interval '1 hour'"
            await office.admin.execute(
                f"""
                insert into idempotency_keys (tenant_id, key, route, fingerprint, created_at)
                values ('{tenant}', 'k{old}', 'r', 'f', now() - {age});
                insert into gate_changes (tenant_id, recipient_id, changed_at)
                values ('{tenant}', gen_random_uuid(), now() - {age});
                insert into notification_dedupe
                    (tenant_id, dedupe_key, recipient_id, channel, notification_id, kept_until)
                values ('{tenant}', 'k{old}', gen_random_uuid(), 1, gen_random_uuid(),
                        case when {old} then now() - {age} else now() + {age} end),
                       ('{tenant}', 'for ever {old}', gen_random_uuid(), 1, gen_random_uuid(), null);
                insert into outbox (tenant_id, kind, subject_id, at)
                values ('{tenant}', 1, gen_random_uuid(), now() - {age});
                insert into blobs (tenant_id, address, sealed, kept_until)
                values ('{tenant}', sha256('{old}'), 's', case when {old} then now() - {age} else now() + {age} end),
                       ('{tenant}', sha256('for ever {old}'), 's', null);
                insert into blob_uses (tenant_id, address, recipient_id)
                values ('{tenant}', sha256('{old}'), gen_random_uuid());
                insert into outbox_unread (tenant_id, reader, at, ids) values ('{tenant}', 1, now() - {age}, array[1]);
                insert into publish_backlog
                    (tenant_id, reader, subject_id, at, outbox_id, kind, n, tries, since, due)
                values ('{tenant}', 1, gen_random_uuid(), now() - {age}, 1, 1, 0, 1, now(), now());
                insert into webhook_endpoints (tenant_id, id, url, secret, events, description, status, created_at,
                                               updated_at)
                values ('{tenant}', gen_random_uuid(), 'u', 's', '{{*}}', '', 'enabled', now(), now());
                insert into webhook_deliveries (tenant_id, id, endpoint_id, outbox_id, at, kind, subject_id, n, state,
                                                due, give_up_at)
                select e.tenant_id, first_id_of((now() - {age}) at time zone 'UTC'), e.id, 1, now(), 1, e.id, 0,
                       'waiting', now(), now()
                from webhook_endpoints e where e.tenant_id = '{tenant}' limit 1;
                insert into webhook_attempts (tenant_id, delivery_id, n, at, latency_ms, answer)
                select tenant_id, id, 1, now(), 1, '' from webhook_deliveries where tenant_id = '{tenant}'
                on conflict do nothing;
                """
            )
    worker = await office.worker()
    upkeep = Upkeep(store=worker.upkeep, rescue=worker.rescue(), clock=office.clock)
    await upkeep.purge_all()
    left = {table.value: await office.count(table.value) for table in Purged}
    expected = {
        "idempotency_keys": 2,
        "gate_changes": 2,
        "notification_dedupe": 6,
        "blobs": 6,
        "outbox": 2,
        "outbox_unread": 2,
        "publish_backlog": 2,
        "webhook_deliveries": 2,
    }
    assert left | expected == left
    assert await office.count("webhook_attempts") == 2
    assert await office.count("blob_uses") == 2
    assert not any([await worker.upkeep.purge(what, kept) for what, kept in upkeep.kept.items()])


async def test_a_purge_takes_a_bounded_bite(office: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("waypost.adapters.postgres.upkeep._ROWS_AT_ONCE", 10)
    await office.admin.execute(
        "insert into outbox (tenant_id, kind, subject_id, at)"
        " select 'acme', 1, gen_random_uuid(), now() - interval '8 days' from generate_series(1, 25)"
    )
    worker = await office.worker()
    bites = [await worker.upkeep.purge(Purged.OUTBOX, timedelta(days=7)) for _ in range(4)]
    assert bites == [10, 10, 5, 0]


async def test_partitions_are_made_ahead(office: Any) -> None:
    worker = await office.worker()
    assert await worker.upkeep.make_partitions() == {}
    assert await office.count("pg_class", "relname like 'notifications_standard_2%' and relkind = 'r'") == 4


class Store:
    def __init__(self) -> None:
        self.swept = 0

    async def make_partitions(self) -> dict[str, str]:
        return {}

    async def wake_sleeping_lanes(self) -> int:
        self.swept += 1
        if self.swept == 1:
            raise Unavailable("away")
        if self.swept == 2:
            raise ZeroDivisionError
        return 0

    async def purge(self, what: Purged, older_than: timedelta) -> int:
        return 0


async def test_a_failing_chore_is_tried_again_and_stops_no_other(office: Any) -> None:
    clock, store, worker = VirtualClock(), Store(), await office.worker()
    upkeep = Upkeep(store=store, rescue=worker.rescue(), clock=clock)
    keeping = asyncio.create_task(upkeep.keep())
    for _ in range(4):
        await clock.advance(30)
        await asyncio.sleep(0.05)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert store.swept >= 4
