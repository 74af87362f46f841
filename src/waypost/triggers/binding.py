"""What was left open until a timer came due: its trigger as it stands, its event by the latest news, its people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from waypost.kernel.work import Transaction
from waypost.notifications.model import SubmitCommand
from waypost.recipients.model import Target
from waypost.triggers.collecting import read_window
from waypost.triggers.model import Event, News, Reason, Sends, Timer, TimerKind, TimerState, Trigger
from waypost.triggers.now import command_of
from waypost.triggers.ports import Audience, DigestStore, TriggerStore
from waypost.triggers.replan import Opener, Replanner
from waypost.triggers.rules import MOST_RECIPIENTS, is_late, latest, variables_of


@dataclass(slots=True)
class Due:
    """One timer on its way: to commands, or to an end without any."""

    timer: Timer
    sends: Sends | None = None
    event: Event | None = None
    people: Sequence[tuple[UUID, str]] = ()
    """Recipient and caller's id, in the order of `commands`."""
    commands: list[SubmitCommand] = field(default_factory=list[SubmitCommand])
    end: Timer | None = None

    @property
    def is_collected(self) -> bool:
        """Whether a digest takes what it would have sent."""
        return self.end is None and self.timer.kind is TimerKind.TRIGGER and bool(self.sends and self.sends.digest)


class Binding:
    def __init__(
        self, *, triggers: TriggerStore, audience: Audience, digests: DigestStore, replanner: Replanner
    ) -> None:
        self._triggers = triggers
        self._audience = audience
        self._digests = digests
        self._replanner = replanner

    async def __call__(self, tx: Transaction, due: Sequence[Due], opener: Opener, now: datetime) -> None:
        """Fills in what each sends, or that it sends nothing. What goes on to a digest is left as it is."""
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
                one.end = skipped(one.timer, reason or Reason.TRIGGER_GONE, now)
                continue
            one.sends = trigger.rule.sends
            if one.timer.kind is TimerKind.DIGEST:
                await self._digest(tx, one, one.sends, items.get(one.timer.id, ()), opener, now)
            elif one.sends.digest is None:
                await self.event(tx, one, one.sends, news, opener, now)

    async def _digest(
        self, tx: Transaction, one: Due, sends: Sends, items: Sequence[bytes], opener: Opener, now: datetime
    ) -> None:
        key, name = opener.key(one.timer), opener.name(one.timer)
        if key is None or name is None:
            one.end = skipped(one.timer, Reason.RECIPIENT_ERASED, now)
            return
        one.people = [(one.timer.recipient_id or one.timer.id, name)]
        collected = read_window(key, opener.tenant_id, one.timer, items)
        variables = collected.told(sends, await self._replanner.known(tx, collected.subjects))
        if variables is None:
            reason = Reason.CANCELLED_BY_EVENT.value
            one.end = replace(one.timer, state=TimerState.CANCELLED, reason=reason, ended_at=now)
            return
        one.commands = [command_of(sends, one.timer.once, [Target(id=name, must_exist=True)], variables)]

    async def event(
        self,
        tx: Transaction,
        one: Due,
        sends: Sends,
        news: Mapping[str, Sequence[News]],
        opener: Opener,
        now: datetime,
    ) -> None:
        event = opener.event(one.timer)
        if event is None:
            one.end = skipped(one.timer, Reason.RECIPIENT_ERASED, now)
            return
        one.event = latest(event, news.get(one.timer.subject_key or "", ()))
        name = opener.name(one.timer)
        if name is not None and one.timer.recipient_id is not None:
            one.people = [(one.timer.recipient_id, name)]
        else:
            one.people = await self._audience.tagged(tx, sends.who.tags, MOST_RECIPIENTS + 1)
        if not one.people or len(one.people) > MOST_RECIPIENTS:
            reason = Reason.TOO_MANY_RECIPIENTS if one.people else Reason.NO_RECIPIENTS
            one.end = skipped(one.timer, reason, now)
            return
        variables = variables_of(sends, one.event)
        one.commands = [
            command_of(sends, one.timer.once, [Target(id=each, must_exist=True)], variables) for _, each in one.people
        ]


def skipped(timer: Timer, reason: str, now: datetime) -> Timer:
    return replace(timer, state=TimerState.SKIPPED, reason=str(reason), ended_at=now)


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
