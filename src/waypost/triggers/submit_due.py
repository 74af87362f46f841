"""From due timers to messages: all that was left open until now is bound here, then everything is submitted at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from msgspec import structs

from waypost.delivery.model import State
from waypost.delivery.ports import DeliveryStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Refused
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import SealBroken
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.notifications.model import Accepted, SubmitCommand
from waypost.notifications.ports import SubmitCall
from waypost.notifications.rules import VARIABLES_BYTES
from waypost.recipients.model import Target
from waypost.tenants.audit import OPERATOR
from waypost.triggers import sealing
from waypost.triggers.escalate import after_step, next_call
from waypost.triggers.model import Event, News, Reason, Sends, Throttle, Timer, TimerKind, TimerState, Trigger
from waypost.triggers.now import command_of, submit_all
from waypost.triggers.ports import (
    Audience,
    DigestStore,
    EscalationStore,
    ThrottleStore,
    TriggerStore,
)
from waypost.triggers.replan import Opener, Replanner
from waypost.triggers.rules import MOST_RECIPIENTS, is_late, key_at, latest, variables_of, within
from waypost.triggers.throttle import Asked, grant, skip_of

_ROOM: Final = VARIABLES_BYTES - 1_024


@dataclass(slots=True)
class _Due:
    """One timer on its way: to commands, or to an end without any."""

    timer: Timer
    sends: Sends | None = None
    event: Event | None = None
    people: Sequence[tuple[UUID, str]] = ()
    """Recipient and caller's id, in the order of `commands`."""
    commands: list[SubmitCommand] = field(default_factory=list[SubmitCommand])
    end: Timer | None = None


