"""Storing what a batch of calls made: what is new; what was sent before under the same name is answered instead."""

from collections.abc import Iterable, Sequence
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
from waypost.notifications.model import Accepted, AcceptedNotification, Routing
from waypost.notifications.ports import NotificationStore, Place, TimelineNote
from waypost.outbox.model import News, OutboxKind
from waypost.outbox.ports import Outbox

_STOPPED: Final = OutboxKind.NOTIFICATION_SUPPRESSED


class Keeper:
    def __init__(self, *, store: NotificationStore, delivery: DeliveryStore, outbox: Outbox, clock: Clock) -> None:
        self._store = store
        self._delivery = delivery
        self._outbox = outbox
        self._clock = clock

    async def keep(
        self, tx: Transaction, key_id: UUID | None, request_id: UUID, intents: Sequence[Intent], now: datetime
    ) -> None:
        """Answers every intent. All of them belong to one request, noted here where the key is given that asked."""
        if not intents:
            return
        earlier = await self._earlier(tx, intents, now)
        drafts = [one for intent in intents for one in intent.drafts]
        fresh = [one for one in drafts if one.row.id not in earlier]
        ids = [earlier.get(one.row.id, one.row.id) for one in drafts]
        if key_id is not None:
            await self._store.add_request(tx, request_id, key_id, ids)
        await self._store.add(tx, [one.row for one in fresh])
        await self._note_verdicts(tx, fresh, now)
        await self._delivery.enqueue(tx, [one.queue_row() for one in fresh if one.goes_out])
        states = await self._delivery.states(tx, sorted(set(earlier.values())))
        # Of two drafts for one place in the same batch the later one is answered with the earlier.
        made = {one.row.id: one for one in fresh}
        for intent in intents:
            answers: list[AcceptedNotification] = []
            for one in intent.drafts:
                known = earlier.get(one.row.id, one.row.id)
                twin = made.get(known)
                answers.append(twin.accepted(now) if twin else _answer_of_old(one, known, states.get(known)))
            intent.answer = Accepted(request_id=request_id, notifications=tuple(answers))

    async def _earlier(self, tx: Transaction, intents: Iterable[Intent], now: datetime) -> dict[UUID, UUID]:
        """Drafts whose place is taken, with the notification that took it."""
        first: dict[tuple[str, UUID, Channel], Place] = {}
        taken_by: dict[UUID, tuple[str, UUID, Channel]] = {}
        for intent in intents:
            once = intent.command.once
            if once is None:
                continue
            for one in intent.drafts:
                spot = (once.key, one.person.recipient_id, _channel_of_place(intent, one))
                until = None if once.kept_for is None else now + once.kept_for
                place = Place(
                    key=spot[0], recipient_id=spot[1], channel=spot[2], notification_id=one.row.id, kept_until=until
                )
                first.setdefault(spot, place)
                taken_by[one.row.id] = spot
        if not first:
            return {}
        before = await self._store.take_places(tx, list(first.values()))
        owner = {spot: before.get(place.notification_id, place.notification_id) for spot, place in first.items()}
        return {draft: owner[spot] for draft, spot in taken_by.items() if owner[spot] != draft}

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
        stopped = [one.row.id for one in drafts if not one.goes_out]
        await self._outbox.append(tx, [News(kind=_STOPPED, subject_id=notification_id) for notification_id in stopped])


def _channel_of_place(intent: Intent, one: Draft) -> Channel:
    """Which of several channels was the first reachable may differ at a repetition; the place must not."""
    return intent.command.channels[0] if intent.command.routing is Routing.FIRST else one.row.channel


def _answer_of_old(one: Draft, known: UUID, stands: StateView | None) -> AcceptedNotification:
    return AcceptedNotification(
        id=known,
        recipient_id=one.person.external_id,
        channel=stands.channel if stands else one.row.channel,
        status=stands.state if stands else State.EXPIRED,
        reason=stands.reason if stands else None,
    )
