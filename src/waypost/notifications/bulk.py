"""Many calls to send in one: each accepted or refused on its own, by the rules of a single one, in one transaction.

They come slice by slice, so that only a few are unpacked at a time. All that is accepted belongs to one request. While
the database stores one batch, the next is read and decided.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Refused, refuse
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.notifications.model import Accepted, SubmitCommand
from waypost.notifications.ports import Decided, NotificationStore, SubmitCall
from waypost.notifications.runs import runs
from waypost.tenants.idempotency import Idempotency, KeyedCall

MOST_RECIPIENTS: Final = 10_000
_ROUTE: Final = "an item of a bulk"
_BATCH: Final = 500
_NOT_YET: Final = Refused("This has not been decided.")


class BulkItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    command: SubmitCommand
    call: KeyedCall | None
    """None where the item has no idempotency key."""


class _Placed(msgspec.Struct, frozen=True, gc=False):
    place: int
    command: SubmitCommand
    call: KeyedCall | None


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkAnswer:
    request_id: UUID | None
    """None where nothing was accepted."""
    answers: Sequence[Accepted | Refused]


class SubmitBulk:
    def __init__(self, *, submit: SubmitCall, store: NotificationStore, idempotency: Idempotency, clock: Clock) -> None:
        self._submit = submit
        self._store = store
        self._idempotency = idempotency
        self._clock = clock

    async def __call__(
        self, tx: Transaction, scope: Scope, slices: Iterable[Sequence[BulkItem | Refused]]
    ) -> BulkAnswer:
        scope.demand(Permission.NOTIFICATIONS_SEND)
        request_id = mint(self._clock)
        answers: list[Accepted | Refused] = []
        room = MOST_RECIPIENTS
        async with aclosing(_read_ahead(slices)) as batches, _Behind() as behind:
            async for given in batches:
                room = _take_room(given, room)
                await self._add(tx, scope, request_id, given, answers, behind)
        made = [one.id for answer in answers if isinstance(answer, Accepted) for one in answer.notifications]
        if not any(isinstance(answer, Accepted) for answer in answers):
            return BulkAnswer(request_id=None, answers=answers)
        await self._store.add_request(tx, request_id, scope.key_id, made)
        return BulkAnswer(request_id=request_id, answers=answers)

    async def _add(
        self,
        tx: Transaction,
        scope: Scope,
        request_id: UUID,
        items: list[BulkItem | Refused],
        answers: "list[Accepted | Refused]",
        behind: "_Behind",
    ) -> None:
        """Decides about the items and leaves the storing to run behind; then their places in `answers` are filled."""
        await self._claim_keys(tx, items)
        first = len(answers)
        answers += [item if isinstance(item, Refused) else _NOT_YET for item in items]
        for run in runs(
            _Placed(first + place, item.command, item.call)
            for place, item in enumerate(items)
            if isinstance(item, BulkItem)
        ):
            decided = await self._submit.decide(tx, scope, [one.command for one in run], part_of=request_id)
            await behind.follow(_fill(answers, run, decided))
            refused = [one.call for one, is_refused in zip(run, decided.refused, strict=True) if is_refused]
            await self._idempotency.release_many(tx, _ROUTE, [call for call in refused if call is not None])

    async def _claim_keys(self, tx: Transaction, items: list[BulkItem | Refused]) -> None:
        """Puts a refusal in the place of every item whose key was used for something else."""
        keyed = [
            (place, item.call)
            for place, item in enumerate(items)
            if isinstance(item, BulkItem) and item.call is not None
        ]
        mine = await self._idempotency.claim_many(tx, _ROUTE, [call for _, call in keyed])
        for (place, _), is_mine in zip(keyed, mine, strict=True):
            if not is_mine:
                message = "This key was used for another request. Use a new key for a new request."
                items[place] = refuse("/idempotency_key", "idempotency_key_reused", message)


class _Behind:
    """What is stored while the next is decided: one thing at a time, in order. What failed first is what is raised."""

    def __init__(self) -> None:
        self._last: asyncio.Task[None] | None = None

    async def follow(self, storing: Coroutine[None, None, None]) -> None:
        try:
            await self._caught_up()
        except BaseException:
            storing.close()
            raise
        self._last = asyncio.create_task(storing)

    async def _caught_up(self) -> None:
        if (last := self._last) is not None:
            await last

    async def __aenter__(self) -> "_Behind":
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None:
            await self._caught_up()
        elif (last := self._last) is not None:
            failed_before = last.done() and not last.cancelled() and last.exception()
            last.cancel()
            await asyncio.wait([last])
            if failed_before and failed_before is not error:
                raise failed_before from None


async def _read_ahead(slices: Iterable[Sequence[BulkItem | Refused]]) -> AsyncGenerator[list[BulkItem | Refused]]:
    """What is worth a round trip, and the next of it read while the database works."""
    left = iter(slices)
    reading = asyncio.create_task(_read(left))
    try:
        while batch := await reading:
            reading = asyncio.create_task(_read(left))
            yield batch
    finally:
        reading.cancel()
        await asyncio.wait([reading])


async def _read(slices: Iterator[Sequence[BulkItem | Refused]]) -> list[BulkItem | Refused]:
    batch: list[BulkItem | Refused] = []
    for items in slices:
        batch += items
        if len(batch) >= _BATCH:
            break
        # The database gets a hearing after each slice.
        await asyncio.sleep(0)
    return batch


async def _fill(answers: "list[Accepted | Refused]", run: Sequence[_Placed], decided: Decided) -> None:
    for one, answer in zip(run, await decided.store(), strict=True):
        answers[one.place] = answer


def _take_room(items: list[BulkItem | Refused], room: int) -> int:
    """Refuses the items for which there is no room any more, and says how much is left."""
    for place, item in enumerate(items):
        if isinstance(item, BulkItem):
            if len(item.command.to) > room:
                message = f"The items of one bulk reach at most {MOST_RECIPIENTS} recipients together; split it."
                items[place] = refuse("/to", "too_many", message)
            else:
                room -= len(item.command.to)
    return room
