"""Planning timers, and planning them again when there is news about their subject, in whatever order it comes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from waypost.kernel.clock import Clock
from waypost.kernel.vault import DataKey, Keyring, SealBroken, TenantKey, place
from waypost.kernel.work import Transaction
from waypost.triggers import sealing
from waypost.triggers.model import REPLANNED, Event, News, Sends, Timer, TimerState
from waypost.triggers.ports import EventStore, TimerStore, TriggerStore, Zones
from waypost.triggers.rules import Due, plan

NEWS_KEPT: Final = timedelta(days=30)


def planned(timer: Timer, sends: Sends, event: Event, news: Sequence[News], zone: ZoneInfo, now: datetime) -> Timer:
    """The timer as it should stand now. What has fired stays fired, unless its trigger fires again when it moves."""
    outcome = plan(sends, event, news, zone, now)
    if timer.state is TimerState.FIRED:
        if not sends.refire or not isinstance(outcome, Due) or outcome.at == timer.due or outcome.at <= now:
            return timer
        return replace(
            timer,
            state=TimerState.WAITING,
            due=outcome.at,
            generation=timer.generation + 1,
            tries=0,
            moved_at=now,
            ended_at=None,
        )
    if isinstance(outcome, Due):
        unmoved = plan(sends, event, (), zone, now)
        moved = not isinstance(unmoved, Due) or unmoved.at != outcome.at
        return replace(
            timer,
            state=TimerState.WAITING,
            reason=None,
            due=outcome.at,
            moved_at=(timer.moved_at if timer.due == outcome.at and timer.moved_at else now) if moved else None,
            ended_at=None,
        )
    state = TimerState.CANCELLED if outcome.cancelled else TimerState.SKIPPED
    if (timer.state, timer.reason) == (state, outcome.reason):
        return timer
    return replace(
        timer, state=state, reason=outcome.reason.value, due=outcome.due or timer.due, moved_at=None, ended_at=now
    )


def can_be_replanned(timer: Timer) -> bool:
    return timer.state in {TimerState.WAITING, TimerState.FIRED} or timer.reason in REPLANNED


class Replanner:
    def __init__(
        self,
        *,
        events: EventStore,
        timers: TimerStore,
        triggers: TriggerStore,
        zones: Zones,
        keyring: Keyring,
        clock: Clock,
    ) -> None:
        self._events = events
        self._timers = timers
        self._triggers = triggers
        self._zones = zones
        self._keyring = keyring
        self._clock = clock

    async def zone(self, tx: Transaction) -> ZoneInfo:
        try:
            return ZoneInfo(await self._zones.of(tx))
        except (KeyError, ValueError, OSError):
            return ZoneInfo("UTC")

    async def keep(self, tx: Transaction, news: Sequence[News]) -> None:
        key = await self._keyring.of(tx)
        sealed = [sealing.seal_news(key, tx.tenant_id, one) for one in news]
        await self._events.add_news(tx, sealed, self._clock.now() + NEWS_KEPT)

    async def known(self, tx: Transaction, subjects: Iterable[str]) -> Mapping[str, Sequence[News]]:
        """All that is known about each subject."""
        wanted = sorted(set(subjects))
        if not wanted:
            return {}
        key = await self._keyring.of(tx)
        found: dict[str, list[News]] = {}
        for sealed in await self._events.news(tx, wanted):
            found.setdefault(sealed.subject_key, []).append(sealing.open_news(key, tx.tenant_id, sealed))
        return found

    async def move(
        self, tx: Transaction, subjects: Iterable[str], news: Mapping[str, Sequence[News]]
    ) -> Sequence[tuple[Timer, Timer]]:
        """Plans the timers of these subjects again; answers what changed, before and after."""
        found = [one for one in await self._timers.of_subjects(tx, sorted(set(subjects))) if can_be_replanned(one)]
        if not found:
            return []
        opener = await self.opener(tx, found)
        triggers = await self._triggers.standing_for(tx, sorted({one.trigger_id for one in found if one.trigger_id}))
        zone, now = await self.zone(tx), self._clock.now()
        changed: list[tuple[Timer, Timer]] = []
        for timer in found:
            trigger = triggers.get(timer.trigger_id) if timer.trigger_id else None
            event = opener.event(timer)
            if trigger is None or trigger.rule.sends is None or event is None:
                continue
            after = planned(timer, trigger.rule.sends, event, news.get(timer.subject_key or "", ()), zone, now)
            if after != timer:
                changed.append((timer, after))
        await self._timers.put(tx, [after for _, after in changed])
        return changed

    async def keys(self, tx: Transaction, people: Sequence[UUID]) -> Mapping[UUID, DataKey]:
        """The data keys of those who have not been erased."""
        names, tenant_key = await self._timers.names(tx, people), await self._keyring.of(tx)
        return {
            each: tenant_key.unwrap(wrapped, place("data_key", tx.tenant_id, each))
            for each, (_, wrapped) in names.items()
            if wrapped is not None
        }

    async def opener(self, tx: Transaction, timers: Iterable[Timer]) -> "Opener":
        people = sorted({one.recipient_id for one in timers if one.recipient_id is not None})
        names = await self._timers.names(tx, people)
        return Opener(tx.tenant_id, await self._keyring.of(tx), names)


class Opener:
    """Opens what timers hold. Where the recipient has been erased there is nothing left to open."""

    def __init__(self, tenant_id: str, tenant_key: TenantKey, names: Mapping[UUID, tuple[str, bytes | None]]) -> None:
        self.tenant_id = tenant_id
        self._tenant_key = tenant_key
        self._names = names

    def name(self, timer: Timer) -> str | None:
        """The caller's id of the recipient; None where there is none, or none any more."""
        found = self._names.get(timer.recipient_id) if timer.recipient_id else None
        return found[0] if found is not None and found[1] is not None else None

    def key(self, timer: Timer) -> DataKey | None:
        if timer.recipient_id is None:
            return self._tenant_key
        found = self._names.get(timer.recipient_id)
        if found is None or found[1] is None:
            return None
        return self._tenant_key.unwrap(found[1], place("data_key", self.tenant_id, timer.recipient_id))

    def event(self, timer: Timer) -> Event | None:
        key = self.key(timer)
        if key is None:
            return None
        try:
            return sealing.open_event(key, self.tenant_id, timer)
        except SealBroken:
            return None
