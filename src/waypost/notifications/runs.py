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
        news = {
            target.id or (target.fields.email, target.fields.phone): target.fields
            for target in call.command.to
            if target.fields != _SAYS_NOTHING
        }
        if any(said.get(who, fields) != fields for who, fields in news.items()):
            yield run
            run, said = [], {}
        run.append(call)
        said |= news
    if run:
        yield run
