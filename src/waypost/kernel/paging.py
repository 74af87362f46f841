"""Lists in pages: `limit` items after an opaque cursor, and no exact counts.

A cursor names the list it belongs to, so one taken from another list is refused instead of answering nonsense.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from uuid import UUID

from waypost.kernel.errors import FieldError, MalformedRequest, Refused

Item = TypeVar("Item")
Shown = TypeVar("Shown")

DEFAULT_LIMIT: Final = 20
HIGHEST_LIMIT: Final = 100
_VERSION: Final = "1"
_LONGEST_CURSOR: Final = 1_000
_MOST_DIGITS: Final = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Page(Generic[Item]):
    items: Sequence[Item]
    next: str | None
    """The cursor of the following page, None on the last one."""

    def map(self, show: Callable[[Item], Shown]) -> "Page[Shown]":
        return Page(items=[show(item) for item in self.items], next=self.next)


def page_of(found: Sequence[Item], limit: int, cursor_of: Callable[[Item], str]) -> Page[Item]:
    """A page out of up to `limit + 1` found items: the extra one only tells that there is more."""
    items = found[:limit]
    return Page(items=items, next=cursor_of(items[-1]) if len(found) > limit else None)


def read_limit(limit: int | None) -> int:
    if limit is None:
        return DEFAULT_LIMIT
    if not 1 <= limit <= HIGHEST_LIMIT:
        raise _refusal(Refused, "/limit", "out_of_range", f"The limit is a number from 1 to {HIGHEST_LIMIT}.")
    return limit


def encode_cursor(listing: str, position: str) -> str:
    text = f"{_VERSION}\n{listing}\n{position}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(listing: str, cursor: str | None) -> str | None:
    """The position a cursor of this list stands for; None for the first page."""
    if cursor is None:
        return None
    if len(cursor) > _LONGEST_CURSOR or not cursor.isascii():
        raise bad_cursor()
    try:
        padded = cursor.replace("-", "+").replace("_", "/") + "=" * (-len(cursor) % 4)
        version, named, position = base64.b64decode(padded, validate=True).decode().split("\n", 2)
    except (binascii.Error, ValueError) as broken:
        raise bad_cursor() from broken
    if version != _VERSION or named != listing or "\0" in position:
        raise bad_cursor()
    return position


def encode_id_cursor(listing: str, last: UUID) -> str:
    return encode_cursor(listing, last.hex)


def decode_id_cursor(listing: str, cursor: str | None) -> UUID | None:
    position = decode_cursor(listing, cursor)
    if position is None:
        return None
    try:
        return UUID(hex=position)
    except ValueError as broken:
        raise bad_cursor() from broken


def decode_number_cursor(listing: str, cursor: str | None) -> int | None:
    position = decode_cursor(listing, cursor)
    if position is None:
        return None
    if not position.isascii() or not position.isdecimal() or len(position) > _MOST_DIGITS:
        raise bad_cursor()
    return int(position)


def bad_cursor() -> MalformedRequest:
    """For positions that only their own list can read."""
    message = "This is not a cursor of this list. Take it from `next` of the page before, or leave it out."
    return _refusal(MalformedRequest, "/cursor", "invalid_cursor", message)


_Refusal = TypeVar("_Refusal", bound=Refused)


def _refusal(kind: type[_Refusal], pointer: str, code: str, message: str) -> _Refusal:
    return kind(message, code=code, errors=[FieldError(pointer=pointer, code=code, message=message)])
