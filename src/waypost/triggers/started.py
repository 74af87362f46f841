"""What the events of a batch start, step by step: each event gathers its messages, timers, digest items and news."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from waypost.kernel.errors import FieldError, Refused
from waypost.kernel.jsontypes import JsonObject
from waypost.recipients.model import Resolved, Target
from waypost.triggers.model import Event, News, Sends, Taken, Trigger
from waypost.triggers.rules import key_at, moved_pointers, targets_of, variables_of

_DATA: Final = "/data"


@dataclass(slots=True)
class Message:
    """What one trigger sends because of one event, before it is known whether now or later."""

    event: Event
    trigger: Trigger
    sends: Sends
    targets: tuple[Target, ...]
    is_list: bool
    subject_key: str | None = None
    people: Sequence[Resolved] = ()
    """Filled in where the recipients must be known before anything is sent."""

    @property
    def late_bound(self) -> bool:
        """Whether its recipients are found when it fires."""
        return self.sends.schedule is not None and self.sends.who.path is None

    @property
    def needs_people(self) -> bool:
        sends = self.sends
        return not self.late_bound and bool(sends.schedule or sends.digest or sends.throttle)

    @property
    def variables(self) -> JsonObject:
        return variables_of(self.sends, self.event)

    @property
    def once(self) -> str:
        return f"evt:{self.event.source}:{self.trigger.id}"

    @property
    def places(self) -> dict[str, str]:
        """Where in the event the fields of the command come from."""
        path = self.sends.who.path
        places = {"/to": path.pointer if path else ""}
        if self.sends.variables is None:
            places["/variables"] = _DATA
        return places


@dataclass(slots=True)
class Started:
    """One event on its way. A refusal ends it: then nothing of it is kept."""

    taken: Taken
    messages: list[Message] = field(default_factory=list[Message])
    news: list[News] = field(default_factory=list[News])
    refusal: Refused | None = None

    def refuse(self, trigger: Trigger, refusal: Refused, places: dict[str, str] | None = None) -> None:
        """Names the trigger: whoever sends events need not be who writes triggers."""
        if self.refusal is None:
            detail = f"The trigger {trigger.key} cannot be followed: {refusal.detail}"
            errors = moved_pointers(refusal.errors, places) if places is not None else refusal.errors
            self.refusal = Refused(detail, code=refusal.code, errors=errors)


def start(taken: Taken, triggers: Sequence[Trigger]) -> Started:
    """Reads an event by the triggers of its type. Those with tags get their recipients later."""
    started = Started(taken)
    event = taken.event
    for trigger in triggers:
        tells, sends = trigger.rule.tells, trigger.rule.sends
        if tells is not None:
            subject = key_at(event, tells.subject)
            if subject is None:
                started.refuse(trigger, _no_subject(tells.subject.pointer))
            else:
                started.news.append(News(subject_key=subject, event=event, cancels=tells.cancels))
        if sends is not None:
            _send(started, trigger, sends)
    return started


def _send(started: Started, trigger: Trigger, sends: Sends) -> None:
    event = started.taken.event
    subject = key_at(event, sends.subject) if sends.subject is not None else None
    if sends.subject is not None and subject is None:
        started.refuse(trigger, _no_subject(sends.subject.pointer))
        return
    targets: tuple[Target, ...] = ()
    is_list = True
    if sends.who.path is not None:
        named = targets_of(event, sends.who.path)
        if named.faults:
            fault = named.faults[0]
            started.refuse(trigger, Refused(fault.message, code=fault.code, errors=named.faults))
            return
        targets, is_list = named.targets, named.is_list
    started.messages.append(
        Message(event=event, trigger=trigger, sends=sends, targets=targets, is_list=is_list, subject_key=subject)
    )


def _no_subject(pointer: str) -> Refused:
    message = "The trigger looks for the subject's key here: a text or a number of at most 200 characters."
    fault = FieldError(pointer=pointer, code="subject_missing", message=message)
    return Refused(message, code=fault.code, errors=[fault])
