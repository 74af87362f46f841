"""The outbox in PostgreSQL."""

from collections.abc import Sequence
from typing import Final

from waypost.adapters.postgres.connection import Connection
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.outbox.model import News

_SQL: Final = load("outbox")


class PgOutbox:
    """Implements `outbox.ports.Outbox`."""

    async def append(self, tx: Transaction, news: Sequence[News]) -> None:
        await append_news(connection_of(tx), tx.tenant_id, news)


async def append_news(connection: Connection, tenant_id: str, news: Sequence[News]) -> None:
    if news:
        await connection.execute(
            _SQL["append"],
            tenant_id,
            [one.kind for one in news],
            [one.subject_id for one in news],
            [one.n for one in news],
        )
