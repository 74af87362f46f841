"""Taking in events: once each, and in one transaction with all that they start.

A batch is worked on as a whole. Where an event of it is refused, the step is taken back and done again without it, so
that of a refused event nothing stays and the others are not held up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Refused, Unavailable
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.recipients.model import Target
from waypost.recipients.party import Party
from waypost.recipients.resolve import Resolver
from waypost.triggers.later import Later
from waypost.triggers.model import Event, Taken, Trigger
from waypost.triggers.now import SendNow
from waypost.triggers.ports import Audience, EventStore, TriggerStore, TriggerTelemetry
from waypost.triggers.rules import MOST_RECIPIENTS, check_event, effective
from waypost.triggers.started import Started, start

MOST_AT_ONCE: Final = 10_000


class _Refusals(Exception):
    """Takes a step back, and says without whom to do it again."""

    def __init__(self, refusals: dict[int, Refused]) -> None:
        super().__init__()
        self.refusals = refusals


class Events:
    def __init__(
        self,
        *,
        store: EventStore,
        triggers: TriggerStore,
        audience: Audience,
        resolver: Resolver,
        now: SendNow,
        later: Later,
        telemetry: TriggerTelemetry,
        clock: Clock,
    ) -> None:
        self._store = store
        self._triggers = triggers
        self._audience = audience
        self._resolver = resolver
        self._now = now
        self._later = later
        self._telemetry = telemetry
        self._clock = clock

    async def take(self, tx: Transaction, scope: Scope, event: Event) -> Taken:
        """Raises `Refused`."""
        answer = (await self.take_all(tx, scope, [event]))[0]
        if isinstance(answer, Refused):
            raise answer
        return answer

    async def take_all(self, tx: Transaction, scope: Scope, events: Sequence[Event]) -> Sequence[Taken | Refused]:
        """One answer for each, in order."""
        scope.demand(Permission.EVENTS_SEND)
        now = self._clock.now()
        answers: dict[int, Taken | Refused] = {}
        for place, event in enumerate(events):
            if faults := check_event(event, now):
                answers[place] = Refused(faults[0].message, code=faults[0].code, errors=faults)
        sending = replace(scope, permissions=scope.permissions | {Permission.NOTIFICATIONS_SEND})
        while going := {place: event for place, event in enumerate(events) if place not in answers}:
            try:
                async with self._store.step(tx):
                    answers |= await self._follow(tx, sending, going, now)
            except _Refusals as again:
                answers |= again.refusals
        taken = [answer for answer in answers.values() if isinstance(answer, Taken)]
        duplicates = sum(answer.duplicate for answer in taken)
        self._telemetry.taken(len(taken) - duplicates, duplicates, len(events) - len(taken))
        return [answers[place] for place in range(len(events))]

    async def _follow(self, tx: Transaction, scope: Scope, events: dict[int, Event], now: datetime) -> dict[int, Taken]:
        started = await self._start(tx, events, now)
        going = [one for one in started.values() if not one.taken.duplicate]
        await self._find_tagged(tx, going)
        self._step_back_where_refused(started)
        await self._find_people(tx, going)
        self._step_back_where_refused(started)
        await self._later.plan(tx, going, now)
        await self._now.send(tx, scope, going, now)
        self._step_back_where_refused(started)
        return {place: one.taken for place, one in started.items()}

    async def _start(self, tx: Transaction, events: dict[int, Event], now: datetime) -> dict[int, Started]:
        first: dict[tuple[str, str], int] = {}
        for place, event in events.items():
            first.setdefault((event.consumer, event.id), place)
        fresh = await self._store.consume(tx, list(first), now)
        triggers = await self._map(tx, {event.type for event in events.values()})
        started: dict[int, Started] = {}
        for place, event in events.items():
            name = (event.consumer, event.id)
            if name in fresh and first[name] == place:
                started[place] = start(Taken(event), triggers.get(event.type, ()))
            else:
                started[place] = Started(Taken(event, duplicate=True))
                started[place].taken.counts.duplicates = 1
        return started

    async def _map(self, tx: Transaction, types: set[str]) -> dict[str, list[Trigger]]:
        found: dict[str, list[Trigger]] = {}
        for trigger in effective(await self._triggers.for_types(tx, sorted(types))):
            if trigger.enabled:
                found.setdefault(trigger.spec.event_type, []).append(trigger)
        return found

    async def _find_tagged(self, tx: Transaction, started: Iterable[Started]) -> None:
        known: dict[tuple[str, ...], tuple[Target, ...]] = {}
        for one in started:
            for message in one.messages:
                tags = message.sends.who.tags
                if not tags or message.late_bound:
                    continue
                if tags not in known:
                    found = await self._audience.tagged(tx, tags, MOST_RECIPIENTS + 1)
                    known[tags] = tuple(Target(id=name, must_exist=True) for _, name in found)
                message.targets = known[tags]
                if len(message.targets) > MOST_RECIPIENTS:
                    detail = f"More than {MOST_RECIPIENTS} people have the tag: more than one event may tell."
                    one.refuse(message.trigger, Refused(detail, code="too_many"))

    async def _find_people(self, tx: Transaction, started: Iterable[Started]) -> None:
        """Those who must be known before anything is sent: a timer and a digest are each one person's."""
        asked = [(one, message) for one in started for message in one.messages if message.needs_people]
        if not asked:
            return
        parties = [
            Party(targets=message.targets, channels=message.sends.channels[:1], is_list=message.is_list)
            for _, message in asked
        ]
        plan = await self._resolver.look(tx, parties)
        for number, refusal in plan.refusals.items():
            one, message = asked[number]
            one.refuse(message.trigger, refusal, message.places)
        if plan.refusals:
            return
        try:
            await self._resolver.bring_in(tx, plan)
        except Refused as refusal:
            raise Unavailable("Someone changed these recipients at the same moment. Try again.") from refusal
        for number, (_, message) in enumerate(asked):
            seen = plan.seen_by(number, tx.tenant_id)
            message.people = [] if isinstance(seen, Refused) else [each[0] for each in seen]

    def _step_back_where_refused(self, started: dict[int, Started]) -> None:
        refusals = {place: one.refusal for place, one in started.items() if one.refusal is not None}
        if refusals:
            raise _Refusals(refusals)
