"""News in words: an event's id, its type, and its data, read from the record of what it is about."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from waypost.kernel.ids import moment_of, show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.tracking import unpack_number
from waypost.kernel.vault import Keyring, SealBroken, TenantKey, place
from waypost.kernel.work import Transaction
from waypost.outbox.catalogue import (
    CATALOGUE,
    Data,
    DomainData,
    EventType,
    NotificationData,
    ReadingData,
    SenderAccountData,
    Subject,
    SuppressionData,
    WebhookEndpointData,
)
from waypost.outbox.model import OutboxKind, Told
from waypost.outbox.ports import (
    AccountFacts,
    DomainFacts,
    EndpointStore,
    MetadataBook,
    NotificationFacts,
    SubjectStore,
    SuppressionFacts,
)
from waypost.outbox.webhook_model import StoredEndpoint

_STATUS: Final[Mapping[int, str]] = {
    OutboxKind.NOTIFICATION_DISPATCHED: "dispatched",
    OutboxKind.NOTIFICATION_DEFERRED: "queued",
    OutboxKind.NOTIFICATION_FAILED: "failed",
    OutboxKind.NOTIFICATION_SUPPRESSED: "suppressed",
    OutboxKind.NOTIFICATION_CANCELLED: "cancelled",
    OutboxKind.NOTIFICATION_EXPIRED: "expired",
    OutboxKind.NOTIFICATION_UNCONFIRMED: "unconfirmed",
}


_READINGS: Final = frozenset({OutboxKind.NOTIFICATION_OPENED, OutboxKind.NOTIFICATION_CLICKED})


_ACCOUNT_STATUS: Final[Mapping[int, str]] = {
    OutboxKind.SENDER_ACCOUNT_PAUSED: "paused",
    OutboxKind.SENDER_ACCOUNT_SUSPENDED: "suspended",
    OutboxKind.SENDER_ACCOUNT_RESUMED: "active",
    OutboxKind.SENDER_ACCOUNT_ARCHIVED: "archived",
}
_DOMAIN_STATE: Final[Mapping[int, str]] = {
    OutboxKind.DOMAIN_VERIFIED: "verified",
    OutboxKind.DOMAIN_FAILING: "failing",
    OutboxKind.DOMAIN_FAILED: "failed",
}
_Record = NotificationFacts | SuppressionFacts | StoredEndpoint | AccountFacts | DomainFacts


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    id: str
    type: EventType
    told: Told
    subject: str
    """Its public id."""
    data: Data


def event_id(tenant_id: str, told: Told) -> str:
    """The same for every endpoint, every try and every replay, because it is made of what happened."""
    sequence = told.sequence
    numbers = (told.kind << 16 | told.n) << 64 | sequence
    said = tenant_id.encode() + told.subject_id.bytes + numbers.to_bytes(16, "big")
    entropy = int.from_bytes(hashlib.sha256(said).digest()[:10], "big")
    return show("evt", UUID(int=sequence // 1000 << 80 | entropy))


class Describe:
    def __init__(
        self, *, subjects: SubjectStore, endpoints: EndpointStore, metadata: MetadataBook, keyring: Keyring
    ) -> None:
        self._subjects = subjects
        self._endpoints = endpoints
        self._metadata = metadata
        self._keyring = keyring

    async def __call__(self, tx: Transaction, news: Sequence[Told]) -> Sequence[Event | None]:
        """One for each, in order; None where nothing is left to tell: its record is gone, or nobody is to know."""
        ids: dict[Subject, list[UUID]] = {}
        for told in news:
            if (entry := CATALOGUE.get(told.kind)) is not None:
                ids.setdefault(entry.subject, []).append(told.subject_id)
        records = await self._records(tx, ids)
        reasons = await self._reasons(tx, news)
        targets = await self._targets(tx, news)
        key = await self._keyring.of(tx) if Subject.NOTIFICATION in ids else None
        opened = await self._opened(tx, records)
        described: list[Event | None] = []
        for told in news:
            entry, record = CATALOGUE.get(told.kind), records.get(told.subject_id)
            subject = show(entry.subject, told.subject_id) if entry else ""
            data: Data | None = None
            match record:
                case NotificationFacts() if key is not None:
                    if told.kind in _READINGS:
                        link, _ = unpack_number(told.n)
                        url = _target(targets.get((record.id, link)), key, tx.tenant_id)
                        data = _reading(told, subject, record, url, opened[record.id])
                    else:
                        reason = reasons.get((record.id, told.n))
                        data = _notification(told, subject, record, reason, opened[record.id])
                case SuppressionFacts():
                    data = _suppression(told, record)
                case StoredEndpoint():
                    data = _endpoint(told, record)
                case AccountFacts():
                    data = _account(told, record)
                case DomainFacts():
                    data = _domain(told, record)
                case _:
                    pass
            if entry is None or data is None:
                described.append(None)
                continue
            described.append(Event(id=event_id(tx.tenant_id, told), type=entry, told=told, subject=subject, data=data))
        return described

    async def _records(self, tx: Transaction, ids: Mapping[Subject, list[UUID]]) -> dict[UUID, _Record]:
        found: dict[UUID, _Record] = {}
        if wanted := ids.get(Subject.NOTIFICATION):
            found.update(await self._subjects.notifications(tx, wanted))
        if wanted := ids.get(Subject.SUPPRESSION):
            found.update(await self._subjects.suppressions(tx, wanted))
        if wanted := ids.get(Subject.WEBHOOK_ENDPOINT):
            found.update(await self._endpoints.by_ids(tx, wanted))
        if wanted := ids.get(Subject.SENDER_ACCOUNT):
            found.update(await self._subjects.sender_accounts(tx, wanted))
        if wanted := ids.get(Subject.DOMAIN):
            found.update(await self._subjects.domains(tx, wanted))
        return found

    async def _opened(self, tx: Transaction, records: Mapping[UUID, _Record]) -> Mapping[UUID, dict[str, JsonValue]]:
        wanted = [record for record in records.values() if isinstance(record, NotificationFacts)]
        return await self._metadata.of(tx, wanted) if wanted else {}

    async def _targets(self, tx: Transaction, news: Sequence[Told]) -> Mapping[tuple[UUID, int], tuple[UUID, bytes]]:
        wanted = [told.subject_id for told in news if told.kind == OutboxKind.NOTIFICATION_CLICKED]
        return await self._subjects.link_targets(tx, wanted) if wanted else {}

    async def _reasons(self, tx: Transaction, news: Sequence[Told]) -> Mapping[tuple[UUID, int], str | None]:
        """Attempts are asked only about events that have a reason."""
        wanted = [
            told.subject_id
            for told in news
            if told.n and told.kind in _STATUS and told.kind != OutboxKind.NOTIFICATION_DISPATCHED
        ]
        return await self._subjects.attempt_reasons(tx, wanted) if wanted else {}


def _target(sealed: tuple[UUID, bytes] | None, key: TenantKey, tenant_id: str) -> str | None:
    if sealed is None:
        return None
    try:
        return key.open(sealed[1], place("tracking_target", tenant_id, sealed[0])).decode()
    except SealBroken:
        return None


def _reading(
    told: Told, shown_id: str, record: NotificationFacts, url: str | None, metadata: dict[str, JsonValue]
) -> ReadingData:
    link, client = unpack_number(told.n)
    return ReadingData(
        sequence=told.sequence,
        notification_id=shown_id,
        request_id=show("req", record.request_id),
        recipient_id=record.external_id,
        channel=record.channel.word,
        category=record.category.word,
        client=client.word,
        link=link or None,
        url=url,
        created_at=moment_of(record.id),
        metadata=metadata,
    )


def _notification(
    told: Told, shown_id: str, record: NotificationFacts, attempt_reason: str | None, metadata: dict[str, JsonValue]
) -> NotificationData:
    dispatched = told.kind == OutboxKind.NOTIFICATION_DISPATCHED
    deferred = told.kind == OutboxKind.NOTIFICATION_DEFERRED
    return NotificationData(
        sequence=told.sequence,
        notification_id=shown_id,
        request_id=show("req", record.request_id),
        recipient_id=record.external_id,
        channel=record.channel.word,
        category=record.category.word,
        status=_STATUS[told.kind],
        reason=None if dispatched else attempt_reason or (None if deferred else record.reason),
        attempt=told.n or None,
        created_at=moment_of(record.id),
        send_at=record.send_at,
        expires_at=record.expires_at,
        metadata=metadata,
    )


def _suppression(told: Told, record: SuppressionFacts) -> SuppressionData:
    return SuppressionData(
        sequence=told.sequence,
        suppression_id=show("sup", record.id),
        channel=record.channel.word,
        reason=record.reason,
        source=record.source,
        notification_id=show("ntf", record.notification_id) if record.notification_id else None,
        created_at=record.created_at,
        expires_at=record.expires_at,
        released_at=record.released_at if told.kind == OutboxKind.SUPPRESSION_RELEASED else None,
    )


def _account(told: Told, record: AccountFacts) -> SenderAccountData:
    """As it stood then; the reason is known for as long as it stands so."""
    status = _ACCOUNT_STATUS[told.kind]
    return SenderAccountData(
        sequence=told.sequence,
        sender_account_id=show("acc", record.id),
        name=record.name,
        status=status,
        reason=record.reason if record.status == status else None,
    )


def _domain(told: Told, record: DomainFacts) -> DomainData:
    """Its state as it was then; what fails, as it is now."""
    verified = told.kind == OutboxKind.DOMAIN_VERIFIED
    return DomainData(
        sequence=told.sequence,
        domain_id=show("dom", record.id),
        name=record.name,
        state=_DOMAIN_STATE[told.kind],
        failed=[] if verified else list(record.failed),
        failing_since=None if verified else record.failing_since,
    )


def _endpoint(told: Told, record: StoredEndpoint) -> WebhookEndpointData:
    return WebhookEndpointData(
        sequence=told.sequence,
        webhook_endpoint_id=show("whe", record.id),
        status=record.status.value,
        reason=record.disabled_reason.value if record.disabled_reason else None,
        disabled_at=record.disabled_at,
    )
