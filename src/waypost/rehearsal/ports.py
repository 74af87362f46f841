"""What a rehearsal needs from the outside."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from waypost.rehearsal.model import Return


class TellTime(Protocol):
    """The database's time, which is what we say it is."""

    async def tell(self, moment: datetime) -> None: ...


class Timekeeper(Protocol):
    """Told by the worker how it fares, so that time passes when nothing else happens."""

    async def batch_done(self) -> None: ...

    def work_is_due(self, moment: datetime | None) -> None: ...


TakeBack = Callable[[Sequence[Return]], Awaitable[None]]
"""Hands over what providers send back."""
