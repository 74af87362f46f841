"""Rate limits in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import connection_of
from waypost.delivery.limits import LONGEST_WINDOW, Counter, Ledger, Limits, Span, Subject, Whose
from waypost.kernel.work import Transaction

_SQL: Final = load("limits")
_KEPT: Final = timedelta(days=2)
_limits: Final = msgspec.json.Decoder(Limits)


class PgLimits:
    """Implements `delivery.ports.LimitStore`."""

    async def limits(self, tx: Transaction) -> Limits | None:
        text = await connection_of(tx).fetchval(_SQL["limits"], tx.tenant_id)
        return None if text is None else _limits.decode(text)

    async def put(self, tx: Transaction, limits: Limits, at: datetime) -> None:
        connection = connection_of(tx)
        if limits.is_empty:
            await connection.execute(_SQL["drop_limits"], tx.tenant_id)
        else:
            await connection.execute(_SQL["put_limits"], tx.tenant_id, msgspec.json.encode(limits).decode(), at)

    async def read(self, tx: Transaction, limits: Limits, recipients: Sequence[UUID], now: datetime) -> Ledger:
        connection = connection_of(tx)
        people = sorted(set(recipients))
        counters = {
            Subject(Whose(row["whose"]), row["channel"], row["recipient_id"], Span(row["span"])): Counter(
                row["starts_at"], row["taken"], row["plan_at"], row["planned"]
            )
            for row in await connection.fetch(_SQL["counters"], tx.tenant_id, people)
        }
        marks: dict[UUID, list[datetime]] = {}
        if limits.marketing_cap is not None:
            rows = await connection.fetch(_SQL["marks"], tx.tenant_id, people)
            marks = {row["recipient_id"]: list(row["sent"]) for row in rows}
        return Ledger(limits, now, counters, marks)

    async def hold(self, tx: Transaction) -> None:
        await connection_of(tx).execute(_SQL["hold"], tx.tenant_id)

    async def save(self, tx: Transaction, ledger: Ledger) -> None:
        connection = connection_of(tx)
        if ledger.touched:
            kept = [(subject, ledger.counters[subject]) for subject in sorted(ledger.touched)]
            await connection.execute(
                _SQL["save_counters"],
                tx.tenant_id,
                [subject.whose for subject, _ in kept],
                [subject.channel for subject, _ in kept],
                [subject.recipient_id for subject, _ in kept],
                [subject.span for subject, _ in kept],
                [counter.starts_at for _, counter in kept],
                [counter.taken for _, counter in kept],
                [counter.plan_at for _, counter in kept],
                [counter.planned for _, counter in kept],
            )
            await connection.execute(_SQL["sweep_counters"], tx.tenant_id, ledger.now - _KEPT)
        if ledger.marked:
            people = sorted(ledger.marked)
            await connection.execute(
                _SQL["save_marks"],
                tx.tenant_id,
                people,
                ["{" + ",".join(at.isoformat() for at in ledger.marks[who]) + "}" for who in people],
                [ledger.marks[who][-1] for who in people],
            )
            await connection.execute(_SQL["sweep_marks"], tx.tenant_id, ledger.now - LONGEST_WINDOW)
