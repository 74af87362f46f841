"""Upkeep in PostgreSQL: partitions, lanes, purge, and how the queue stands."""

from datetime import timedelta
from typing import Final

from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.partitions import ensure_partitions
from waypost.adapters.postgres.queries import load
from waypost.delivery.model import Standing, Waiting
from waypost.delivery.upkeep import Purged
from waypost.kernel.vocabulary import Channel, Priority

_SQL: Final = load("upkeep")
_WORK: Final = load("work")
_ROWS_AT_ONCE: Final = 5_000
_MOST_COUNTED: Final = 100_000
_PURGES: Final = {
    Purged.IDEMPOTENCY_KEYS: _SQL["purge_idempotency_keys"],
    Purged.GATE_CHANGES: _SQL["purge_gate_changes"],
    Purged.NOTIFICATION_DEDUPE: _SQL["purge_notification_dedupe"],
    Purged.OUTBOX: _SQL["purge_outbox"],
    Purged.OUTBOX_UNREAD: _SQL["purge_outbox_unread"],
    Purged.PUBLISH_BACKLOG: _SQL["purge_publish_backlog"],
    Purged.WEBHOOK_DELIVERIES: _SQL["purge_webhook_deliveries"],
    Purged.CONSUMED_EVENTS: _SQL["purge_consumed_events"],
    Purged.EVENT_FAILURES: _SQL["purge_event_failures"],
    Purged.TIMERS: _SQL["purge_timers"],
    Purged.TIMER_NEWS: _SQL["purge_timer_news"],
    Purged.THROTTLES: _SQL["purge_throttles"],
    Purged.DEAD_LETTERS: _SQL["purge_dead_letters"],
    Purged.TROUBLE_COUNTS: _SQL["purge_trouble_counts"],
    Purged.ALERTS: _SQL["purge_alerts"],
    Purged.BLOBS: _SQL["purge_blobs"],
}


class PgUpkeep:
    """Implements `delivery.upkeep.UpkeepStore`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    async def make_partitions(self) -> dict[str, str]:
        async with self._line.use() as connection:
            return dict((await ensure_partitions(connection)).problems)

    async def wake_sleeping_lanes(self) -> int:
        async with self._line.use() as connection:
            lanes = await connection.fetch(_SQL["sleeping_lanes"])
            for lane in lanes:
                async with connection.transaction():
                    await connection.execute(_WORK["enter_tenant"], lane["tenant_id"])
                    await connection.execute(_SQL["lock_lane"], lane["tenant_id"], lane["channel"], lane["priority"])
                    await connection.execute(_SQL["wake_lane"], lane["channel"], lane["priority"], lane["due"])
            return len(lanes)

    async def standing(self) -> Standing:
        async with self._line.use() as connection:
            waiting = [
                Waiting(
                    channel=Channel(row["channel"]),
                    priority=Priority(row["priority"]),
                    rows=row["waiting"],
                    oldest_seconds=row["oldest_seconds"],
                )
                for row in await connection.fetch(_SQL["queue_standing"], _MOST_COUNTED)
            ]
            return Standing(
                waiting=waiting,
                workers_alive=await connection.fetchval(_SQL["workers_alive"]),
                stray_rows=await connection.fetchval(_SQL["stray_rows"]),
            )

    async def purge(self, what: Purged, older_than: timedelta) -> int:
        deleted = 0
        async with self._line.use() as connection:
            for row in await connection.fetch(_SQL["tenants_to_purge"], what.value, older_than):
                async with connection.transaction():
                    await connection.execute(_WORK["enter_tenant"], row["tenant_id"])
                    done = await connection.execute(_PURGES[what], row["tenant_id"], older_than, _ROWS_AT_ONCE)
                    deleted += int(done.rsplit(" ", 1)[-1])
        return deleted
