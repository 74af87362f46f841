"""The steps of the road with a span around each, put around their ports.

Attributes are counts and words of ours; exceptions are not recorded, because their words may repeat someone's data.
"""

from collections.abc import Sequence, Set
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from msgspec import structs

from waypost.delivery.model import Claimed, Settlement
from waypost.delivery.ports import ComposeAnswer, Composer, DispatchStore
from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Scope
from waypost.kernel.work import Transaction
from waypost.notifications.model import Accepted, SubmitCommand
from waypost.notifications.ports import Decided, SubmitCall
from waypost.recipients.resolve import Foreseen

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


class TracedSubmit:
    def __init__(self, submit: SubmitCall, tracer: "Tracer") -> None:
        self._submit = submit
        self._tracer = tracer

    async def __call__(self, tx: Transaction, scope: Scope, command: SubmitCommand) -> Accepted:
        with self._tracer.start_as_current_span("submit", record_exception=False) as span:
            span.set_attribute("waypost.tenant", scope.tenant_id)
            span.set_attribute("waypost.channel", ",".join(channel.word for channel in command.channels))
            accepted = await self._submit(tx, scope, command)
            span.set_attribute("waypost.notifications", len(accepted.notifications))
            return accepted

    async def each(self, tx: Transaction, asked: Sequence[tuple[Scope, SubmitCommand]]) -> Sequence[Accepted | Refused]:
        with self._tracer.start_as_current_span("submit", record_exception=False) as span:
            span.set_attribute("waypost.tenant", tx.tenant_id)
            answers = await self._submit.each(tx, asked)
            made = sum(len(answer.notifications) for answer in answers if isinstance(answer, Accepted))
            span.set_attribute("waypost.notifications", made)
            return answers

    async def many(
        self, tx: Transaction, scope: Scope, commands: Sequence[SubmitCommand], *, part_of: UUID | None = None
    ) -> Sequence[Accepted | Refused]:
        with self._tracer.start_as_current_span("submit", record_exception=False) as span:
            span.set_attribute("waypost.tenant", scope.tenant_id)
            answers = await self._submit.many(tx, scope, commands, part_of=part_of)
            made = sum(len(answer.notifications) for answer in answers if isinstance(answer, Accepted))
            span.set_attribute("waypost.notifications", made)
            return answers

    async def decide(
        self,
        tx: Transaction,
        scope: Scope,
        commands: Sequence[SubmitCommand],
        *,
        part_of: UUID | None = None,
        before: Decided | None = None,
        foreseen: Foreseen | None = None,
    ) -> Decided:
        decided = await self._submit.decide(tx, scope, commands, part_of=part_of, before=before, foreseen=foreseen)

        async def store() -> Sequence[Accepted | Refused]:
            with self._tracer.start_as_current_span("submit", record_exception=False) as span:
                span.set_attribute("waypost.tenant", scope.tenant_id)
                answers = await decided.store()
                made = sum(len(answer.notifications) for answer in answers if isinstance(answer, Accepted))
                span.set_attribute("waypost.notifications", made)
                return answers

        return structs.replace(decided, store=store)

    async def foresee(self, tx: Transaction, commands: Sequence[SubmitCommand]) -> Foreseen:
        return await self._submit.foresee(tx, commands)


class TracedComposer:
    """Implements `delivery.ports.Composer`."""

    def __init__(self, composer: Composer, tracer: "Tracer") -> None:
        self._composer = composer
        self._tracer = tracer

    async def compose(self, claimed: Sequence[Claimed]) -> Sequence[ComposeAnswer]:
        with self._tracer.start_as_current_span("compose", record_exception=False) as span:
            span.set_attribute("waypost.notifications", len(claimed))
            return await self._composer.compose(claimed)


class TracedDispatch:
    """Implements `delivery.ports.DispatchStore`. A claim that finds nothing leaves no span."""

    def __init__(self, store: DispatchStore, tracer: "Tracer") -> None:
        self._store = store
        self._tracer = tracer

    async def claim_suspect(self, worker_id: UUID, batch_id: UUID) -> Claimed | None:
        return await self._store.claim_suspect(worker_id, batch_id)

    async def has_suspects(self) -> bool:
        return await self._store.has_suspects()

    async def claim(self, worker_id: UUID, batch_id: UUID, at_most: int) -> Sequence[Claimed]:
        span = self._tracer.start_span("claim")
        claimed = await self._store.claim(worker_id, batch_id, at_most)
        if claimed:
            span.set_attribute("waypost.batch", str(batch_id))
            span.set_attribute("waypost.notifications", len(claimed))
            span.end()
        return claimed

    async def settle(
        self, worker_id: UUID, batch_id: UUID, settlements: Sequence[Settlement], *, whole: bool
    ) -> Set[UUID]:
        with self._tracer.start_as_current_span("settle", record_exception=False) as span:
            span.set_attribute("waypost.batch", str(batch_id))
            span.set_attribute("waypost.notifications", len(settlements))
            return await self._store.settle(worker_id, batch_id, settlements, whole=whole)

    async def next_due(self) -> datetime | None:
        return await self._store.next_due()
