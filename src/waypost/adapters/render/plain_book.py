"""The contents that do nothing but print values, as far as a child has told of them: their messages are made here."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Generic, Protocol, TypeVar
from uuid import UUID

from waypost.templates.ports import Instrument, RenderJob

_OTHERS: Final = 4096
"""What a content takes besides its literals."""
_IN_A_ROW: Final = 10


class Plain(Protocol):
    @property
    def size(self) -> int: ...


Maker = TypeVar("Maker", bound=Plain)
Made = TypeVar("Made")
_Place = tuple[str, UUID, Instrument | None]


class PlainBook(Generic[Maker]):
    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._makers: OrderedDict[_Place, Maker] = OrderedDict()
        self._bytes = 0

    def keep(self, job: RenderJob, maker: Maker) -> None:
        place = _place_of(job)
        if place not in self._makers:
            self._makers[place] = maker
            self._bytes += maker.size + _OTHERS
            while self._bytes > self._most_bytes and len(self._makers) > 1:
                self._bytes -= self._makers.popitem(last=False)[1].size + _OTHERS

    def of(self, job: RenderJob) -> Maker | None:
        place = _place_of(job)
        maker = self._makers.get(place)
        if maker is not None:
            self._makers.move_to_end(place)
        return maker


def _place_of(job: RenderJob) -> _Place:
    """The same content, tracked in another way, is another."""
    return (job.tenant_id, job.version_id, job.instrument)


async def by_hand(
    jobs: Sequence[RenderJob], book: PlainBook[Maker], make: Callable[[Maker, RenderJob], Made | None]
) -> list[Made | None]:
    """What can be made here; None for each that a child must be asked for."""
    made = list[Made | None]()
    last, maker = None, None
    for number, job in enumerate(jobs):
        if number % _IN_A_ROW == _IN_A_ROW - 1:
            await asyncio.sleep(0)  # others on this loop get their time in between
        if last is None or not _are_alike(job, last):
            last, maker = job, book.of(job)
        made.append(None if maker is None else make(maker, job))
    return made


def _are_alike(one: RenderJob, other: RenderJob) -> bool:
    """Neighbours mostly share their content, and looking it up is not free."""
    return (
        one.version_id is other.version_id and one.instrument is other.instrument and one.tenant_id == other.tenant_id
    )
