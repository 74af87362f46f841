"""When the last messages of throttled triggers went, on PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.triggers.ports import Window

_SQL: Final = load("throttles")


class PgThrottleStore:
    """Implements `triggers.ports.ThrottleStore`."""

    async def hold(
        self, tx: Transaction, wanted: Sequence[Window], at: datetime
    ) -> Mapping[Window, Sequence[datetime]]:
        connection, keys = connection_of(tx), _keys(wanted)
        await connection.execute(_SQL["make_room"], tx.tenant_id, *keys, at)
        rows = await connection.fetch(_SQL["hold_throttles"], tx.tenant_id, *keys)
        return {
            Window(trigger_id=row["trigger_id"], recipient_id=row["recipient_id"], slot=row["slot"]): row["times"]
            for row in rows
        }

    async def put(self, tx: Transaction, times: Mapping[Window, Sequence[datetime]], at: datetime) -> None:
        spelled = ["{" + ",".join(f'"{moment.isoformat()}"' for moment in one) + "}" for one in times.values()]
        await connection_of(tx).execute(_SQL["put_throttles"], tx.tenant_id, *_keys(list(times)), spelled, at)


def _keys(windows: Sequence[Window]) -> tuple[list[object], list[object], list[object]]:
    return (
        [window.trigger_id for window in windows],
        [window.recipient_id for window in windows],
        [window.slot for window in windows],
    )
