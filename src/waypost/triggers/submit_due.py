"""From due timers to messages: what was left open until now is bound, then everything is submitted at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from msgspec import structs

from waypost.delivery.model import State
from waypost.delivery.ports import DeliveryStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import SealBroken
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.notifications.model import Accepted
from waypost.notifications.ports import SubmitCall
from waypost.tenants.audit import OPERATOR
from waypost.triggers.binding import Binding, Due, skipped
from waypost.triggers.collecting import Collecting, Entry
from waypost.triggers.escalate import after_step, next_call
from waypost.triggers.model import Reason, Sends, Throttle, Timer, TimerKind, TimerState
from waypost.triggers.now import submit_all
from waypost.triggers.ports import DigestStore, EscalationStore, ThrottleStore
from waypost.triggers.replan import Opener, Replanner
from waypost.triggers.rules import key_at
from waypost.triggers.throttle import Asked, grant, skip_of


@dataclass(frozen=True, slots=True)
class Fired:
    ends: Sequence[Timer]
    """How timers stand afterwards."""
    to_collect: Sequence[UUID]
    """Those that go on to a digest, in a transaction that holds no windows."""


class SubmitDue:
    def __init__(
        self,
        *,
        submit: SubmitCall,
        bind: Binding,
        digests: DigestStore,
        collecting: Collecting,
        throttles: ThrottleStore,
        escalations: EscalationStore,
        delivery: DeliveryStore,
        replanner: Replanner,
        clock: Clock,
    ) -> None:
        self._submit = submit
        self._bind = bind
        self._digests = digests
        self._collecting = collecting
        self._throttles = throttles
        self._escalations = escalations
        self._delivery = delivery
        self._replanner = replanner
        self._clock = clock

    async def __call__(self, tx: Transaction, timers: Sequence[Timer]) -> Fired:
        """The transaction holds their rows."""
        if not timers:
            return Fired((), ())
        now = self._clock.now()
        due = [Due(timer) for timer in timers]
        opener = await self._replanner.opener(tx, timers)
        await self._bind(tx, due, opener, now)
        to_collect = [one.timer.id for one in due if one.is_collected]
        due = [one for one in due if not one.is_collected]
        await self._bind_escalations(tx, due, opener, now)
        await self._throttle(tx, due, now)
        going = [one for one in due if one.end is None]
        commands = [command for one in going for command in one.commands]
        answers = iter(await submit_all(self._submit, tx, _scope(tx.tenant_id), commands))
        for one in going:
            await self._settle(tx, one, [next(answers) for _ in one.commands], opener, now)
        digests = [one.timer.id for one in due if one.timer.kind is TimerKind.DIGEST]
        await self._digests.drop_items(tx, digests)
        return Fired([one.end or one.timer for one in due], to_collect)

    async def collect(self, tx: Transaction, timers: Sequence[Timer]) -> Sequence[Timer]:
        """How these timers stand afterwards, of which a digest takes what they would have sent."""
        now = self._clock.now()
        due = [Due(timer) for timer in timers]
        opener = await self._replanner.opener(tx, timers)
        await self._bind(tx, due, opener, now)
        entries: list[Entry] = []
        for one in due:
            if one.is_collected and one.sends is not None:
                await self._bind.event(tx, one, one.sends, {}, opener, now)
                entries += await self._entries(tx, one, one.sends)
                one.end = one.end or replace(one.timer, state=TimerState.FIRED, ended_at=now)
        await self._collecting.collect(tx, entries, now)
        return [one.end or one.timer for one in due]

    async def _entries(self, tx: Transaction, one: Due, sends: Sends) -> list[Entry]:
        if one.event is None or one.timer.trigger_id is None or one.end is not None:
            return []
        keys = await self._replanner.keys(tx, [recipient_id for recipient_id, _ in one.people])
        return [
            Entry(
                trigger_id=one.timer.trigger_id,
                sends=sends,
                event=one.event,
                subject_key=one.timer.subject_key,
                recipient_id=recipient_id,
                key=key,
            )
            for recipient_id, key in keys.items()
        ]

    async def _bind_escalations(self, tx: Transaction, due: Sequence[Due], opener: Opener, now: datetime) -> None:
        mine = [one for one in due if one.timer.kind is TimerKind.ESCALATION]
        if not mine:
            return
        messages = await self._escalations.messages(tx, [one.timer.id for one in mine])
        last = {timer_id: sent[-1] for timer_id, sent in messages.items() if sent}
        states = await self._delivery.states(tx, sorted(last.values()))
        for one in mine:
            stands = states.get(last[one.timer.id]) if one.timer.id in last else None
            if stands is not None and stands.state is State.CANCELLED:
                one.end = replace(one.timer, state=TimerState.CANCELLED, reason=Reason.BY_REQUEST.value, ended_at=now)
                continue
            key, name = opener.key(one.timer), opener.name(one.timer)
            if key is None or name is None:
                one.end = skipped(one.timer, Reason.RECIPIENT_ERASED, now)
                continue
            try:
                call = next_call(one.timer, key, opener.tenant_id, name)
            except SealBroken:
                call = None
            if call is None:
                one.end = skipped(one.timer, Reason.FAILED, now)
            else:
                one.commands = [call]

    async def _throttle(self, tx: Transaction, due: Sequence[Due], now: datetime) -> None:
        asked: list[Asked] = []
        places: list[tuple[Due, int]] = []
        for one in due:
            throttle = one.sends.throttle if one.sends else None
            if one.end is not None or throttle is None or one.timer.trigger_id is None:
                continue
            for place, (recipient_id, _) in enumerate(one.people):
                asked.append(
                    Asked(
                        trigger_id=one.timer.trigger_id,
                        recipient_id=recipient_id,
                        slot=_slot(one, throttle),
                        throttle=throttle,
                    )
                )
                places.append((one, place))
        answers = await grant(self._throttles, tx, asked, now)
        for (one, place), question, allowed in zip(places, asked, answers, strict=True):
            if not allowed:
                one.commands[place] = structs.replace(one.commands[place], withheld=skip_of(question.throttle))

    async def _settle(
        self, tx: Transaction, one: Due, answers: Sequence[Accepted | Refused], opener: Opener, now: datetime
    ) -> None:
        refused = next((answer for answer in answers if isinstance(answer, Refused)), None)
        accepted = [answer for answer in answers if isinstance(answer, Accepted)]
        if not accepted:
            one.end = skipped(one.timer, refused.code if refused else Reason.NO_RECIPIENTS, now)
            return
        request_id = accepted[0].request_id
        if one.timer.kind is not TimerKind.ESCALATION:
            reason = refused.code if refused else None
            one.end = replace(one.timer, state=TimerState.FIRED, reason=reason, request_id=request_id, ended_at=now)
            return
        made = accepted[0].notifications
        await self._escalations.add_messages(tx, {each.id: one.timer.id for each in made})
        goes_out = any(each.status is not State.SUPPRESSED for each in made)
        key = opener.key(one.timer)
        if key is not None:
            one.end = after_step(one.timer, key, opener.tenant_id, request_id, now, goes_out=goes_out)


def _slot(one: Due, throttle: Throttle) -> str:
    if one.timer.kind is TimerKind.DIGEST:
        return (one.timer.slot or "") if throttle.key else ""
    return (key_at(one.event, throttle.key) if one.event else None) or ""


def _scope(tenant_id: str) -> Scope:
    """Nobody's key: what was asked for earlier is done now."""
    return Scope(
        tenant_id=tenant_id,
        mode=TenantMode.LIVE,
        key_id=OPERATOR,
        key_tenant=tenant_id,
        permissions=frozenset({Permission.NOTIFICATIONS_SEND}),
        request_id="timer",
    )
