"""What an event puts off: timers of its own, timers of its subject that it moves or drops, digests that it adds to."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction
from waypost.recipients.model import Resolved
from waypost.triggers import sealing
from waypost.triggers.collecting import Collecting, Entry
from waypost.triggers.model import News, Timer, TimerKind, TimerState, TimerView
from waypost.triggers.ports import EventStore, TimerStore
from waypost.triggers.replan import Replanner, planned
from waypost.triggers.started import Message, Started

MOST_SHOWN: Final = 100


class Later:
    def __init__(
        self,
        *,
        events: EventStore,
        timers: TimerStore,
        collecting: Collecting,
        replanner: Replanner,
        keyring: Keyring,
        clock: Clock,
    ) -> None:
        self._events = events
        self._timers = timers
        self._collecting = collecting
        self._replanner = replanner
        self._keyring = keyring
        self._clock = clock

    async def plan(self, tx: Transaction, started: Sequence[Started], now: datetime) -> None:
        scheduled = [(one, message) for one in started for message in one.messages if message.sends.schedule]
        told = {news.subject_key for one in started for news in one.news}
        planned_for = {message.subject_key for _, message in scheduled if message.subject_key is not None}
        await self._events.hold_subjects(tx, sorted(told | planned_for))
        await self._replanner.keep(tx, [news for one in started for news in one.news])
        known = await self._replanner.known(tx, told | planned_for)
        await self._add(tx, scheduled, known, now)
        await self._move(tx, started, told, known)
        await self._collect(tx, started, now)

    async def _add(
        self,
        tx: Transaction,
        scheduled: Sequence[tuple[Started, Message]],
        known: Mapping[str, Sequence[News]],
        now: datetime,
    ) -> None:
        if not scheduled:
            return
        zone = await self._replanner.zone(tx)
        views: list[tuple[Started, TimerView]] = []
        for one, message in scheduled:
            news = known.get(message.subject_key or "", ())
            people: Sequence[Resolved | None] = [None] if message.late_bound else message.people
            for person in people:
                timer = await self._timer(tx, message, person, news, zone, now)
                views.append((one, TimerView(timer=timer, recipient=person.external_id if person else None)))
        new = await self._timers.add(tx, [view.timer for _, view in views])
        for one, view in views:
            if view.timer.id in new:
                one.taken.counts.timers += 1
                one.taken.counts.skipped += view.timer.state is not TimerState.WAITING
                if len(one.taken.timers) < MOST_SHOWN:
                    one.taken.timers.append(view)

    async def _timer(
        self,
        tx: Transaction,
        message: Message,
        person: Resolved | None,
        news: Sequence[News],
        zone: ZoneInfo,
        now: datetime,
    ) -> Timer:
        timer_id = mint(self._clock)
        key = person.key if person is not None else await self._keyring.of(tx)
        blank = Timer(
            id=timer_id,
            kind=TimerKind.TRIGGER,
            trigger_id=message.trigger.id,
            source=message.event.source,
            recipient_id=person.recipient_id if person is not None else None,
            subject_key=message.subject_key,
            slot=None,
            state=TimerState.WAITING,
            reason=None,
            occurred_at=message.event.occurred_at,
            due=None,
            payload=sealing.seal_event(key, tx.tenant_id, timer_id, message.event),
            created_at=now,
        )
        return planned(blank, message.sends, message.event, news, zone, now)

    async def _move(
        self, tx: Transaction, started: Sequence[Started], told: set[str], known: Mapping[str, Sequence[News]]
    ) -> None:
        if not told:
            return
        by_subject: dict[str, list[Started]] = {}
        for one in started:
            for news in one.news:
                by_subject.setdefault(news.subject_key, []).append(one)
        for before, after in await self._replanner.move(tx, told, known):
            # In a batch several events may be about one subject: the change is the last one's.
            counts = max(by_subject[after.subject_key or ""], key=lambda one: one.taken.event.occurred_at).taken.counts
            if after.state is TimerState.WAITING:
                counts.moved += 1
            elif before.state is TimerState.WAITING and after.state is TimerState.CANCELLED:
                counts.cancelled += 1
            elif before.state is TimerState.WAITING:
                counts.skipped += 1

    async def _collect(self, tx: Transaction, started: Sequence[Started], now: datetime) -> None:
        """What has a time of its own is collected when that has come."""
        told = [
            (one, message, person)
            for one in started
            for message in one.messages
            if message.sends.digest is not None and message.sends.schedule is None
            for person in message.people
        ]
        entries = [
            Entry(
                trigger_id=message.trigger.id,
                sends=message.sends,
                event=message.event,
                subject_key=message.subject_key,
                recipient_id=person.recipient_id,
                key=person.key,
            )
            for _, message, person in told
        ]
        windows = await self._collecting.collect(tx, entries, now)
        for (one, _, person), window in zip(told, windows, strict=True):
            one.taken.counts.digested += 1
            if len(one.taken.timers) < MOST_SHOWN:
                one.taken.timers.append(TimerView(timer=window, recipient=person.external_id))
