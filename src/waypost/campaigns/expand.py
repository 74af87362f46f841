"""Unfolding batches in the worker: a chunk of recipients, their messages and the place in one short transaction.

Whoever is killed leaves the place of the last chunk, and the next worker goes on there. A recipient who is passed twice
is not written to twice: each message has its place in the batch, for ever.

The first few go the way of every call, one by one, with the content tried on each. Where it fits them all, those after
them are written to by the store (`notifications.fan_out`), as far as the gate says the same to them all; where it does
not fit somebody, everybody goes the first way, and those whom it does not fit are left out and counted. Whom it proves
not to fit later is told when their message is made: it ends as failed, with the reason.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec
import structlog
from msgspec.structs import replace

from waypost.campaigns.batches import Batches, place_of
from waypost.campaigns.model import Batch, BatchMessage, BatchState
from waypost.campaigns.ports import BatchBoard, BatchStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Refused, Unavailable
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.uncollected import uncollected
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS, PRIORITIES, TenantMode
from waypost.kernel.work import Transaction, Work
from waypost.notifications.fan_out import FanOut, Kinds
from waypost.notifications.model import Once, Routing, SubmitCommand
from waypost.notifications.ports import SubmitCall
from waypost.notifications.rules import MOST_TARGETS
from waypost.recipients.model import Target
from waypost.tenants.audit import OPERATOR

_log: Final = structlog.stdlib.get_logger()
CHUNK: Final = 5_000
FIRST: Final = 20
"""On whom the message is tried."""
_MOST_BATCHES: Final = 200
MOST_FAILURES: Final = 5
_AT_ONCE: Final = 20
_PAUSE: Final = timedelta(seconds=30)
_message: Final = msgspec.msgpack.Decoder(BatchMessage)


class Expansion:
    def __init__(
        self,
        *,
        work: Work,
        board: BatchBoard,
        store: BatchStore,
        batches: Batches,
        submit: SubmitCall,
        fan_out: FanOut,
        keyring: Keyring,
        clock: Clock,
        chunk: int = CHUNK,
    ) -> None:
        self._work = work
        self._board = board
        self._store = store
        self._batches = batches
        self._submit = submit
        self._fan_out = fan_out
        self._keyring = keyring
        self._clock = clock
        self._chunk = chunk
        self._kinds: OrderedDict[UUID, Kinds] = OrderedDict()

    async def work_off(self) -> None:
        """Turn by turn, a chunk of each batch that is due, until none is."""
        while due := await self._board.due(_AT_ONCE):
            done = [await self._step(tenant_id, batch_id) for tenant_id, batch_id in due]
            if not any(done):
                return

    async def _step(self, tenant_id: str, batch_id: UUID) -> bool:
        try:
            async with self._work.begin(tenant_id) as tx:
                batch = await self._store.lock(tx, batch_id, wait=False)
                if batch is None:
                    return False
                await self._go_on(tx, batch)
                return True
        except Unavailable:
            raise
        except Exception as error:
            _log.error("batch failed", action="batch_failed", kind=type(error).__name__, tenant=tenant_id)
            await self._note_failure(tenant_id, batch_id)
            return False

    async def _go_on(self, tx: Transaction, batch: Batch) -> None:
        now = self._clock.now()
        match batch.state:
            case BatchState.SCHEDULED:
                await self._store.change(tx, batch.id, BatchState.RUNNING, now, next_step_at=now)
            case BatchState.RUNNING:
                await self._expand(tx, batch, now)
            case BatchState.CANCELLED:
                again = now if await self._batches.take_back(tx, batch) else None
                await self._store.change(tx, batch.id, BatchState.CANCELLED, now, next_step_at=again)
            case state:
                await self._store.change(tx, batch.id, state, now)

    async def _expand(self, tx: Transaction, batch: Batch, now: datetime) -> None:
        kinds = self._kinds.get(batch.id)
        size = min(self._chunk, FIRST) if kinds is None else self._chunk
        people = await self._store.audience(tx, batch.audience, batch.place, _in_this_minute(batch, size))
        if not people:
            await self._store.change(tx, batch.id, BatchState.COMPLETED, now)
            self._kinds.pop(batch.id, None)
            return
        sealed = (await self._keyring.of(tx)).open(batch.message, place_of(tx.tenant_id, batch.id))
        command = _command(batch, _message.decode(sealed), now)
        kinds = kinds or Kinds()
        with uncollected():
            left = None
            if batch.refused == 0:
                left = await self._fan_out(tx, _scope(tx.tenant_id), command, people, kinds)
            if left is None:
                left = await self._store.names(tx, people)
            refused = await self._send(tx, [*_addressed(command, left)])
        await self._store.advance(tx, batch.id, people[-1], len(people), refused, now)
        self._remember(batch.id, kinds)

    def _remember(self, batch_id: UUID, kinds: Kinds) -> None:
        """Whatever a step that fails has learnt is still true: whom it was about is looked at again."""
        self._kinds[batch_id] = kinds
        self._kinds.move_to_end(batch_id)
        if len(self._kinds) > _MOST_BATCHES:
            self._kinds.popitem(last=False)

    async def _send(self, tx: Transaction, commands: Sequence[SubmitCommand]) -> int:
        """How many recipients could not be written to. Where one of them is in the way of a whole command, each is sent
        theirs alone: what was refused has left no trace."""
        answers = await self._submit.many(tx, _scope(tx.tenant_id), commands)
        refused = [command for command, answer in zip(commands, answers, strict=True) if isinstance(answer, Refused)]
        apart = [replace(command, to=(one,)) for command in refused if len(command.to) > 1 for one in command.to]
        alone = sum(len(command.to) == 1 for command in refused)
        return alone + (await self._send(tx, apart) if apart else 0)

    async def _note_failure(self, tenant_id: str, batch_id: UUID) -> None:
        async with self._work.begin(tenant_id) as tx:
            batch = await self._store.lock(tx, batch_id, wait=True)
            now = self._clock.now()
            if batch is not None and batch.state is BatchState.RUNNING and batch.failures + 1 >= MOST_FAILURES:
                await self._store.change(tx, batch_id, BatchState.FAILED, now, reason="step_failed")
            elif batch is not None:
                await self._store.note_failure(tx, batch_id, now + _PAUSE)


def _in_this_minute(batch: Batch, at_most: int) -> int:
    """All of a chunk are written to at the same moment, so it ends where the minute is full."""
    return min(at_most, batch.per_minute - batch.expanded % batch.per_minute) if batch.per_minute else at_most


def _command(batch: Batch, message: BatchMessage, now: datetime) -> SubmitCommand:
    """What is sent, to nobody yet."""
    pace = timedelta(minutes=batch.expanded // batch.per_minute) if batch.per_minute else timedelta()
    return SubmitCommand(
        to=(),
        to_is_list=False,
        channels=tuple(CHANNELS[word] for word in message.channels),
        routing=Routing(message.routing),
        template=message.template,
        content=message.content,
        variables=message.variables,
        category=CATEGORIES[message.category] if message.category else None,
        topic=message.topic,
        priority=PRIORITIES[message.priority],
        send_at=max((batch.started_at or now) + pace, now),
        sender=message.sender,
        reply_to=message.reply_to,
        headers=message.headers,
        metadata=message.metadata,
        tracking=message.tracking,
        once=Once(key=batch.dedupe_key, kept_for=None),
    )


def _addressed(command: SubmitCommand, external_ids: Sequence[str]) -> Iterator[SubmitCommand]:
    """One for as many as a call may name."""
    for start in range(0, len(external_ids), MOST_TARGETS):
        those = external_ids[start : start + MOST_TARGETS]
        yield replace(command, to=tuple(Target(id=one, must_exist=True) for one in those))


def _scope(tenant_id: str) -> Scope:
    return Scope(
        tenant_id=tenant_id,
        mode=TenantMode.LIVE,
        key_id=OPERATOR,
        key_tenant=tenant_id,
        permissions=frozenset({Permission.NOTIFICATIONS_SEND}),
        request_id="batch",
    )
