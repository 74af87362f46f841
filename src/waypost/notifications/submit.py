"""Intent → resolve → gate → queue, in the caller's transaction: all of a call is accepted, or nothing is stored."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from waypost.delivery.gate import Allow, Skip, decide
from waypost.delivery.model import State
from waypost.delivery.ports import DeliveryStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, Refused, refuse
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import retention_of
from waypost.kernel.work import Transaction
from waypost.notifications.drafts import Chosen, Draft, draft
from waypost.notifications.model import (
    Accepted,
    AcceptedNotification,
    SubmitCommand,
)
from waypost.notifications.ports import NotificationStore, SubmitTelemetry, TimelineNote
from waypost.notifications.rules import Timing, check_command, choose_category, choose_timing
from waypost.outbox.model import News, OutboxKind
from waypost.outbox.ports import Outbox
from waypost.recipients.model import Resolved
from waypost.recipients.resolve import Resolver
from waypost.templates.ports import Renderer, RenderFailure, RenderJob
from waypost.templates.rules import refused_below, write_only_names
from waypost.templates.versions import Versions

DEDUPE_KEPT: Final = timedelta(days=30)
_STOPPED: Final = OutboxKind.NOTIFICATION_SUPPRESSED


class Submit:
    def __init__(
        self,
        *,
        store: NotificationStore,
        delivery: DeliveryStore,
        outbox: Outbox,
        telemetry: SubmitTelemetry,
        resolver: Resolver,
        versions: Versions,
        renderer: Renderer,
        clock: Clock,
    ) -> None:
        self._store = store
        self._delivery = delivery
        self._outbox = outbox
        self._telemetry = telemetry
        self._resolver = resolver
        self._versions = versions
        self._renderer = renderer
        self._clock = clock

    async def __call__(self, tx: Transaction, scope: Scope, command: SubmitCommand) -> Accepted:
        scope.demand(Permission.NOTIFICATIONS_SEND)
        begun, now = self._clock.monotonic(), self._clock.now()
        check_command(command, now)
        chosen = await self._choose_content(tx, command)
        timing = choose_timing(command, chosen.category, now)
        named = await self._resolver.resolve(tx, command.to, command.channel, is_list=command.to_is_list)
        people = [person for person in named if person.external_id != command.actor]
        await self._check_rendering(tx, command, chosen, people)
        request_id = mint(self._clock)
        drafts = await self._draft(tx, request_id, command, chosen, timing, people, now)
        accepted = await self._keep(tx, scope, request_id, command, drafts, now)
        self._telemetry.accepted(accepted, self._clock.monotonic() - begun)
        return accepted

    async def _choose_content(self, tx: Transaction, command: SubmitCommand) -> Chosen:
        if command.content is not None:
            version, mentioned = await self._versions.store_inline(tx, command.content, pointer="/content")
            category = choose_category(command.category, None)
            return Chosen(version=version, category=category, mentioned=mentioned, secret_names=frozenset())
        found = command.template and await self._versions.find_active(tx, command.template, command.channel)
        if not found:
            raise refuse("/template", "unknown_template", "There is no published template with this key and channel.")
        schema = found.version.variables_schema
        if schema is not None:
            faults = await self._renderer.validate(schema, command.variables)
            if faults:
                raise refused_below(
                    "/variables", faults, detail="The variables do not fit the template.", code="invalid_variables"
                )
        return Chosen(
            version=found.version,
            category=choose_category(command.category, found.template.category),
            mentioned=await self._versions.mentioned(tx, found.version),
            secret_names=write_only_names(schema),
        )

    async def _check_rendering(
        self, tx: Transaction, command: SubmitCommand, chosen: Chosen, people: Sequence[Resolved]
    ) -> None:
        """Renders once for everyone, so that a missing variable is refused at the door and not found at dispatch."""
        if not people:
            return
        jobs = [
            RenderJob(
                tenant_id=tx.tenant_id,
                version_id=chosen.version.id,
                content=chosen.version.content,
                context=chosen.context_for(person, command),
            )
            for person in people
        ]
        answers = await self._renderer.render(jobs)
        for person, job, answer in zip(people, jobs, answers, strict=True):
            if isinstance(answer, RenderFailure):
                raise _refused_rendering(command, job, chosen.mentioned, person, answer)

    async def _draft(
        self,
        tx: Transaction,
        request_id: UUID,
        command: SubmitCommand,
        chosen: Chosen,
        timing: Timing,
        people: Sequence[Resolved],
        now: datetime,
    ) -> list[Draft]:
        facts = await self._delivery.gate_facts(
            tx, command.channel, [(person.recipient_id, person.address_id) for person in people]
        )
        drafts: list[Draft] = []
        for person, fact in zip(people, facts, strict=True):
            verdict = decide(fact, category=chosen.category, expires_at=timing.expires_at, now=now)
            drafts.append(draft(tx.tenant_id, request_id, command, chosen, timing, person, verdict, now))
        return drafts

    async def _keep(
        self,
        tx: Transaction,
        scope: Scope,
        request_id: UUID,
        command: SubmitCommand,
        drafts: Sequence[Draft],
        now: datetime,
    ) -> Accepted:
        """Stores what is new; what the same key already sent to the same person is answered, not sent again."""
        earlier = await self._earlier(tx, command, drafts, now)
        fresh = [one for one in drafts if one.person.recipient_id not in earlier]
        ids = [earlier.get(one.person.recipient_id, one.row.id) for one in drafts]
        await self._store.add(tx, request_id, scope.key_id, ids, [one.row for one in fresh])
        await self._note_verdicts(tx, fresh, now)
        await self._delivery.enqueue(tx, [one.queue_row() for one in fresh if one.goes_out])
        states = await self._delivery.states(tx, list(earlier.values()))
        return Accepted(
            request_id=request_id,
            notifications=tuple(
                one.accepted(now)
                if (known := earlier.get(one.person.recipient_id)) is None
                else AcceptedNotification(
                    id=known,
                    recipient_id=one.person.external_id,
                    channel=command.channel,
                    status=states[known].state if known in states else State.EXPIRED,
                    reason=states[known].reason if known in states else None,
                )
                for one in drafts
            ),
        )

    async def _earlier(
        self, tx: Transaction, command: SubmitCommand, drafts: Sequence[Draft], now: datetime
    ) -> dict[UUID, UUID]:
        if command.idempotency_key is None or not drafts:
            return {}
        wanted = {one.person.recipient_id: one.row.id for one in drafts}
        key = f"api:{command.idempotency_key}"
        return dict(await self._store.take_places(tx, key, command.channel, wanted, now + DEDUPE_KEPT))

    async def _note_verdicts(self, tx: Transaction, drafts: Sequence[Draft], now: datetime) -> None:
        notes = [
            TimelineNote(
                notification_id=one.row.id,
                id=mint(self._clock),
                event="suppressed" if isinstance(one.verdict, Skip) else "deferred",
                reason=one.verdict.reason.value if isinstance(one.verdict, Skip) else one.verdict.rule,
                detail=dict(one.verdict.fact),
            )
            for one in drafts
            if not isinstance(one.verdict, Allow)
        ]
        if notes:
            await self._store.add_notes(tx, retention_of(drafts[0].row.category), now, notes)
        stopped = [one.row.id for one in drafts if not one.goes_out]
        await self._outbox.append(tx, [News(kind=_STOPPED, subject_id=notification_id) for notification_id in stopped])


def _refused_rendering(
    command: SubmitCommand, job: RenderJob, mentioned: frozenset[str], person: Resolved, failure: RenderFailure
) -> Refused:
    """Points at the missing variable where there is one, else at the content, and says for whom it failed."""
    whom = f" (for /to/{person.position})" if command.to_is_list else ""
    detail = failure.message + whom
    missing = sorted(mentioned - job.context.keys()) if failure.code == "missing_variable" else []
    if missing:
        message = f"The content reads this; give it here or as an attribute of the recipient{whom}."
        errors = [FieldError(pointer=f"/variables/{name}", code=failure.code, message=message) for name in missing]
        return Refused(detail, code=failure.code, errors=errors)
    pointer = f"/content{failure.pointer}" if command.content is not None else "/template"
    return refuse(pointer, failure.code, detail)
