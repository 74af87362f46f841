"""The road of a batch that is claimed, as named steps: gate again → reserve → compose → send → settle.

A batch is composed and sent by parts, so that the wire is not idle while the next are being composed.
"""

import asyncio
import random
from collections.abc import Sequence
from functools import partial
from typing import Final
from uuid import UUID

import structlog
from msgspec import structs

from waypost.delivery.dispatch_parts import Batch, DispatchParts
from waypost.delivery.gate import Allow
from waypost.delivery.model import Claimed, Settlement
from waypost.delivery.pause_book import NothingPaused, PauseBook
from waypost.delivery.ports import Composed, ComposedForInbox, JournalPage, Postponed
from waypost.delivery.rules import (
    DEAD_LETTER_CLAIMS,
    FIRST_CLAIM,
    bury,
    close,
    deliver_to_inbox,
    fit_claim,
    give_back,
    hold_back,
    needs_whole_gate,
    put_off,
    stop_at_gate,
    withhold,
)
from waypost.delivery.sending import Cut, Letter, Unsent, choose_senders, send_all, with_words
from waypost.kernel.errors import Unavailable

_log: Final = structlog.stdlib.get_logger()
_COMPOSED_TOGETHER: Final = 100
"""Messages of a batch: the first are on the wire while the next are being composed."""
_COMPOSING_AT_ONCE: Final = 2
"""While the render process works on one part, the inputs of another are opened."""


