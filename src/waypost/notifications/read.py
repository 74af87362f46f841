"""Reading notifications back: state, timeline, content. The answer is always current: it is derived, not remembered."""

from collections.abc import Sequence
from email.utils import format_datetime
from typing import Final
from uuid import UUID

from waypost.delivery.model import AttemptView, StateView
from waypost.delivery.ports import DeliveryStore
from waypost.kernel.address import mask, mask_within
from waypost.kernel.errors import NotFound, Refused
from waypost.kernel.ids import moment_of
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import DataKey, SealBroken, place
from waypost.kernel.work import Transaction
from waypost.notifications.model import (
    RESEND_OF,
    Detail,
    Filter,
    ShownAttempt,
    ShownContent,
    Summary,
    TimelineStep,
)
from waypost.notifications.opening import Opener
from waypost.notifications.ports import NotificationStore, StoredNotification
from waypost.notifications.sender import SenderIdentity
from waypost.templates.context import spoken
from waypost.templates.ports import Renderer, RenderFailure, RenderJob
from waypost.templates.rules import write_only_names
from waypost.templates.versions import Versions
from waypost.tracking.read import Noticed, TrackingLog

HIDDEN: Final = "••••••"
_LISTING: Final = "notifications"


class Reader:
    def __init__(
        self,
        *,
        store: NotificationStore,
        delivery: DeliveryStore,
        opener: Opener,
        versions: Versions,
        renderer: Renderer,
        identity: SenderIdentity,
        tracking: TrackingLog,
    ) -> None:
        self._store = store
        self._delivery = delivery
        self._opener = opener
        self._versions = versions
        self._renderer = renderer
        self._identity = identity
        self._tracking = tracking

    async def page(
        self, tx: Transaction, scope: Scope, wanted: Filter, cursor: str | None, limit: int | None
    ) -> Page[Summary]:
        scope.demand(Permission.NOTIFICATIONS_READ)
        size = read_limit(limit)
        ids = await self._store.page(tx, wanted, decode_id_cursor(_LISTING, cursor), size + 1)
        shown = await self.summaries(tx, ids[:size])
        more = len(ids) > size
        return Page(items=shown, next=encode_id_cursor(_LISTING, ids[size - 1]) if more else None)

    async def summaries(self, tx: Transaction, ids: Sequence[UUID]) -> list[Summary]:
        """In the order asked for; an id that is not there is left out."""
        if not ids:
            return []
        stored = await self._store.by_ids(tx, ids)
        states = await self._delivery.states(tx, list(stored))
        return [_summary(stored[id_], states[id_]) for id_ in ids if id_ in stored and id_ in states]

    async def request(self, tx: Transaction, scope: Scope, request_id: UUID) -> list[Summary]:
        scope.demand(Permission.NOTIFICATIONS_READ)
        ids = await self._store.request(tx, request_id)
        if ids is None:
            raise NotFound("There is no such request.")
        return await self.summaries(tx, ids)

    async def detail(self, tx: Transaction, scope: Scope, notification_id: UUID) -> Detail:
        stored = await self._find(tx, scope, notification_id)
        states = await self._delivery.states(tx, [notification_id])
        payload = await self._opener.payload(tx, stored)
        return Detail(
            summary=_summary(stored, states[notification_id]),
            to=mask(stored.channel, payload.address) if payload and payload.address else None,
            metadata=payload.metadata if payload else {},
            resend_of=await self._store.resend_of(tx, notification_id),
        )

    async def timeline(self, tx: Transaction, scope: Scope, notification_id: UUID) -> list[TimelineStep]:
        stored = await self._find(tx, scope, notification_id)
        began: dict[str, JsonValue] = {"channel": stored.channel.word}
        steps = [TimelineStep(at=moment_of(stored.id), event="accepted", detail=began)]
        said = {one.n: one.reply for one in await self.attempts(tx, scope, notification_id)}
        for entry in await self._delivery.timeline(tx, notification_id):
            detail, number = dict(entry.detail), entry.detail.get("attempt")
            if entry.event == RESEND_OF:
                began |= detail
                continue
            if isinstance(number, int) and entry.event != "attempt_started" and (reply := said.get(number)) is not None:
                detail["reply"] = reply
            steps.append(TimelineStep(at=entry.at, event=entry.event, reason=entry.reason, detail=detail))
        steps += [_reading(seen) for seen in await self._tracking.of_notification(tx, notification_id)]
        return sorted(steps, key=lambda step: step.at)

    async def attempts(self, tx: Transaction, scope: Scope, notification_id: UUID) -> list[ShownAttempt]:
        """Oldest first."""
        stored = await self._find(tx, scope, notification_id)
        key = await self._opener.data_key(tx, stored)
        return [
            _attempt(attempt, key, tx.tenant_id, stored) for attempt in await self._delivery.attempts(tx, stored.id)
        ]

    async def content(self, tx: Transaction, scope: Scope, notification_id: UUID) -> ShownContent:
        """Rendered anew from the frozen inputs: the same function that sends, fed the same things."""
        stored = await self._find(tx, scope, notification_id)
        payload = await self._opener.payload(tx, stored)
        if payload is None:
            raise NotFound("The recipient has been erased, and the content with them.", code="erased")
        frozen = stored.version_id, stored.locale
        wording = (await self._versions.load(tx, [frozen]))[frozen]
        schema = await self._versions.schema_of(tx, stored.version_id)
        hidden: dict[str, JsonValue] = dict.fromkeys(write_only_names(schema), HIDDEN)
        locale, timezone = spoken(payload.context)
        job = RenderJob(
            tenant_id=tx.tenant_id,
            version_id=wording.id,
            content=wording.content,
            context={**payload.context, **hidden},
            locale=locale or stored.locale,
            timezone=timezone,
        )
        [parts] = await self._renderer.render([job])
        if isinstance(parts, RenderFailure):
            raise Refused(parts.message, code=parts.code)
        head = self._identity.head(stored.id, payload, format_datetime(moment_of(stored.id)))
        return ShownContent(
            subject=parts.subject,
            html=parts.html,
            text=parts.text,
            sender=head.sender,
            to=mask(stored.channel, payload.address) if payload.address else None,
            headers=(("Message-ID", f"<{head.message_id}>"), *head.headers),
            files=(*wording.content.files, *payload.files),
        )

    async def _find(self, tx: Transaction, scope: Scope, notification_id: UUID) -> StoredNotification:
        scope.demand(Permission.NOTIFICATIONS_READ)
        found = (await self._store.by_ids(tx, [notification_id])).get(notification_id)
        if found is None:
            raise NotFound("There is no such notification.")
        return found


