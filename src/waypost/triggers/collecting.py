"""What digests collect: events go into the open window of a person and a key; once closed it tells them all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.vault import DataKey
from waypost.kernel.work import Transaction
from waypost.notifications.rules import VARIABLES_BYTES
from waypost.triggers import sealing
from waypost.triggers.model import Event, News, Sends, Timer, TimerKind, TimerState
from waypost.triggers.ports import DigestStore, Window
from waypost.triggers.rules import is_cancelled, key_at, latest, variables_of, within

MOST_COLLECTED: Final = 100
"""Events that a digest keeps; the others are only counted."""
_ROOM: Final = VARIABLES_BYTES - 1_024


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One event for one person."""

    trigger_id: UUID
    sends: Sends
    event: Event
    subject_key: str | None
    recipient_id: UUID
    key: DataKey = field(repr=False)

    def window(self) -> Window:
        slot = key_at(self.event, self.sends.digest.key if self.sends.digest else None) or ""
        return Window(trigger_id=self.trigger_id, recipient_id=self.recipient_id, slot=slot)


class Collecting:
    def __init__(self, *, digests: DigestStore, clock: Clock) -> None:
        self._digests = digests
        self._clock = clock

    async def collect(self, tx: Transaction, entries: Sequence[Entry], now: datetime) -> Sequence[Timer]:
        """The window of each, as it stood with it.

        Windows are locked in one order. Whoever holds a window already, as those do who fire it, must not call this.
        """
        gathered: dict[Window, list[int]] = {}
        for place, entry in enumerate(entries):
            gathered.setdefault(entry.window(), []).append(place)
        wanted = {
            window: self._new(window, entries[gathered[window][0]], now) for window in sorted(gathered, key=_order)
        }
        if not wanted:
            return []
        found = await self._digests.open_windows(tx, wanted, now)
        items: list[tuple[UUID, int, bytes]] = []
        stood: dict[int, Timer] = {}
        for window, places in gathered.items():
            timer = found[window]
            for n, place in enumerate(places, timer.collected + 1):
                stood[place] = replace(timer, collected=n)
                if n <= MOST_COLLECTED:
                    items.append((timer.id, n, _sealed(entries[place], tx.tenant_id, timer.id)))
        await self._digests.add_items(tx, items)
        await self._digests.count(
            tx, {found[window].id: found[window].collected + len(gathered[window]) for window in found}
        )
        return [stood[place] for place in range(len(entries))]

    def _new(self, window: Window, first: Entry, now: datetime) -> Timer:
        timer_id = mint(self._clock)
        return Timer(
            id=timer_id,
            kind=TimerKind.DIGEST,
            trigger_id=window.trigger_id,
            source=str(timer_id),
            recipient_id=window.recipient_id,
            subject_key=None,
            slot=window.slot,
            state=TimerState.WAITING,
            reason=None,
            occurred_at=first.event.occurred_at,
            due=now + first.sends.digest.window.elapsed if first.sends.digest else now,
            payload=b"",
            collecting=True,
            created_at=now,
        )


@dataclass(frozen=True, slots=True)
class Collected:
    """What a window holds, read again."""

    items: Sequence[JsonObject | sealing.KeptEvent]
    count: int

    @property
    def subjects(self) -> set[str]:
        return {one.subject_key for one in self.items if isinstance(one, sealing.KeptEvent)}

    def told(self, sends: Sends, news: Mapping[str, Sequence[News]]) -> JsonObject | None:
        """What the template reads, by the latest news about each subject; None where all that it held was cancelled."""
        events: list[JsonObject] = []
        for one in self.items:
            if not isinstance(one, sealing.KeptEvent):
                events.append(one)
            elif not is_cancelled(sends, one.event, about := news.get(one.subject_key, ())):
                events.append(variables_of(sends, latest(one.event, about)))
        count = self.count - len(self.items) + len(events)
        return {"events": list(within(events, _ROOM)), "count": count} if count else None


def read_window(key: DataKey, tenant_id: str, timer: Timer, items: Sequence[bytes]) -> Collected:
    return Collected([sealing.open_item(key, tenant_id, timer.id, sealed) for sealed in items], timer.collected)


def _sealed(entry: Entry, tenant_id: str, timer_id: UUID) -> bytes:
    """Where news may come about its subject, the event itself; otherwise what the template reads of it."""
    if entry.subject_key is None:
        kept: JsonObject | sealing.KeptEvent = variables_of(entry.sends, entry.event)
    else:
        kept = sealing.KeptEvent(entry.subject_key, entry.event)
    return sealing.seal_item(entry.key, tenant_id, timer_id, kept)


def _order(window: Window) -> tuple[UUID, UUID, str]:
    return window.trigger_id, window.recipient_id, window.slot
