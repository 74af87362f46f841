"""Telling a broker, in order: of one subject's events the next goes only when the one before has been kept.

An event that the broker will not take holds up those behind it for an hour; then they go, marked as out of order, while
the one in front is still tried, for three days in all. A broker that is away holds up everything, and nothing is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from waypost.kernel.backoff import Random, delay
from waypost.kernel.clock import Clock
from waypost.kernel.ids import show_ulid
from waypost.kernel.work import Transaction, Work
from waypost.outbox.describe import Describe
from waypost.outbox.envelope import outgoing
from waypost.outbox.model import Told
from waypost.outbox.ports import Held, Outgoing, Publisher, RelayTelemetry, UnreadStore
from waypost.outbox.rules import PATIENCE, RETRY_STEPS

_log: Final = structlog.stdlib.get_logger()
HELD_UP: Final = timedelta(hours=1)
_BATCHES: Final = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """What goes now, in order, and what waits. At most one event that failed before is tried per subject."""

    go: list[tuple[Told, bool]] = field(default_factory=list[tuple[Told, bool]])
    """With whether it overtakes one before it."""
    wait: list[Held] = field(default_factory=list[Held])


def plan(news: Sequence[Told], held: Sequence[Held], now: datetime) -> Plan:
    """`news` is new, `held` is all that was held about its subjects, or about subjects of which something is due."""
    made = Plan()
    behind: dict[UUID, Held] = {}
    known = sorted(held, key=lambda one: (one.told.at, one.told.row))
    for one in known:
        first = behind.setdefault(one.told.subject_id, one)
        if first is one:
            if one.due <= now:
                made.go.append((one.told, False))
        elif first.due > now and now - first.since >= HELD_UP and one.due <= now:
            # The one in front is not tried now, so this one does overtake it.
            made.go.append((one.told, True))
    for told in news:
        first = behind.get(told.subject_id)
        if first is None:
            made.go.append((told, False))
        else:
            made.wait.append(Held(told=told, tries=0, since=now, due=max(now, first.since + HELD_UP)))
    return made


class Publish:
    """One publisher's side of the outbox."""

    def __init__(
        self,
        *,
        publisher: Publisher,
        work: Work,
        unread: UnreadStore,
        describe: Describe,
        telemetry: RelayTelemetry,
        clock: Clock,
        random: Random,
    ) -> None:
        self._publisher = publisher
        self._work = work
        self._unread = unread
        self._describe = describe
        self._telemetry = telemetry
        self._clock = clock
        self._random = random

    @property
    def reader(self) -> int:
        return self._publisher.reader

    @property
    def name(self) -> str:
        return self._publisher.name

    async def news(self, tenant_id: str) -> bool:
        """Some of a tenant's unread news; False where there is none, or another relay is at it. Raises `PublisherDown`.

        The transaction stays open until the broker has answered: whoever dies in between leaves the news unread, and
        the next one tells it again, in the same order and with the same ids.
        """
        now = self._clock.now()
        async with self._work.begin(tenant_id) as tx:
            found = await self._unread.take_in_order(tx, self.reader, _BATCHES)
            if found is None:
                return False
            held = {one.told: one for one in await self._unread.held(tx, self.reader, None, now)}
            if found.news:
                subjects = list({told.subject_id for told in found.news})
                held |= {one.told: one for one in await self._unread.held(tx, self.reader, subjects, now)}
            planned = plan(found.news, list(held.values()), now)
            if not found.batches and not planned.go:
                return False
            refused = await self._tell(tx, tenant_id, planned.go)
            await self._book(tx, planned, held, refused, now)
            await self._unread.finish(tx, self.reader, found.batches)
        self._telemetry.published(self.name, len(planned.go) - len(refused), len(refused))
        return True

    async def _tell(self, tx: Transaction, tenant_id: str, go: Sequence[tuple[Told, bool]]) -> set[Told]:
        """What the broker would not take."""
        events = await self._describe(tx, [told for told, _ in go])
        rest: list[tuple[Told, Outgoing]] = [
            (told, outgoing(event, tenant_id, out_of_order=overtakes))
            for (told, overtakes), event in zip(go, events, strict=True)
            if event is not None
        ]
        overtaking = {told for told, overtakes in go if overtakes}
        refused: set[Told] = set()
        held_up: set[str] = set()
        while rest:
            # Of one subject the second goes only when the first has been kept: what comes behind a refused one waits.
            stretch, rest = _first_of_each(rest)
            stuck = {told for told, event in stretch if event.key in held_up and told not in overtaking}
            sendable = [(told, event) for told, event in stretch if told not in stuck]
            refused |= stuck
            kept = await self._publisher.publish([event for _, event in sendable]) if sendable else ()
            for (told, event), is_kept in zip(sendable, kept, strict=True):
                if not is_kept:
                    refused.add(told)
                    held_up.add(event.key)
        return refused

    async def _book(
        self, tx: Transaction, planned: Plan, held: dict[Told, Held], refused: set[Told], now: datetime
    ) -> None:
        gone = [told for told, _ in planned.go if told in held and told not in refused]
        again: list[Held] = []
        for told in refused:
            before = held.get(told) or Held(told=told, tries=0, since=now, due=now)
            if before.tries and now - before.since >= PATIENCE:
                gone.append(told)
                _log.error(
                    "event given up",
                    action="publish_given_up",
                    publisher=self.name,
                    tenant=tx.tenant_id,
                    subject=show_ulid(told.subject_id),
                    kind=told.kind,
                )
                continue
            tries = before.tries + 1
            again.append(replace(before, tries=tries, due=now + delay(tries, self._random, RETRY_STEPS)))
        await self._unread.let_go(tx, self.reader, gone)
        await self._unread.hold(tx, self.reader, [*again, *planned.wait])
        await self._release(tx, {told.subject_id for told in gone}, now)

    async def _release(self, tx: Transaction, subjects: set[UUID], now: datetime) -> None:
        """With the one in front gone, those behind it go next."""
        if subjects:
            behind = await self._unread.held(tx, self.reader, list(subjects), now)
            await self._unread.hold(tx, self.reader, [replace(one, due=min(one.due, now)) for one in behind])


def _first_of_each(
    events: Sequence[tuple[Told, Outgoing]],
) -> tuple[list[tuple[Told, Outgoing]], list[tuple[Told, Outgoing]]]:
    """The longest beginning in which no key comes twice, and the rest."""
    seen: set[str] = set()
    for place, (_, event) in enumerate(events):
        if event.key in seen:
            return list(events[:place]), list(events[place:])
        seen.add(event.key)
    return list(events), []