class Road:
    """Of one worker; several batches may be on it at once."""

    def __init__(self, parts: DispatchParts, *, batch_size: int, stopping: asyncio.Event) -> None:
        self._parts = parts
        self._clock = parts.clock
        self._pauses = parts.pauses or PauseBook(board=NothingPaused(), clock=parts.clock)
        self._most_claimed = batch_size
        self._composing = asyncio.Semaphore(_COMPOSING_AT_ONCE)
        self._stopping = stopping
        self._on_the_road = 0
        self.cut = Cut()
        """Made: nobody's answer is waited for any longer."""
        self.claim_size = min(batch_size, FIRST_CLAIM)
        """What the way out takes quickly, as far as it is known."""
        self.is_clear = asyncio.Event()
        self.is_clear.set()
        self.in_hand: set[UUID] = set()
        """Batches that are being asked for, carried, or could not be settled."""

    async def carry(self, batch: Batch) -> None:
        """The whole road of one batch. Whatever goes wrong on it, every row is settled."""
        self._set_out()
        page = self._parts.journal.open_page(batch.claimed)
        settlements: list[Settlement] = []
        try:
            with self._pauses.carrying(batch.id, batch.claimed):
                going = await self._gate_again(batch.claimed, settlements)
                going = await self._reserve(batch, going, settlements)
                await self._send_by_parts(batch, going, page, settlements)
                await self._settle(batch, settlements, page)
        finally:
            self._arrive()

    async def _gate_again(self, claimed: Sequence[Claimed], settlements: list[Settlement]) -> list[tuple[int, Claimed]]:
        """Only those about whom something has changed since submit are asked about in full."""
        await self._look_for_pauses(claimed)
        now = self._clock.now()
        going: list[tuple[int, Claimed]] = []
        doubtful: dict[str, list[tuple[int, Claimed]]] = {}
        for index, one in enumerate(claimed):
            if one.claims >= DEAD_LETTER_CLAIMS:
                settlements.append(bury(one))
            elif one.expires_at > now and (stop := self._pauses.stop_of(one)) is not None:
                settlements.append(hold_back(one, now, stop))
            elif needs_whole_gate(one, now):
                doubtful.setdefault(one.tenant_id, []).append((index, one))
            else:
                going.append((index, one))
        for tenant_id, rows in doubtful.items():
            try:
                verdicts = await self._parts.gatekeeper.judge(tenant_id, [one for _, one in rows], now)
            except Exception as error:
                _log.error("gate broke down", action="gate_failed", kind=type(error).__name__, rows=len(rows))
                blamed = not isinstance(error, Unavailable)
                settlements += [give_back(one, now, blamed=blamed) for _, one in rows]
                continue
            for (index, one), verdict in zip(rows, verdicts, strict=True):
                if isinstance(verdict, Allow):
                    going.append((index, one))
                else:
                    settlements.append(stop_at_gate(one, verdict))
        return going

    async def _look_for_pauses(self, claimed: Sequence[Claimed]) -> None:
        try:
            await self._pauses.look_at(claimed)
        except Exception as error:
            # What is known of pauses holds; a database that is away takes no settlement either.
            _log.warning("pauses unread", action="pauses_unread", kind=type(error).__name__)

    async def _reserve(
        self, batch: Batch, going: Sequence[tuple[int, Claimed]], settlements: list[Settlement]
    ) -> Sequence[tuple[int, Claimed]]:
        """Where a tenant has sender accounts, each of its messages gets room on one, or comes again later."""
        if self._parts.capacity is None or not going:
            return going
        try:
            reserved = await self._parts.capacity.reserve(batch.id, [one for _, one in going])
        except Exception as error:
            _log.error("no room reserved", action="reserve_failed", kind=type(error).__name__, rows=len(going))
            blamed = not isinstance(error, Unavailable)
            settlements += [give_back(one, self._clock.now(), blamed=blamed) for _, one in going]
            return []
        if reserved is None:
            return going
        now, served = self._clock.now(), list[tuple[int, Claimed]]()
        for index, one in going:
            if (verdict := reserved.deferred.get(one.id)) is not None:
                settlements.append(put_off(one, verdict))
            elif (blamed := reserved.given_back.get(one.id)) is not None:
                settlements.append(give_back(one, now, blamed=blamed))
            else:
                way = reserved.ways.get(one.id)
                ready = one if way is None else structs.replace(one, way=way)
                if (stop := self._pauses.stop_of(ready)) is not None:
                    settlements.append(hold_back(ready, now, stop))
                else:
                    served.append((index, ready))
        return served

    async def _send_by_parts(
        self, batch: Batch, going: Sequence[tuple[int, Claimed]], page: JournalPage, settlements: list[Settlement]
    ) -> None:
        """Parts are composed in the order of their batches, so batches do not all wait for the same thing at once."""
        begun: list[float] = []

        async def send(part: Sequence[tuple[int, Claimed]]) -> None:
            async with self._composing:
                letters = await self._compose(part, settlements)
            if letters:
                begun.append(self._clock.monotonic())
                await self._send(batch, letters, page, settlements)

        parts = [going[first : first + _COMPOSED_TOGETHER] for first in range(0, len(going), _COMPOSED_TOGETHER)]
        if len(parts) == 1:
            await send(going)
        else:
            async with asyncio.TaskGroup() as group:
                for part in parts:
                    group.create_task(send(part))
        if begun and 2 * len(going) >= self.claim_size:
            self.claim_size = fit_claim(self.claim_size, self._clock.monotonic() - begun[0], self._most_claimed)

    async def _compose(self, going: Sequence[tuple[int, Claimed]], settlements: list[Settlement]) -> list[Letter]:
        begun = self._clock.monotonic()
        try:
            answers = await self._parts.composer.compose([one for _, one in going])
        except Unavailable:
            settlements += [give_back(one, self._clock.now(), blamed=False) for _, one in going]
            return []
        except Exception as error:
            # Somebody in this batch breaks the composer: at the third time each goes alone, and one is found guilty.
            _log.error("composer broke down", action="compose_failed", kind=type(error).__name__, rows=len(going))
            settlements += [give_back(one, self._clock.now(), blamed=True) for _, one in going]
            return []
        self._parts.telemetry.composed(answers, self._clock.monotonic() - begun)
        letters: list[Letter] = []
        for (index, one), answer in zip(going, answers, strict=True):
            if isinstance(answer, Composed):
                letters.append(Letter(index, answer))
            elif isinstance(answer, ComposedForInbox):
                settlements.append(deliver_to_inbox(answer))
            elif isinstance(answer, Postponed):
                settlements.append(give_back(one, self._clock.now(), blamed=False))
            else:
                settlements.append(withhold(one, answer))
        return letters

    async def _send(
        self, batch: Batch, letters: Sequence[Letter], page: JournalPage, settlements: list[Settlement]
    ) -> None:
        lease = self._parts.lease
        if self._stopping.is_set() or not lease.may_begin(batch.term):
            now = self._clock.now()
            settlements += [give_back(letter.composed.claimed, now, blamed=False) for letter in letters]
            return
        letters = self._turn_back(letters, settlements)
        try:
            groups = await choose_senders(letters, self._parts.senders)
        except Exception as error:
            _log.error("no way out", action="no_sender", kind=type(error).__name__, rows=len(letters))
            blamed = not isinstance(error, Unavailable)
            settlements += [give_back(one.composed.claimed, self._clock.now(), blamed=blamed) for one in letters]
            return
        answers = await send_all(groups, page, self.cut, partial(self._may_begin, batch.term))
        now = self._clock.now()
        for letter, answer in answers:
            claimed = letter.composed.claimed
            if isinstance(answer, Unsent):
                stop = None if answer.blamed else self._pauses.stop_of(claimed)
                settlements.append(
                    give_back(claimed, now, blamed=answer.blamed) if stop is None else hold_back(claimed, now, stop)
                )
            else:
                settlements.append(with_words(letter, close(claimed, answer, now, random.random)))

    def _turn_back(self, letters: Sequence[Letter], settlements: list[Settlement]) -> Sequence[Letter]:
        """What was paused while it was composed."""
        going: list[Letter] = []
        for letter in letters:
            if (stop := self._pauses.stop_of(letter.composed.claimed)) is None:
                going.append(letter)
            else:
                settlements.append(hold_back(letter.composed.claimed, self._clock.now(), stop))
        return going

    def _may_begin(self, term: int, letter: Letter) -> bool:
        """Asked just before a message goes on the wire."""
        return self._parts.lease.may_begin(term) and self._pauses.stop_of(letter.composed.claimed) is None

    async def _settle(self, batch: Batch, settlements: Sequence[Settlement], page: JournalPage) -> None:
        begun = self._clock.monotonic()
        try:
            if await self._parts.settler.settle(batch.id, settlements):
                page.close()
                self.in_hand.discard(batch.id)
        except Unavailable:
            _log.error("left unsettled", action="left_unsettled", rows=len(settlements), batch=str(batch.id))
            return
        self._parts.telemetry.settled(settlements, self._clock.monotonic() - begun)
        if self._parts.capacity is not None:
            await self._parts.capacity.settled(settlements)

    def _set_out(self) -> None:
        self._on_the_road += 1
        self.is_clear.clear()

    def _arrive(self) -> None:
        self._on_the_road -= 1
        if self._on_the_road == 0:
            self.is_clear.set()
