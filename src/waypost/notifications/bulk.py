"""Many calls to send in one: each accepted or refused on its own, by the rules of a single one, in one transaction.

They come slice by slice, so that only a few are unpacked at a time. All that is accepted belongs to one request. While
the database stores one batch, the next is decided, and the one after that is read.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
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
from waypost.recipients.resolve import Foreseen
from waypost.tenants.idempotency import Idempotency, KeyedCall

MOST_RECIPIENTS: Final = 10_000
_ROUTE: Final = "an item of a bulk"
_BATCH: Final = 500
_FIRST: Final = 100
_FORMED_AT_ONCE: Final = 50
Done = TypeVar("Done")
Formed = TypeVar("Formed")
_NOT_YET: Final = Refused("This has not been decided.")


class BulkItem(msgspec.Struct, frozen=True, gc=False):
    command: SubmitCommand
    call: KeyedCall | None
    """None where the item has no idempotency key."""


class _Placed(msgspec.Struct, frozen=True, gc=False):
    place: int
    command: SubmitCommand
    call: KeyedCall | None


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkAnswer(Generic[Formed]):
    request_id: UUID | None
    """None where nothing was accepted."""
    accepted: int
    answers: Sequence[Formed]


class SubmitBulk:
    def __init__(self, *, submit: SubmitCall, store: NotificationStore, idempotency: Idempotency, clock: Clock) -> None:
        self._submit = submit
        self._store = store
        self._idempotency = idempotency
        self._clock = clock

    async def __call__(
        self,
        tx: Transaction,
        scope: Scope,
        slices: Iterable[Sequence[BulkItem | Refused]],
        count: int,
        form: Callable[[int, Accepted | Refused], Formed],
    ) -> BulkAnswer[Formed]:
        """`count`: how many items there are in all slices. `form` makes of each answer what the caller tells."""
        scope.demand(Permission.NOTIFICATIONS_SEND)
        bulk = _Bulk(mint(self._clock), unread=count)
        left = iter(slices)
        formed: list[Formed] = []
        async with _Beside() as beside:
            reading = beside.start(self._take_in(tx, bulk, left))
            while (batch := await reading).items:
                reading = beside.start(self._take_in(tx, bulk, left))
                await self._add(tx, scope, bulk, batch, beside)
            if bulk.storing is not None:
                await _form_until(bulk.storing, bulk, formed, form)
            accepted = [answer for answer in bulk.answers if isinstance(answer, Accepted)]
            if accepted:
                made = [one.id for answer in accepted for one in answer.notifications]
                noting = beside.start(self._store.add_request(tx, bulk.request_id, scope.key_id, made))
                await _form_until(noting, bulk, formed, form)
        formed += map(form, range(len(formed), len(bulk.answers)), bulk.answers[len(formed) :])
        return BulkAnswer(request_id=bulk.request_id if accepted else None, accepted=len(accepted), answers=formed)

    async def _take_in(
        self, tx: Transaction, bulk: "_Bulk", slices: Iterator[Sequence[BulkItem | Refused]]
    ) -> "_Batch":
        """Reads the next batch and takes its keys, while those before it are decided and stored."""
        items = await _read(slices, bulk.next_batch())
        bulk.unread -= len(items)
        bulk.room = _take_room(items, bulk.room)
        keyed = [
            (place, item.call)
            for place, item in enumerate(items)
            if isinstance(item, BulkItem) and item.call is not None
        ]
        calls = [call for _, call in keyed]
        changes, foreseen = bulk.changes, None
        if items and bulk.nobody_changes:
            foreseen = await self._submit.foresee(tx, [item.command for item in items if isinstance(item, BulkItem)])
        return _Batch(
            items=items,
            places=[place for place, _ in keyed],
            calls=calls,
            mine=await self._idempotency.claim_many(tx, _ROUTE, calls),
            foreseen=foreseen,
            changes=changes,
        )

    async def _add(self, tx: Transaction, scope: Scope, bulk: "_Bulk", batch: "_Batch", beside: "_Beside") -> None:
        """Decides about the items and leaves the storing to run beside; then their places in `answers` are filled."""
        await self._refuse_taken(tx, batch)
        first = len(bulk.answers)
        bulk.answers += [_NOT_YET if isinstance(item, BulkItem) else item for item in batch.items]
        for run in runs(
            _Placed(first + place, item.command, item.call)
            for place, item in enumerate(batch.items)
            if isinstance(item, BulkItem)
        ):
            commands = [one.command for one in run]
            foreseen = batch.foreseen if batch.changes == bulk.changes else None
            decided = await self._submit.decide(
                tx, scope, commands, part_of=bulk.request_id, before=bulk.last_decided, foreseen=foreseen
            )
            bulk.changes += decided.changed
            bulk.nobody_changes = not decided.changed
            before, bulk.storing_before = bulk.storing_before, bulk.storing
            bulk.storing = beside.start(_fill(bulk, run, decided, bulk.storing))
            bulk.last_decided = decided
            if any(decided.refused):
                refused = [one.call for one, is_refused in zip(run, decided.refused, strict=True) if is_refused]
                await self._idempotency.release_many(tx, _ROUTE, [call for call in refused if call is not None])
            if before is not None:
                await before

    async def _refuse_taken(self, tx: Transaction, batch: "_Batch") -> None:
        """Puts a refusal in the place of every item whose key was used for something else."""
        mine = batch.mine
        if all(mine):
            return
        # Some may have belonged to an item of this bulk that has been refused since.
        mine = await self._idempotency.claim_many(tx, _ROUTE, batch.calls)
        for place, is_mine in zip(batch.places, mine, strict=True):
            if not is_mine:
                message = "This key was used for another request. Use a new key for a new request."
                batch.items[place] = refuse("/idempotency_key", "idempotency_key_reused", message)


@dataclass(slots=True)
class _Bulk:
    """How far a bulk has come."""

    request_id: UUID
    unread: int
    batches: int = 0
    answers: list[Accepted | Refused] = field(default_factory=list["Accepted | Refused"])
    room: int = MOST_RECIPIENTS
    last_decided: Decided | None = None
    changes: int = 0
    """How often somebody was made or changed by it."""
    nobody_changes: bool = True
    """The batch that was decided last met only people whom it left as they were: the next probably will."""
    storing_before: asyncio.Task[None] | None = None
    storing: asyncio.Task[None] | None = None
    """One at a time, in order. Two may be waited for: with one, the database would stand still between them."""
    stored: int = 0
    """Answers up to this place are final."""

    def next_batch(self) -> int:
        """Small at first and at last: nothing can be decided while the first is read, and nothing is left to do while
        the last is stored."""
        self.batches += 1
        return min(_BATCH, _FIRST * self.batches, max(_FIRST, self.unread // 2))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Batch:
    """What is worth a round trip, and of those with a key whether it is theirs."""

    items: list[BulkItem | Refused]
    places: Sequence[int]
    calls: Sequence[KeyedCall]
    mine: Sequence[bool]
    foreseen: Foreseen | None
    changes: int
    """Of the bulk, when its people were looked up."""


class _Beside:
    """What runs beside the deciding: the reading before it, the storing behind it. What failed first is what is raised,
    and nothing is left running."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()
        self._failure: Exception | None = None

    def start(self, work: Coroutine[None, None, Done]) -> asyncio.Task[Done]:
        task = asyncio.create_task(self._watch(work))
        self._running.add(task)
        task.add_done_callback(self._leave)
        return task

    def _leave(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            # Looked at here, or the loop would complain of what nobody waited for.
            task.exception()

    async def _watch(self, work: Coroutine[None, None, Done]) -> Done:
        try:
            return await work
        except Exception as error:
            self._failure = self._failure or error
            raise

    async def __aenter__(self) -> "_Beside":
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        first = self._failure
        if running := list(self._running):
            for task in running:
                task.cancel()
            await asyncio.wait(running)
        if error is not None and first is not None and first is not error:
            raise first from None


async def _read(slices: Iterator[Sequence[BulkItem | Refused]], enough: int) -> list[BulkItem | Refused]:
    batch: list[BulkItem | Refused] = []
    for items in slices:
        batch += items
        if len(batch) >= enough:
            break
        # The database gets a hearing after each slice.
        await asyncio.sleep(0)
    return batch


async def _fill(bulk: _Bulk, run: Sequence[_Placed], decided: Decided, before: "asyncio.Task[None] | None") -> None:
    if before is not None:
        await before
    for one, answer in zip(run, await decided.store(), strict=True):
        bulk.answers[one.place] = answer
    bulk.stored = run[-1].place + 1


async def _form_until(
    work: asyncio.Task[None], bulk: _Bulk, formed: list[Formed], form: Callable[[int, Accepted | Refused], Formed]
) -> None:
    """There is nothing to be done until the database is done with it, except telling what is known."""
    while not work.done() and len(formed) < bulk.stored:
        first, end = len(formed), min(len(formed) + _FORMED_AT_ONCE, bulk.stored)
        formed += map(form, range(first, end), bulk.answers[first:end])
        await asyncio.sleep(0)
    await work


def _take_room(items: list[BulkItem | Refused], room: int) -> int:
    """Refuses the items for which there is no room any more, and says how much is left."""
    for place, item in enumerate(items):
        if isinstance(item, BulkItem):
            wanted = len(item.command.to)
            if wanted > room:
                message = f"The items of one bulk reach at most {MOST_RECIPIENTS} recipients together; split it."
                items[place] = refuse("/to", "too_many", message)
            else:
                room -= wanted
    return room
