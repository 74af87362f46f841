"""Connections between two transactions of one busy tenant, of which the second has begun already.

They are with nobody for some milliseconds. Where the second is not wanted after all, it is undone and the connection
goes back to its pool. Nobody is kept waiting for one: none is held while the pool has no other to give.
"""

import asyncio
from contextlib import suppress
from typing import Final

import asyncpg

from waypost.adapters.postgres.connection import AWAY, Connection, Pool

_SECONDS: Final = 0.05


class Held:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._of: dict[str, tuple[Connection, asyncio.TimerHandle]] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def has_room_for(self, tenant_id: str) -> bool:
        in_use = self._pool.get_size() - self._pool.get_idle_size()
        return tenant_id not in self._of and in_use < self._pool.get_max_size()

    def keep(self, tenant_id: str, connection: Connection) -> None:
        if tenant_id in self._of:
            # Two of the tenant have ended at the same moment.
            self._send_home(connection)
            return
        timer = asyncio.get_running_loop().call_later(_SECONDS, self._let_go, tenant_id)
        self._of[tenant_id] = (connection, timer)

    def take(self, tenant_id: str) -> Connection | None:
        connection, timer = self._of.pop(tenant_id, (None, None))
        if connection is None or timer is None:
            return None
        timer.cancel()
        try:
            return None if connection.is_closed() else connection
        except asyncpg.InterfaceError:
            # The pool has taken back what the server ended.
            return None

    def _let_go(self, tenant_id: str) -> None:
        connection, _ = self._of.pop(tenant_id)
        self._send_home(connection)

    def _send_home(self, connection: Connection) -> None:
        task = asyncio.create_task(self._return(connection))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _return(self, connection: Connection) -> None:
        # One that has died meanwhile has been taken back.
        with suppress(*AWAY, AttributeError):
            await connection.forget_begun()
        with suppress(*AWAY):
            await self._pool.release(connection)
