"""Many calls to send in one: each accepted or refused on its own, by the rules of a single one, in one transaction.

They come slice by slice, so that only one slice is unpacked at a time. All that is accepted belongs to one request.
"""

from collections.abc import Iterable, Sequence
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
from waypost.notifications.ports import NotificationStore, SubmitCall
from waypost.notifications.runs import runs
from waypost.tenants.idempotency import Idempotency, KeyedCall

MOST_RECIPIENTS: Final = 10_000
_ROUTE: Final = "an item of a bulk"


class BulkItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    command: SubmitCommand
    call: KeyedCall | None
    """None where the item has no idempotency key."""


class _Placed(msgspec.Struct, frozen=True, gc=False):
    place: int
    command: SubmitCommand


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
        for items in slices:
            given = list(items)
            room = _take_room(given, room)
            answers += await self._add(tx, scope, request_id, given)
        made = [one.id for answer in answers if isinstance(answer, Accepted) for one in answer.notifications]
        if not any(isinstance(answer, Accepted) for answer in answers):
            return BulkAnswer(request_id=None, answers=answers)
        await self._store.add_request(tx, request_id, scope.key_id, made)
        return BulkAnswer(request_id=request_id, answers=answers)

    async def _add(
        self, tx: Transaction, scope: Scope, request_id: UUID, items: list[BulkItem | Refused]
    ) -> Sequence[Accepted | Refused]:
        await self._claim_keys(tx, items)
        answers: list[Accepted | Refused | None] = [item if isinstance(item, Refused) else None for item in items]
        for run in runs(_Placed(place, item.command) for place, item in enumerate(items) if isinstance(item, BulkItem)):
            commands = [one.command for one in run]
            for one, answer in zip(run, await self._submit.many(tx, scope, commands, part_of=request_id), strict=True):
                answers[one.place] = answer
        refused = [
            item.call
            for item, answer in zip(items, answers, strict=True)
            if isinstance(item, BulkItem) and item.call is not None and isinstance(answer, Refused)
        ]
        await self._idempotency.release_many(tx, _ROUTE, refused)
        return [answer for answer in answers if answer is not None]

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
