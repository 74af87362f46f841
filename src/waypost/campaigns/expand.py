"""Unfolding batches in the worker: a chunk of recipients, their messages and the place in one short transaction.

Whoever is killed leaves the place of the last chunk, and the next worker goes on there. A recipient who is passed twice
is not written to twice: each message has its place in the batch, for ever.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
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
from waypost.notifications.model import Once, Routing, SubmitCommand
from waypost.notifications.ports import SubmitCall
from waypost.recipients.model import Target
from waypost.tenants.audit import OPERATOR

_log: Final = structlog.stdlib.get_logger()
CHUNK: Final = 1_000
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
        keyring: Keyring,
        clock: Clock,
        chunk: int = CHUNK,
    ) -> None:
        self._work = work
        self._board = board
        self._store = store
        self._batches = batches
        self._submit = submit
        self._keyring = keyring
        self._clock = clock
        self._chunk = chunk

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
        people = await self._store.audience(tx, batch.audience, batch.place, self._chunk)
        if not people:
            await self._store.change(tx, batch.id, BatchState.COMPLETED, now)
            return
        sealed = (await self._keyring.of(tx)).open(batch.message, place_of(tx.tenant_id, batch.id))
        commands = [*_commands(batch, _message.decode(sealed), people, now)]
        with uncollected():
            refused = await self._send(tx, commands)
        await self._store.advance(tx, batch.id, people[-1][0], len(people), refused, now)

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


def _commands(
    batch: Batch, message: BatchMessage, people: Sequence[tuple[UUID, str]], now: datetime
) -> Iterator[SubmitCommand]:
    """One for all who are written to at the same moment."""
    start = batch.started_at or now

    def moment(numbered: tuple[int, tuple[UUID, str]]) -> datetime:
        pace = timedelta(minutes=numbered[0] // batch.per_minute) if batch.per_minute else timedelta()
        return max(start + pace, now)

    for send_at, together in groupby(enumerate(people, batch.expanded), moment):
        yield SubmitCommand(
            to=tuple(Target(id=external_id, must_exist=True) for _, (_, external_id) in together),
            to_is_list=False,
            channels=tuple(CHANNELS[word] for word in message.channels),
            routing=Routing(message.routing),
            template=message.template,
            variables=message.variables,
            category=CATEGORIES[message.category] if message.category else None,
            topic=message.topic,
            priority=PRIORITIES[message.priority],
            send_at=send_at,
            sender=message.sender,
            reply_to=message.reply_to,
            headers=message.headers,
            metadata=message.metadata,
            tracking=message.tracking,
            once=Once(key=batch.dedupe_key, kept_for=None),
        )


def _scope(tenant_id: str) -> Scope:
    return Scope(
        tenant_id=tenant_id,
        mode=TenantMode.LIVE,
        key_id=OPERATOR,
        key_tenant=tenant_id,
        permissions=frozenset({Permission.NOTIFICATIONS_SEND}),
        request_id="batch",
    )
