"""The windows of digests on PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.timers import timer_of
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.errors import Unavailable
from waypost.kernel.work import Transaction
from waypost.triggers.model import Timer
from waypost.triggers.ports import Window

_SQL: Final = load("digests")
_TURNS: Final = 20


class PgDigestStore:
    """Implements `triggers.ports.DigestStore`."""

    async def open_windows(
        self, tx: Transaction, wanted: Mapping[Window, Timer], at: datetime
    ) -> Mapping[Window, Timer]:
        connection = connection_of(tx)
        found: dict[Window, Timer] = {}
        # A window may fire between being met and being locked; then the next one is opened.
        for _ in range(_TURNS):
            missing = [window for window in wanted if window not in found]
            if not missing:
                return found
            triggers = [window.trigger_id for window in missing]
            people = [window.recipient_id for window in missing]
            slots = [window.slot for window in missing]
            await connection.execute(_SQL["close_over"], tx.tenant_id, triggers, people, slots, at)
            new = [wanted[window] for window in missing]
            await connection.execute(
                _SQL["open_windows"],
                tx.tenant_id,
                [timer.id for timer in new],
                triggers,
                people,
                slots,
                [timer.occurred_at for timer in new],
                at,
                [timer.due for timer in new],
            )
            for row in await connection.fetch(_SQL["hold_windows"], tx.tenant_id, triggers, people, slots):
                window = Window(trigger_id=row["trigger_id"], recipient_id=row["recipient_id"], slot=row["slot"])
                found[window] = timer_of(row)
        raise Unavailable("The windows of a digest close too fast. Try again.")

    async def add_items(self, tx: Transaction, items: Sequence[tuple[UUID, int, bytes]]) -> None:
        if items:
            timers, numbers, payloads = ([one[place] for one in items] for place in range(3))
            await connection_of(tx).execute(_SQL["add_items"], tx.tenant_id, timers, numbers, payloads)

    async def count(self, tx: Transaction, collected: Mapping[UUID, int]) -> None:
        await connection_of(tx).execute(_SQL["count_items"], tx.tenant_id, list(collected), list(collected.values()))

    async def items(self, tx: Transaction, timer_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[bytes]]:
        found: dict[UUID, list[bytes]] = {}
        for row in await connection_of(tx).fetch(_SQL["items"], tx.tenant_id, list(timer_ids)) if timer_ids else ():
            found.setdefault(row["timer_id"], []).append(row["payload"])
        return found

    async def drop_items(self, tx: Transaction, timer_ids: Sequence[UUID]) -> None:
        if timer_ids:
            await connection_of(tx).execute(_SQL["drop_items"], tx.tenant_id, list(timer_ids))
