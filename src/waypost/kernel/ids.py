"""Ids: the 128 bits of a ULID as a uuid inside, `prefix_ULID` at the edges.

A uuid column sorts by time this way and partitions are cut by it, so an id alone finds its partition.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, cast
from uuid import UUID, SafeUUID

from ulid import ULID

from waypost.kernel.clock import Clock
from waypost.kernel.entropy import Pieces

# A ULID's first digit holds only three bits; a year beyond 9999 cannot be a moment of ours.
_ULID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")
_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = [first + second for first in _DIGITS for second in _DIGITS]
_FORTY_BITS: Final = (1 << 40) - 1
_EARLIEST: Final = datetime.fromtimestamp(0, UTC)
_entropy: Final = Pieces(10)
_blank: Final = object.__new__
# Written into its slots: a UUID refuses to be changed, and the usual way around that costs three times as much.
_write_number: Final = cast("Callable[[UUID, int], None]", vars(UUID)["int"].__set__)
_write_safety: Final = cast("Callable[[UUID, SafeUUID], None]", vars(UUID)["is_safe"].__set__)
_UNKNOWN_SAFETY: Final = SafeUUID.unknown
_LATEST_MS: Final = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp() * 1000)


def mint(clock: Clock) -> UUID:
    """A new id whose time is the clock's."""
    return mint_at(clock.now())


def mint_at(moment: datetime) -> UUID:
    return id_at(moment, _entropy.take())


def id_at(moment: datetime, entropy: bytes) -> UUID:
    # Written into a blank one: its own way to make one looks at six spellings of an id, in twice the time.
    made = _blank(UUID)
    _write_number(made, _first_number_at(moment) | int.from_bytes(entropy, "big"))
    _write_safety(made, _UNKNOWN_SAFETY)
    return made


@lru_cache(maxsize=16)
def _first_number_at(moment: datetime) -> int:
    """Remembered: a batch mints all of its ids at one moment."""
    return int(moment.timestamp() * 1000) << 80


def first_id_at(moment: datetime) -> UUID:
    """The lowest id of a moment: a partition's bound. No id is older than 1970: what lies before has the first."""
    return id_at(max(moment, _EARLIEST), bytes(10))


def moment_of(value: UUID) -> datetime:
    return datetime.fromtimestamp(int.from_bytes(value.bytes[:6], "big") / 1000, tz=UTC)


def _spell(value: UUID) -> str:
    # Ten bits at a time, of two halves: the library needs much longer for it, and so does a loop over shifts of all 128
    # bits. Ids of one batch begin alike.
    number = value.int
    high, low = number >> 40 & _FORTY_BITS, number & _FORTY_BITS
    return (
        f"{_spell_moment(number >> 80)}"
        f"{_PAIRS[high >> 30]}{_PAIRS[high >> 20 & 1023]}{_PAIRS[high >> 10 & 1023]}{_PAIRS[high & 1023]}"
        f"{_PAIRS[low >> 30]}{_PAIRS[low >> 20 & 1023]}{_PAIRS[low >> 10 & 1023]}{_PAIRS[low & 1023]}"
    )


@lru_cache(maxsize=64)
def _spell_moment(milliseconds: int) -> str:
    return "".join([_PAIRS[milliseconds >> shift & 1023] for shift in (40, 30, 20, 10, 0)])


# A message spells its id three times on its way out: those of a few batches are remembered.
show_ulid: Final = lru_cache(maxsize=4_000)(_spell)


def show_once(prefix: str, value: UUID) -> str:
    """As `show`, for ids of which there are many and each is told once: to remember them takes longer than to spell
    them."""
    return f"{prefix}_{_spell(value)}"


def show(prefix: str, value: UUID) -> str:
    return f"{prefix}_{show_ulid(value)}"


def read(prefix: str, text: str) -> UUID | None:
    """The id that a caller wrote, or None where it cannot be one of ours (one spelling only)."""
    head, mark, tail = text.partition("_")
    if head != prefix or not mark or not _ULID.match(tail):
        return None
    value = UUID(bytes=ULID.from_str(tail).bytes)
    if int.from_bytes(value.bytes[:6], "big") > _LATEST_MS:
        return None
    return value
