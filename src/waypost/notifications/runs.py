"""Calls that are taken in together must not contradict each other about anybody."""

from collections.abc import Iterable, Iterator
from typing import Final, Protocol, TypeVar

from waypost.notifications.model import SubmitCommand
from waypost.recipients.model import RecipientFields

_SAYS_NOTHING: Final = RecipientFields()


class HasCommand(Protocol):
    @property
    def command(self) -> SubmitCommand: ...


Each = TypeVar("Each", bound=HasCommand)


def runs(calls: Iterable[Each]) -> Iterator[list[Each]]:
    """Cuts before a call that says something else about someone than one before it: each counts in its turn."""
    run: list[Each] = []
    said: dict[object, RecipientFields] = {}
    for call in calls:
        news = [
            (target.id or (target.fields.email, target.fields.phone), target.fields)
            for target in call.command.to
            if target.fields != _SAYS_NOTHING
        ]
        for who, fields in news:
            if who in said and said[who] != fields:
                yield run
                run, said = [], {}
                break
        run.append(call)
        said.update(news)
    if run:
        yield run
