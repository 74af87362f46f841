"""Which events an endpoint listens to: `notification.dispatched`, `notification.*`, or `*`."""

from collections.abc import Sequence
from typing import Final

from waypost.kernel.errors import FieldError, Refused, refuse
from waypost.outbox.catalogue import CATALOGUE

MOST_PATTERNS: Final = 50
EVERYTHING: Final = "*"
_TYPES: Final = ", ".join(sorted(entry.name for entry in CATALOGUE.values() if entry.subscribable))
_UNKNOWN: Final = f"Not a type of event. Write `notification.*` for all of a kind, `*` for all, or one of {_TYPES}."


def read_patterns(given: Sequence[str], pointer: str) -> tuple[str, ...]:
    if not given:
        raise refuse(pointer, "required", "Name at least one type of event; `*` stands for all.")
    if len(given) > MOST_PATTERNS:
        raise refuse(pointer, "too_many", f"Name at most {MOST_PATTERNS} types of events.")
    errors = [
        FieldError(pointer=f"{pointer}/{index}", code="unknown_event", message=_UNKNOWN)
        for index, pattern in enumerate(given)
        if not _matches_any(pattern)
    ]
    if errors:
        raise Refused(_UNKNOWN, code="unknown_event", errors=errors)
    return tuple(dict.fromkeys(given))


def kinds_of(patterns: Sequence[str]) -> frozenset[int]:
    """The kinds these patterns stand for, new ones of the catalogue included."""
    return frozenset(
        kind
        for kind, entry in CATALOGUE.items()
        if entry.subscribable and any(_covers(pattern, entry.name) for pattern in patterns)
    )


def _matches_any(pattern: str) -> bool:
    return any(entry.subscribable and _covers(pattern, entry.name) for entry in CATALOGUE.values())


def _covers(pattern: str, name: str) -> bool:
    return pattern in (EVERYTHING, name) or (pattern.endswith(".*") and name.startswith(pattern[:-1]))
