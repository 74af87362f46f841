"""Dead letters in PostgreSQL."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import PgTransaction, connection_of
from waypost.delivery.dead_letter_model import DeadLetter, DeadLetterFilter, DeadLetterReason, RedriveResult
from waypost.delivery.dead_letters import Place
from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction

_SQL: Final = load("dead_letters")
_EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(9999, 1, 1, tzinfo=UTC)
_FIRST: Final = UUID(int=0)
_LAST: Final = UUID(int=2**128 - 1)


class PgDeadLetters:
    """Implements `delivery.dead_letters.DeadLetterStore`. `ring` wakes the workers, once it is committed."""

    def __init__(self, *, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring

    async def page(
        self, tx: Transaction, wanted: DeadLetterFilter, before: Place | None, limit: int
    ) -> Sequence[DeadLetter]:
        rows = await connection_of(tx).fetch(
            _SQL["page"], tx.tenant_id, *(before or (_LATEST, _LAST)), *_wanted(wanted), limit
        )
        return [
            DeadLetter(
                notification_id=row["id"],
                at=row["at"],
                reason=DeadLetterReason(row["reason"]),
                detail=row["detail"],
                channel=Channel(row["channel"]),
                category=Category(row["category"]),
                template=row["template"],
                recipient=row["recipient"],
                attempts=row["attempts"],
                expires_at=row["expires_at"],
                spent=row["spent"],
            )
            for row in rows
        ]

    async def ids(self, tx: Transaction, wanted: DeadLetterFilter, after: Place | None, limit: int) -> Sequence[Place]:
        rows = await connection_of(tx).fetch(
            _SQL["ids"], tx.tenant_id, *(after or (_EARLIEST, _FIRST)), *_wanted(wanted), limit
        )
        return [(row["at"], row["id"]) for row in rows]

    async def redrive(
        self, tx: Transaction, ids: Sequence[UUID], until: datetime | None
    ) -> Mapping[UUID, RedriveResult]:
        if not ids:
            return {}
        notes = [mint(self._clock) for _ in ids]
        rows = await connection_of(tx).fetch(_SQL["redrive"], list(ids), notes, until)
        if isinstance(tx, PgTransaction):
            tx.after_commit(self._ring)
        return {row["id"]: RedriveResult(row["result"]) for row in rows}


def _wanted(wanted: DeadLetterFilter) -> tuple[object, ...]:
    return (
        wanted.since or _EARLIEST,
        wanted.until or _LATEST,
        wanted.reason,
        wanted.channel,
        wanted.category,
        wanted.template,
    )
