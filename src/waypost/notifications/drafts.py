"""One notification of a call, before it is stored: its inputs frozen and sealed, and what the gate said."""

from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from waypost.delivery.gate import Allow, Defer, GateFacts, MessageKind, Skip, Verdict, decide
from waypost.delivery.model import State
from waypost.kernel.attachments import FileRef
from waypost.kernel.ids import mint_at
from waypost.kernel.jsontypes import JsonObject, JsonValue
from waypost.kernel.tracking import Tracking
from waypost.kernel.vault import place
from waypost.kernel.vocabulary import Category, Channel, Priority
from waypost.notifications.model import AcceptedNotification, NotificationRow, Payload, SubmitCommand
from waypost.notifications.rules import Timing
from waypost.recipients.model import Resolved
from waypost.templates.context import Reader, build_context
from waypost.templates.model import Sendable, Wording
from waypost.templates.rules import wording_for
from waypost.tracking.rules import noticed

# Named once: to ask an enumeration for a member takes as long as to make a small struct.
_EMAIL: Final = Channel.EMAIL
_encode: Final = msgspec.msgpack.Encoder().encode
_SCHEDULED: Final = State.SCHEDULED
_QUEUED: Final = State.QUEUED
_SUPPRESSED: Final = State.SUPPRESSED
_NOBODY: Final = UUID(int=0)


class Chosen(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What will be sent, before it is known to whom."""

    version: Sendable
    category: Category
    secret_names: frozenset[str]
    topic: str | None = None

    @property
    def kind(self) -> MessageKind:
        return _kind_of(self.category, self.topic)

    def words_for(self, tenant_id: str, person: Resolved, command: SubmitCommand) -> "Words":
        """In the person's own language, or the nearest that there is."""
        locale, wording = wording_for(self.version, person.locale)
        reader = Reader(
            id=person.external_id, locale=person.locale, timezone=person.timezone, attributes=person.attributes
        )
        house = self.version.house
        context = build_context(
            wording.mentioned,
            variables=command.variables,
            reader=reader,
            tenant={"id": tenant_id, "name": house.name} if house else None,
        )
        return Words(locale, wording, context)


@lru_cache(maxsize=1_000)
def _kind_of(category: Category, topic: str | None) -> MessageKind:
    return MessageKind(category, topic)


class Words(msgspec.Struct, frozen=True, gc=False):
    """What one person is told: the content in their locale, and all that it reads."""

    locale: str | None
    wording: Wording
    context: JsonObject


class Leg(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One channel of a call: what goes out on it, and when."""

    channel: Channel
    chosen: Chosen
    timing: Timing
    priority: Priority = Priority.NORMAL

    def judge(self, facts: GateFacts, now: datetime) -> Verdict:
        """What the gate says to someone of whom this is known, at the moment when it would go out."""
        return decide(
            facts,
            category=self.chosen.category,
            priority=self.priority,
            expires_at=self.timing.expires_at,
            now=max(now, self.timing.send_at),
        )

    def tracks(self, call: Tracking, wording: Wording, facts: GateFacts) -> int:
        """What is noticed of a reader, decided once for all: by whoever may, as they want it now."""
        content = wording.content
        if self.channel is not _EMAIL or content.html is None:
            return 0
        return noticed(
            self.chosen.category,
            call=call,
            version=content.tracking,
            tenant=facts.policy.tracking,
            recipient=None if facts.choice is None else facts.choice.tracking,
        )


class Draft(msgspec.Struct, frozen=True, gc=False):
    person: Resolved
    row: NotificationRow
    verdict: Verdict

    @property
    def goes_out(self) -> bool:
        return not isinstance(self.verdict, Skip)

    @property
    def due(self) -> datetime | None:
        """None where it is not sent."""
        verdict = self.verdict
        if isinstance(verdict, Allow):
            return self.row.send_at
        return max(self.row.send_at, verdict.until) if isinstance(verdict, Defer) else None

    def accepted(self, now: datetime) -> AcceptedNotification:
        row = self.row
        status = _SCHEDULED if row.status is _QUEUED and row.send_at > now else row.status
        return AcceptedNotification(row.id, self.person.external_id, row.channel, status, row.reason)


class Drafting:
    """Makes the drafts of a batch. Most rows of one are alike except for whom they are: what they share is put
    together once for neighbours."""

    def __init__(self, tenant_id: str, now: datetime) -> None:
        self._tenant_id = tenant_id
        self._now = now
        self._shared: tuple[UUID, Leg, Verdict, NotificationRow] | None = None

    def draft(
        self,
        request_id: UUID,
        command: SubmitCommand,
        leg: Leg,
        person: Resolved,
        words: Words,
        verdict: Verdict,
        tracks: int,
        files: tuple[FileRef, ...] = (),
    ) -> Draft:
        tenant_id, notification_id = self._tenant_id, mint_at(self._now)
        context = words.context
        secrets = _secrets_of(leg.chosen, context) if leg.chosen.secret_names else None
        payload = Payload(
            person.address.text if person.address else "",
            context,
            command.sender,
            command.reply_to,
            command.cc,
            command.bcc,
            command.headers,
            command.metadata,
            tracks,
            files if leg.channel is _EMAIL else (),
        )
        row = replace(
            self._like(request_id, leg, verdict),
            id=notification_id,
            recipient_id=person.recipient_id,
            address_id=person.address_id,
            locale=words.locale,
            payload=_seal(person, "payload", tenant_id, notification_id, payload),
            secrets=_seal(person, "secrets", tenant_id, notification_id, secrets) if secrets else None,
        )
        return Draft(person, row, verdict)

    def _like(self, request_id: UUID, leg: Leg, verdict: Verdict) -> NotificationRow:
        shared = self._shared
        if shared is not None and shared[0] is request_id and shared[1] is leg and shared[2] is verdict:
            return shared[3]
        stopped = isinstance(verdict, Skip)
        row = NotificationRow(
            id=_NOBODY,
            request_id=request_id,
            recipient_id=_NOBODY,
            address_id=None,
            channel=leg.channel,
            category=leg.chosen.category,
            topic=leg.chosen.topic,
            priority=leg.priority,
            status=_SUPPRESSED if stopped else _QUEUED,
            reason=verdict.reason.value if stopped else None,
            gate=verdict.code,
            version_id=leg.chosen.version.id,
            locale=None,
            send_at=leg.timing.send_at,
            expires_at=leg.timing.expires_at,
            payload=b"",
            secrets=None,
        )
        self._shared = (request_id, leg, verdict, row)
        return row


def _secrets_of(chosen: Chosen, context: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Taken out of what a message reads, to be sealed apart."""
    return {name: context.pop(name) for name in chosen.secret_names if name in context}


def _seal(person: Resolved, column: str, tenant_id: str, notification_id: UUID, value: object) -> bytes:
    return person.key.seal(_encode(value), place(column, tenant_id, notification_id))
