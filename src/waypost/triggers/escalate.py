"""What goes on until seen: a message on the first channel, then on the next each time nobody has looked for a while.

The rest of the call waits as a timer of kind `escalation`. Whoever fires it and whoever reports a read lock its row
first, so one of them comes first and the other sees what it did.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from msgspec import structs

from waypost.delivery.ports import DeliveryStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import DataKey, place
from waypost.kernel.work import Transaction
from waypost.notifications.model import Once, Routing, SubmitCommand
from waypost.notifications.ports import FirstStep, NotificationStore, TimelineNote
from waypost.recipients.model import Target
from waypost.triggers.model import Reason, Timer, TimerKind, TimerState
from waypost.triggers.ports import EscalationStore, TimerStore

_call: Final = msgspec.msgpack.Decoder(SubmitCommand)


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What a read has stopped."""

    escalation_ended: bool
    cancelled: tuple[UUID, ...]
    """Messages on other channels that had not gone out yet."""


_NOTHING: Final = Seen(escalation_ended=False, cancelled=())


class Escalations:
    """Implements `notifications.ports.Escalation` and `inbox.ports.Escalations`."""

    def __init__(
        self,
        *,
        timers: TimerStore,
        store: EscalationStore,
        notifications: NotificationStore,
        delivery: DeliveryStore,
        clock: Clock,
    ) -> None:
        self._timers = timers
        self._store = store
        self._notifications = notifications
        self._delivery = delivery
        self._clock = clock

    async def begin(self, tx: Transaction, command: SubmitCommand, steps: Sequence[FirstStep]) -> None:
        now = self._clock.now()
        timers = [self._timer(tx.tenant_id, command, step, now) for step in steps]
        await self._timers.add(tx, timers)
        await self._store.add_messages(
            tx, {step.notification_id: timer.id for step, timer in zip(steps, timers, strict=True)}
        )

    async def seen(self, tx: Transaction, notification_id: UUID) -> None:
        """For whoever learns that a message was read."""
        await self.stop(tx, notification_id)

    async def stop(self, tx: Transaction, notification_id: UUID) -> Seen:
        """A read on any channel ends the rest: what waits is dropped, what has not gone out is taken back."""
        timer_id = await self._store.timer_of(tx, notification_id)
        timer = await self._timers.hold(tx, timer_id) if timer_id is not None else None
        if timer is None:
            return _NOTHING
        waiting = timer.state is TimerState.WAITING
        if waiting:
            ended = replace(timer, state=TimerState.CANCELLED, reason=Reason.SEEN.value, ended_at=self._clock.now())
            await self._timers.put(tx, [ended])
        sent = (await self._store.messages(tx, [timer.id])).get(timer.id, ())
        others = [one for one in sent if one != notification_id]
        cancelled = await self._delivery.cancel(tx, others) if others else set[UUID]()
        return Seen(escalation_ended=waiting, cancelled=tuple(sorted(cancelled)))

    async def report_seen(self, tx: Transaction, scope: Scope, notification_id: UUID) -> Seen:
        """For products that know by themselves that somebody has read a message."""
        scope.demand(Permission.NOTIFICATIONS_SEND)
        found = (await self._notifications.by_ids(tx, [notification_id])).get(notification_id)
        if found is None:
            raise NotFound("There is no such notification.")
        now = self._clock.now()
        note = TimelineNote(
            notification_id=notification_id,
            retention=found.retention,
            id=mint(self._clock),
            event="seen",
            reason="reported",
            detail={},
        )
        await self._notifications.add_notes(tx, now, [note])
        return await self.stop(tx, notification_id)

    def _timer(self, tenant_id: str, command: SubmitCommand, step: FirstStep, now: datetime) -> Timer:
        timer_id = mint(self._clock)
        kept = structs.replace(command, to=(), to_list=None, actor=None, once=None, withheld=None, send_at=None)
        wait = command.after if step.goes_out and command.after is not None else now - now
        return Timer(
            id=timer_id,
            kind=TimerKind.ESCALATION,
            trigger_id=None,
            source=str(step.notification_id),
            recipient_id=step.person.recipient_id,
            subject_key=None,
            slot=None,
            state=TimerState.WAITING,
            reason=None,
            occurred_at=now,
            due=max(step.send_at, now) + wait,
            payload=step.person.key.seal(msgspec.msgpack.encode(kept), _place(tenant_id, timer_id)),
            created_at=now,
        )


def next_call(timer: Timer, key: DataKey, tenant_id: str, recipient: str) -> SubmitCommand | None:
    """The message on the next channel; None where all have been gone through. `generation` counts those that went."""
    call = _call.decode(key.open(timer.payload, _place(tenant_id, timer.id)))
    if timer.generation >= len(call.channels):
        return None
    return structs.replace(
        call,
        to=(Target(id=recipient, must_exist=True),),
        to_is_list=False,
        channels=(call.channels[timer.generation],),
        routing=Routing.ALL,
        after=None,
        once=Once(key=timer.once),
    )


def after_step(timer: Timer, key: DataKey, tenant_id: str, request_id: UUID, now: datetime, *, goes_out: bool) -> Timer:
    """The timer after a step: on its way to the next channel, or at its end."""
    call = _call.decode(key.open(timer.payload, _place(tenant_id, timer.id)))
    gone = timer.generation + 1
    if gone >= len(call.channels):
        return replace(timer, state=TimerState.FIRED, generation=gone, request_id=request_id, ended_at=now)
    wait = call.after if goes_out and call.after is not None else now - now
    return replace(timer, generation=gone, request_id=request_id, due=now + wait, tries=0)


def _place(tenant_id: str, timer_id: UUID) -> str:
    return place("escalation", tenant_id, timer_id)