def _reading(seen: Noticed) -> TimelineStep:
    detail: dict[str, JsonValue] = {"client": seen.client.word}
    if seen.link:
        detail["link"] = seen.link
    if seen.url is not None:
        detail["url"] = seen.url
    return TimelineStep(at=seen.at, event=seen.kind.word, detail=detail)


def _attempt(attempt: AttemptView, key: DataKey | None, tenant_id: str, stored: StoredNotification) -> ShownAttempt:
    return ShownAttempt(
        n=attempt.n,
        started_at=attempt.started_at,
        latency_ms=attempt.latency_ms,
        outcome=attempt.outcome,
        reason=attempt.reason,
        code=attempt.code,
        reference=attempt.reference,
        reply=_reply(attempt, key, tenant_id, stored),
    )


def _reply(attempt: AttemptView, key: DataKey | None, tenant_id: str, stored: StoredNotification) -> str | None:
    if attempt.reply is None or key is None:
        return None
    try:
        return mask_within(key.open(attempt.reply, place("reply", tenant_id, stored.id)).decode("utf-8", "replace"))
    except SealBroken:
        return None


def _summary(stored: StoredNotification, state: StateView) -> Summary:
    return Summary(
        id=stored.id,
        request_id=stored.request_id,
        recipient_id=stored.external_id,
        channel=stored.channel,
        category=stored.category,
        priority=stored.priority,
        template=stored.template_key,
        status=state.state,
        reason=state.reason,
        attempts=state.attempts,
        send_at=stored.send_at,
        expires_at=stored.expires_at,
        created_at=moment_of(stored.id),
    )
