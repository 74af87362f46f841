"""Storing what a batch of calls made: what is new; what was sent before under the same name is answered instead."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.delivery.gate import Allow, Skip
from waypost.delivery.model import State, StateView
from waypost.delivery.ports import DeliveryStore
from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint
from waypost.kernel.vocabulary import Channel, retention_of
from waypost.kernel.work import Transaction
from waypost.notifications.drafts import Draft
from waypost.notifications.intent import Intent
from waypost.notifications.model import Accepted, AcceptedNotification, Request, Routing
from waypost.notifications.ports import NotificationStore, Place, TimelineNote, WantedRequest, WantedRow
from waypost.outbox.model import News, OutboxKind
from waypost.outbox.ports import Outbox

_STOPPED: Final = OutboxKind.NOTIFICATION_SUPPRESSED
# Named once: to ask an enumeration for a member takes as long as to make a small struct.
_FIRST: Final = Routing.FIRST


class Keeper:
    def __init__(self, *, store: NotificationStore, delivery: DeliveryStore, outbox: Outbox, clock: Clock) -> None:
        self._store = store
        self._delivery = delivery
        self._outbox = outbox
        self._clock = clock

    async def keep(self, tx: Transaction, intents: Sequence[Intent], now: datetime) -> None:
        """Answers every intent, and notes the requests of those that have one of their own."""
        if not intents:
            return
        drafts = [one for intent in intents for one in intent.drafts]
        wanted, twins = _wanted(intents, now)
        before = await self._store.accept(tx, _requests(intents, twins), wanted)
        fresh = drafts
        if before or twins:
            fresh = [one for one in drafts if one.row.id not in before and one.row.id not in twins]
        await self._note_verdicts(tx, fresh, now)
        if any(one.goes_out for one in fresh):
            self._delivery.wake_workers(tx)
        if not before and not twins:
            for intent in intents:
                intent.answer = Accepted(intent.request.id, tuple([one.accepted(now) for one in intent.drafts]))
            return
        states = await self._delivery.states(tx, sorted(set(before.values())))
        made = {one.row.id: one for one in fresh}
        for intent in intents:
            answers: list[AcceptedNotification] = []
            for one in intent.drafts:
                first = twins.get(one.row.id, one.row.id)
                known = before.get(first, first)
                new = made.get(known)
                answers.append(new.accepted(now) if new else _answer_of_old(one, known, states.get(known)))
            intent.answer = Accepted(intent.request.id, tuple(answers))

    async def _note_verdicts(self, tx: Transaction, drafts: Sequence[Draft], now: datetime) -> None:
        notes = [
            TimelineNote(
                notification_id=one.row.id,
                retention=retention_of(one.row.category),
                id=mint(self._clock),
                event="suppressed" if isinstance(one.verdict, Skip) else "deferred",
                reason=one.verdict.reason.value if isinstance(one.verdict, Skip) else one.verdict.rule,
                detail=dict(one.verdict.fact),
            )
            for one in drafts
            if not isinstance(one.verdict, Allow)
        ]
        await self._store.add_notes(tx, now, notes)
        stopped = [one.row.id for one in drafts if isinstance(one.verdict, Skip)] if notes else ()
        await self._outbox.append(tx, [News(kind=_STOPPED, subject_id=notification_id) for notification_id in stopped])


def _requests(intents: Iterable[Intent], twins: Mapping[UUID, UUID]) -> Sequence[WantedRequest]:
    stands_for: dict[Request, list[UUID]] = {}
    for intent in intents:
        if intent.request.asker is not None:
            drafts = [twins.get(one.row.id, one.row.id) for one in intent.drafts]
            stands_for.setdefault(intent.request, []).extend(drafts)
    return [WantedRequest(request=request, drafts=drafts) for request, drafts in stands_for.items()]


def _wanted(intents: Iterable[Intent], now: datetime) -> tuple[list[WantedRow], dict[UUID, UUID]]:
    """The rows that want to be stored; and of two for one place in the same batch the later, with the earlier."""
    first: dict[tuple[str, UUID, Channel], UUID] = {}
    rows: list[WantedRow] = []
    twins: dict[UUID, UUID] = {}
    for intent in intents:
        command = intent.command
        once = command.once
        until = None if once is None or once.kept_for is None else now + once.kept_for
        for one in intent.drafts:
            row, place = one.row, None
            if once is not None:
                # Which of several channels was the first reachable may differ at a repetition; the place must not.
                channel = command.channels[0] if command.routing is _FIRST else row.channel
                place = Place(once.key, channel, until)
                owner = first.setdefault((once.key, row.recipient_id, channel), row.id)
                if owner is not row.id:
                    twins[row.id] = owner
                    continue
            rows.append(WantedRow(row, place, one.due))
    return rows, twins


def _answer_of_old(one: Draft, known: UUID, stands: StateView | None) -> AcceptedNotification:
    return AcceptedNotification(
        id=known,
        recipient_id=one.person.external_id,
        channel=stands.channel if stands else one.row.channel,
        status=stands.state if stands else State.EXPIRED,
        reason=stands.reason if stands else None,
    )
