"""A scratch database for a rehearsal: its time is told, and at the end it tells how everything went."""

from collections import Counter
from datetime import datetime
from typing import Final

from waypost.adapters.postgres.connection import Connection, connect
from waypost.adapters.postgres.queries import load
from waypost.channels.model import OutcomeKind
from waypost.delivery.model import State
from waypost.rehearsal.model import Calls

_SQL: Final = load("rehearsal")
SEARCH_PATH: Final = "rehearsal, waypost, pg_catalog"
"""What the connections of everybody else must look for functions in."""


class PgRehearsal:
    """By the administrator of the scratch database, on a connection of its own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, administrator: str) -> "PgRehearsal":
        opened = cls(await connect(administrator, application_name="waypost rehearsal"))
        await opened._connection.execute(_SQL["install"])
        return opened

    async def close(self) -> None:
        self._connection.terminate()

    async def tell(self, moment: datetime) -> None:
        await self._connection.execute(_SQL["tell"], moment)

    async def ends(self, tenant_id: str) -> tuple[Counter[str], Counter[str]]:
        """By state; and by reason, where there is one."""
        states: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        for row in await self._connection.fetch(_SQL["ends"], tenant_id):
            state = State(row["state"])
            states[state.word] += row["number"]
            if row["reason"] and state is not State.DISPATCHED:
                reasons[row["reason"]] += row["number"]
        return states, reasons

    async def calls(self, tenant_id: str) -> Calls:
        row = await self._connection.fetchrow(_SQL["attempts"], tenant_id, OutcomeKind.DEFERRED.value)
        return Calls(attempts=row["attempts"], deferrals=row["deferrals"], retries=row["retries"]) if row else Calls()

    async def suppressed(self, tenant_id: str) -> Counter[str]:
        return Counter(
            {row["reason"]: row["number"] for row in await self._connection.fetch(_SQL["suppressed"], tenant_id)}
        )
