"""What an event sends at once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from waypost.delivery.gate import Skip
from waypost.delivery.model import State
from waypost.kernel.errors import Refused
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.tenancy import Scope
from waypost.kernel.work import Transaction
from waypost.notifications.model import Accepted, Once, SubmitCommand
from waypost.notifications.ports import SubmitCall
from waypost.recipients.model import Target
from waypost.triggers.model import Sends
from waypost.triggers.ports import ThrottleStore
from waypost.triggers.rules import key_at
from waypost.triggers.started import Message, Started
from waypost.triggers.throttle import Asked, grant, skip_of

MOST_SHOWN: Final = 100
_SLICE: Final = 500


def command_of(
    sends: Sends, once: str, targets: Sequence[Target], variables: JsonObject, withheld: Skip | None = None
) -> SubmitCommand:
    return SubmitCommand(
        to=tuple(targets),
        channels=sends.channels,
        routing=sends.routing,
        after=sends.after.elapsed if sends.after else None,
        template=sends.template,
        variables=dict(variables),
        category=sends.category,
        priority=sends.priority,
        tracking=sends.tracking,
        once=Once(key=once),
        withheld=withheld,
    )


async def submit_all(
    submit: SubmitCall, tx: Transaction, scope: Scope, commands: Sequence[SubmitCommand]
) -> list[Accepted | Refused]:
    """Slice by slice: everyone with a tag may be ten thousand people."""
    answers: list[Accepted | Refused] = []
    for start in range(0, len(commands), _SLICE):
        answers += await submit.many(tx, scope, commands[start : start + _SLICE])
    return answers


class SendNow:
    def __init__(self, *, submit: SubmitCall, throttles: ThrottleStore) -> None:
        self._submit = submit
        self._throttles = throttles

    async def send(self, tx: Transaction, scope: Scope, started: Sequence[Started], now: datetime) -> None:
        orders: list[tuple[Started, Message, SubmitCommand]] = []
        for one in started:
            for message in one.messages:
                if message.sends.schedule is None and message.sends.digest is None and not message.sends.throttle:
                    orders += [(one, message, command) for command in _commands(message, message.targets)]
        orders += await self._throttled(tx, started, now)
        if not orders:
            return
        answers = await submit_all(self._submit, tx, scope, [command for _, _, command in orders])
        refusals: dict[int, tuple[Started, Message, Refused]] = {}
        reached: set[int] = set()
        for (one, message, _), answer in zip(orders, answers, strict=True):
            if isinstance(answer, Refused):
                one.taken.counts.skipped += 1
                refusals.setdefault(id(message), (one, message, answer))
                continue
            reached.add(id(message))
            for made in answer.notifications:
                one.taken.counts.notifications += 1
                one.taken.counts.suppressed += made.status is State.SUPPRESSED
                if len(one.taken.notifications) < MOST_SHOWN:
                    one.taken.notifications.append(made)
        for message_id, (one, message, refusal) in refusals.items():
            # Of everyone with a tag, one for whom it cannot be written does not stop the others.
            if message.sends.who.path is not None or message_id not in reached:
                one.refuse(message.trigger, refusal, message.places)

    async def _throttled(
        self, tx: Transaction, started: Sequence[Started], now: datetime
    ) -> list[tuple[Started, Message, SubmitCommand]]:
        asked: list[Asked] = []
        places: list[tuple[Started, Message, str]] = []
        for one in started:
            for message in one.messages:
                throttle = message.sends.throttle
                if throttle is None or message.sends.schedule is not None or message.sends.digest is not None:
                    continue
                slot = key_at(message.event, throttle.key) or ""
                for person in message.people:
                    asked.append(
                        Asked(
                            trigger_id=message.trigger.id,
                            recipient_id=person.recipient_id,
                            slot=slot,
                            throttle=throttle,
                        )
                    )
                    places.append((one, message, person.external_id))
        orders: list[tuple[Started, Message, SubmitCommand]] = []
        answers = await grant(self._throttles, tx, asked, now)
        for (one, message, name), question, allowed in zip(places, asked, answers, strict=True):
            withheld = None if allowed else skip_of(question.throttle)
            target = Target(id=name, must_exist=True)
            orders += [(one, message, command) for command in _commands(message, [target], withheld)]
        return orders


def _commands(message: Message, targets: Sequence[Target], withheld: Skip | None = None) -> list[SubmitCommand]:
    variables = message.variables
    if message.sends.who.path is None:
        return [command_of(message.sends, message.once, [one], variables, withheld) for one in targets]
    command = command_of(message.sends, message.once, targets, variables, withheld)
    return [replace(command, to_is_list=message.is_list)] if targets else []
