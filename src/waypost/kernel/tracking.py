"""Opens and clicks: what each who may decide about noticing them has said, and who seems to have done it."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

_CLIENT_BITS: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Tracking:
    """None: nothing was said, and whoever is asked next decides."""

    opens: bool | None = None
    clicks: bool | None = None

    def or_else(self, fallback: "Tracking") -> "Tracking":
        return Tracking(
            opens=fallback.opens if self.opens is None else self.opens,
            clicks=fallback.clicks if self.clicks is None else self.clicks,
        )


UNSAID: Final = Tracking()


class Client(IntEnum):
    """Who seems to have asked: all that is kept of what a program says about itself. Stored in
    `tracking_events.client`, so numbers never change meaning."""

    UNKNOWN = 0
    BROWSER = 1
    PROXY = 2
    """Loads pictures on behalf of a mail program, often before anybody reads."""
    SCANNER = 3
    """Looks at every link of a mail."""
    PREFETCH = 4
    """A browser or mail program that loads ahead and says so."""

    @property
    def word(self) -> str:
        return self.name.lower()


def pack_number(link: int, client: Client) -> int:
    """A link and a client in the one small number that a row of the outbox has room for."""
    return link << _CLIENT_BITS | client


def unpack_number(number: int) -> tuple[int, Client]:
    return number >> _CLIENT_BITS, Client(number & (1 << _CLIENT_BITS) - 1)
