"""Times come in with any offset; inside, and in every answer, they are UTC."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec
from msgspec.inspect import DateTimeType, Metadata, StructType, Type, UnionType, type_info

from waypost.kernel.errors import refuse

Read = TypeVar("Read")

BEYOND: Final = "Lies beyond the years that a calendar has."


def in_utc(read: Read) -> Read:
    """The same request, its own times in UTC. Refuses a time that exists only with its offset."""
    for attribute, name in _times_of(type(read)):
        moment: object = getattr(read, attribute)
        if isinstance(moment, datetime) and moment.tzinfo is not UTC:
            msgspec.structs.force_setattr(read, attribute, utc(moment, f"/{name}"))  # type: ignore[arg-type]
    return read


def utc(moment: datetime, pointer: str) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise refuse(pointer, "invalid_time", BEYOND) from None


@lru_cache(maxsize=1024)
def _times_of(shape: type[Any]) -> tuple[tuple[str, str], ...]:
    """The fields that hold times, by attribute and by the name they have on the wire."""
    found = type_info(shape)
    if not isinstance(found, StructType):
        return ()
    return tuple((field.name, field.encode_name) for field in found.fields if _is_time(field.type))


def _is_time(found: Type) -> bool:
    if isinstance(found, Metadata):
        return _is_time(found.type)
    return any(map(_is_time, found.types)) if isinstance(found, UnionType) else isinstance(found, DateTimeType)