class SubmitDue:
    def __init__(
        self,
        *,
        submit: SubmitCall,
        triggers: TriggerStore,
        audience: Audience,
        digests: DigestStore,
        throttles: ThrottleStore,
        escalations: EscalationStore,
        delivery: DeliveryStore,
        replanner: Replanner,
        clock: Clock,
    ) -> None:
        self._submit = submit
        self._triggers = triggers
        self._audience = audience
        self._digests = digests
        self._throttles = throttles
        self._escalations = escalations
        self._delivery = delivery
        self._replanner = replanner
        self._clock = clock

    async def __call__(self, tx: Transaction, timers: Sequence[Timer]) -> Sequence[Timer]:
        """How each of these timers stands afterwards. The transaction holds their rows."""
        if not timers:
            return []
        now = self._clock.now()
        due = [_Due(timer) for timer in timers]
        opener = await self._replanner.opener(tx, timers)
        await self._bind_triggers(tx, due, opener, now)
        await self._bind_escalations(tx, due, opener, now)
        await self._throttle(tx, due, now)
        going = [one for one in due if one.end is None]
        commands = [command for one in going for command in one.commands]
        answers = iter(await submit_all(self._submit, tx, _scope(tx.tenant_id), commands))
        for one in going:
            await self._settle(tx, one, [next(answers) for _ in one.commands], opener, now)
        digests = [one.timer.id for one in due if one.timer.kind is TimerKind.DIGEST]
        await self._digests.drop_items(tx, digests)
        return [one.end or one.timer for one in due]

    async def _bind_triggers(self, tx: Transaction, due: Sequence[_Due], opener: Opener, now: datetime) -> None:
        mine = [one for one in due if one.timer.trigger_id is not None]
        triggers = await self._triggers.standing_for(
            tx, sorted({one.timer.trigger_id for one in mine if one.timer.trigger_id})
        )
        subjects = {one.timer.subject_key for one in mine if one.timer.subject_key is not None}
        news = await self._replanner.known(tx, subjects)
        items = await self._digests.items(tx, [one.timer.id for one in mine if one.timer.kind is TimerKind.DIGEST])
        for one in mine:
            trigger = triggers.get(one.timer.trigger_id) if one.timer.trigger_id else None
            reason = _unwanted(one.timer, trigger, opener, now)
            if reason is not None or trigger is None or trigger.rule.sends is None:
                one.end = _skipped(one.timer, reason or Reason.TRIGGER_GONE, now)
                continue
            one.sends = trigger.rule.sends
            if one.timer.kind is TimerKind.DIGEST:
                self._bind_digest(one, one.sends, items.get(one.timer.id, ()), opener, now)
            else:
                await self._bind_event(tx, one, one.sends, news, opener, now)

    def _bind_digest(self, one: _Due, sends: Sends, items: Sequence[bytes], opener: Opener, now: datetime) -> None:
        key, name = opener.key(one.timer), opener.name(one.timer)
        if key is None or name is None:
            one.end = _skipped(one.timer, Reason.RECIPIENT_ERASED, now)
            return
        one.people = [(one.timer.recipient_id or one.timer.id, name)]
        events = [sealing.open_item(key, opener.tenant_id, one.timer.id, sealed) for sealed in items]
        variables: JsonObject = {"events": list(within(events, _ROOM)), "count": one.timer.collected}
        one.commands = [command_of(sends, one.timer.once, [Target(id=name, must_exist=True)], variables)]

    async def _bind_event(
        self,
        tx: Transaction,
        one: _Due,
        sends: Sends,
        news: Mapping[str, Sequence[News]],
        opener: Opener,
        now: datetime,
    ) -> None:
        event = opener.event(one.timer)
        if event is None:
            one.end = _skipped(one.timer, Reason.RECIPIENT_ERASED, now)
            return
        one.event = latest(event, news.get(one.timer.subject_key or "", ()))
        name = opener.name(one.timer)
        if name is not None and one.timer.recipient_id is not None:
            one.people = [(one.timer.recipient_id, name)]
        else:
            one.people = await self._audience.tagged(tx, sends.who.tags, MOST_RECIPIENTS + 1)
        if not one.people or len(one.people) > MOST_RECIPIENTS:
            reason = Reason.TOO_MANY_RECIPIENTS if one.people else Reason.NO_RECIPIENTS
            one.end = _skipped(one.timer, reason, now)
            return
        variables = variables_of(sends, one.event)
        one.commands = [
            command_of(sends, one.timer.once, [Target(id=each, must_exist=True)], variables) for _, each in one.people
        ]

    async def _bind_escalations(self, tx: Transaction, due: Sequence[_Due], opener: Opener, now: datetime) -> None:
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
                one.end = _skipped(one.timer, Reason.RECIPIENT_ERASED, now)
                continue
            try:
                call = next_call(one.timer, key, opener.tenant_id, name)
            except SealBroken:
                call = None
            if call is None:
                one.end = _skipped(one.timer, Reason.FAILED, now)
            else:
                one.commands = [call]

    async def _throttle(self, tx: Transaction, due: Sequence[_Due], now: datetime) -> None:
        asked: list[Asked] = []
        places: list[tuple[_Due, int]] = []
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
        self, tx: Transaction, one: _Due, answers: Sequence[Accepted | Refused], opener: Opener, now: datetime
    ) -> None:
        refused = next((answer for answer in answers if isinstance(answer, Refused)), None)
        accepted = [answer for answer in answers if isinstance(answer, Accepted)]
        if not accepted:
            one.end = _skipped(one.timer, refused.code if refused else Reason.NO_RECIPIENTS, now)
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


def _unwanted(timer: Timer, trigger: Trigger | None, opener: Opener, now: datetime) -> Reason | None:
    if trigger is None or trigger.rule.sends is None:
        return Reason.TRIGGER_GONE
    if not trigger.enabled:
        return Reason.TRIGGER_DISABLED
    if timer.recipient_id is not None and opener.name(timer) is None:
        return Reason.RECIPIENT_ERASED
    if timer.due is not None and is_late(timer.due, trigger.rule.sends, now):
        return Reason.TOO_LATE
    return None


def _slot(one: _Due, throttle: Throttle) -> str:
    if one.timer.kind is TimerKind.DIGEST:
        return one.timer.slot or ""
    return (key_at(one.event, throttle.key) if one.event else None) or ""


def _skipped(timer: Timer, reason: str, now: datetime) -> Timer:
    return replace(timer, state=TimerState.SKIPPED, reason=str(reason), ended_at=now)


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
