"""Intent → resolve → gate → queue, in the caller's transaction: all of a call is accepted, or nothing is stored."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from waypost.delivery.gate import Allow, Defer, Skip, decide
from waypost.delivery.model import QueueRow, State
from waypost.delivery.ports import DeliveryStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, Refused, refuse
from waypost.kernel.ids import id_at, mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import place
from waypost.kernel.vocabulary import Category, retention_of
from waypost.kernel.work import Transaction
from waypost.notifications.model import (
    Accepted,
    AcceptedNotification,
    NotificationRow,
    Payload,
    SubmitCommand,
)
from waypost.notifications.ports import NotificationStore, TimelineNote
from waypost.notifications.rules import Timing, check_command, choose_category, choose_timing, freeze_context
from waypost.recipients.model import Resolved
from waypost.recipients.resolve import Resolver
from waypost.templates.model import Version
from waypost.templates.ports import Renderer, RenderFailure, RenderJob
from waypost.templates.rules import refused_below, write_only_names
from waypost.templates.versions import Versions

DEDUPE_KEPT: Final = timedelta(days=30)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Chosen:
    """What will be sent, before it is known to whom."""

    version: Version
    category: Category
    mentioned: frozenset[str]
    secret_names: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Draft:
    """One notification about to be stored, and what the gate said of it."""

    person: Resolved
    row: NotificationRow
    verdict: Allow | Defer | Skip


class Submit:
    def __init__(
        self,
        *,
        store: NotificationStore,
        delivery: DeliveryStore,
        resolver: Resolver,
        versions: Versions,
        renderer: Renderer,
        clock: Clock,
    ) -> None:
        self._store = store
        self._delivery = delivery
        self._resolver = resolver
        self._versions = versions
        self._renderer = renderer
        self._clock = clock

    async def __call__(self, tx: Transaction, scope: Scope, command: SubmitCommand) -> Accepted:
        scope.demand(Permission.NOTIFICATIONS_SEND)
        now = self._clock.now()
        check_command(command, now)
        chosen = await self._choose_content(tx, command)
        timing = choose_timing(command, chosen.category, now)
        people = await self._resolver.resolve(tx, command.to, command.channel, is_list=command.to_is_list)
        await self._check_rendering(tx, command, chosen, people)
        drafts = await self._draft(tx, command, chosen, timing, people, now)
        return await self._keep(tx, scope, command, drafts, now)

    async def _choose_content(self, tx: Transaction, command: SubmitCommand) -> _Chosen:
        if command.content is not None:
            version, mentioned = await self._versions.store_inline(tx, command.content, pointer="/content")
            category = choose_category(command.category, None)
            return _Chosen(version=version, category=category, mentioned=mentioned, secret_names=frozenset())
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
        return _Chosen(
            version=found.version,
            category=choose_category(command.category, found.template.category),
            mentioned=await self._versions.mentioned(tx, found.version),
            secret_names=write_only_names(schema),
        )

    async def _check_rendering(
        self, tx: Transaction, command: SubmitCommand, chosen: _Chosen, people: Sequence[Resolved]
    ) -> None:
        """Renders once for everyone, so that a missing variable is refused at the door and not found at dispatch."""
        jobs = [
            RenderJob(
                tenant_id=tx.tenant_id,
                version_id=chosen.version.id,
                content=chosen.version.content,
                context=freeze_context(person.attributes, command.variables, chosen.mentioned),
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
        command: SubmitCommand,
        chosen: _Chosen,
        timing: Timing,
        people: Sequence[Resolved],
        now: datetime,
    ) -> list[_Draft]:
        facts = await self._delivery.gate_facts(
            tx, command.channel, [(person.recipient_id, person.address_id) for person in people]
        )
        request_id = mint(self._clock)
        drafts: list[_Draft] = []
        for person, fact in zip(people, facts, strict=True):
            verdict = decide(fact, category=chosen.category, expires_at=timing.expires_at, now=now)
            drafts.append(self._draft_one(tx, command, chosen, timing, person, verdict, request_id, now))
        return drafts

    def _draft_one(
        self,
        tx: Transaction,
        command: SubmitCommand,
        chosen: _Chosen,
        timing: Timing,
        person: Resolved,
        verdict: Allow | Defer | Skip,
        request_id: UUID,
        now: datetime,
    ) -> _Draft:
        notification_id = id_at(now, os.urandom(10))
        context = freeze_context(person.attributes, command.variables, chosen.mentioned)
        secrets = {name: context.pop(name) for name in chosen.secret_names if name in context}
        payload = Payload(
            address=person.address.text if person.address else "",
            context=context,
            sender=command.sender,
            reply_to=command.reply_to,
            cc=command.cc,
            bcc=command.bcc,
            headers=command.headers,
            metadata=command.metadata,
        )
        row = NotificationRow(
            id=notification_id,
            request_id=request_id,
            recipient_id=person.recipient_id,
            address_id=person.address_id,
            channel=command.channel,
            category=chosen.category,
            priority=command.priority,
            status=State.SUPPRESSED if isinstance(verdict, Skip) else State.QUEUED,
            reason=verdict.reason.value if isinstance(verdict, Skip) else None,
            gate=verdict.code,
            version_id=chosen.version.id,
            locale=person.locale,
            send_at=timing.send_at,
            expires_at=timing.expires_at,
            payload=_seal(person, "payload", tx.tenant_id, notification_id, payload),
            secrets=_seal(person, "secrets", tx.tenant_id, notification_id, secrets) if secrets else None,
        )
        return _Draft(person=person, row=row, verdict=verdict)

    async def _keep(
        self, tx: Transaction, scope: Scope, command: SubmitCommand, drafts: Sequence[_Draft], now: datetime
    ) -> Accepted:
        """Stores what is new; what the same key already sent to the same person is answered, not sent again."""
        earlier = await self._earlier(tx, command, drafts, now)
        fresh = [draft for draft in drafts if draft.person.recipient_id not in earlier]
        rows = [draft.row for draft in fresh]
        request_id = drafts[0].row.request_id
        await self._store.add(tx, rows)
        await self._store.add_request(
            tx, request_id, scope.key_id, [earlier.get(d.person.recipient_id, d.row.id) for d in drafts]
        )
        await self._note_verdicts(tx, fresh, now)
        await self._delivery.enqueue(tx, [_queue_row(draft) for draft in fresh if not isinstance(draft.verdict, Skip)])
        states = await self._delivery.states(tx, list(earlier.values()))
        return Accepted(
            request_id=request_id,
            notifications=tuple(
                _accepted(draft, now)
                if (known := earlier.get(draft.person.recipient_id)) is None
                else AcceptedNotification(
                    id=known,
                    recipient_id=draft.person.external_id,
                    channel=command.channel,
                    status=states[known].state if known in states else State.EXPIRED,
                    reason=states[known].reason if known in states else None,
                )
                for draft in drafts
            ),
        )

    async def _earlier(
        self, tx: Transaction, command: SubmitCommand, drafts: Sequence[_Draft], now: datetime
    ) -> dict[UUID, UUID]:
        if command.idempotency_key is None:
            return {}
        wanted = {draft.person.recipient_id: draft.row.id for draft in drafts}
        key = f"api:{command.idempotency_key}"
        return dict(await self._store.take_places(tx, key, command.channel, wanted, now + DEDUPE_KEPT))

    async def _note_verdicts(self, tx: Transaction, drafts: Sequence[_Draft], now: datetime) -> None:
        notes = [
            TimelineNote(
                notification_id=draft.row.id,
                id=mint(self._clock),
                event="suppressed" if isinstance(draft.verdict, Skip) else "deferred",
                reason=draft.verdict.reason.value if isinstance(draft.verdict, Skip) else draft.verdict.rule,
                detail=dict(draft.verdict.fact),
            )
            for draft in drafts
            if not isinstance(draft.verdict, Allow)
        ]
        if notes:
            await self._store.add_notes(tx, retention_of(drafts[0].row.category), now, notes)


def _seal(person: Resolved, column: str, tenant_id: str, notification_id: UUID, value: object) -> bytes:
    return person.key.seal(msgspec.msgpack.encode(value), place(column, tenant_id, notification_id))


def _queue_row(draft: _Draft) -> QueueRow:
    row = draft.row
    due = max(row.send_at, draft.verdict.until) if isinstance(draft.verdict, Defer) else row.send_at
    return QueueRow(
        id=row.id, channel=row.channel, priority=row.priority, due=due, retention=retention_of(row.category)
    )


def _accepted(draft: _Draft, now: datetime) -> AcceptedNotification:
    row = draft.row
    waits = row.status is State.QUEUED and row.send_at > now
    return AcceptedNotification(
        id=row.id,
        recipient_id=draft.person.external_id,
        channel=row.channel,
        status=State.SCHEDULED if waits else row.status,
        reason=row.reason,
    )


def _refused_rendering(
    command: SubmitCommand, job: RenderJob, mentioned: frozenset[str], person: Resolved, failure: RenderFailure
) -> Refused:
    """Points at the missing variable where there is one, else at the content, and says for whom it failed."""
    whom = f" (for recipient {person.external_id})" if len(command.to) > 1 else ""
    detail = failure.message + whom
    missing = sorted(mentioned - job.context.keys()) if failure.code == "missing_variable" else []
    if missing:
        message = f"The content reads this; give it here or as an attribute of the recipient{whom}."
        errors = [FieldError(pointer=f"/variables/{name}", code=failure.code, message=message) for name in missing]
        return Refused(detail, code=failure.code, errors=errors)
    pointer = f"/content{failure.pointer}" if command.content is not None else "/template"
    return refuse(pointer, failure.code, detail)
