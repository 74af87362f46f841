"""What differs between two versions: field by field, and as text."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from waypost.templates.model import JsonValue, Written

_CONTEXT_LINES: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    pointer: str
    """Into the version as the API shows it."""
    before: JsonValue
    """None where it was added."""
    after: JsonValue
    unified: str | None
    """Line by line, where both are text."""


def diff_versions(before: Written, after: Written) -> list[Change]:
    old, new = flatten(before), flatten(after)
    return [
        Change(pointer=pointer, before=old.get(pointer), after=new.get(pointer), unified=_unified(pointer, old, new))
        for pointer in dict.fromkeys((*old, *new))
        if old.get(pointer) != new.get(pointer)
    ]


def unified(before: Written, after: Written) -> str:
    """All changes as one patch to read."""
    changes = diff_versions(before, after)
    return "".join(change.unified or _replaced(change) for change in changes)


def flatten(written: Written) -> dict[str, JsonValue]:
    """The parts that an author writes, by pointer; what is not there has no pointer."""
    return {pointer: value for pointer, value in _parts(written) if value not in (None, [], {}, "")}


def _parts(written: Written) -> Iterator[tuple[str, JsonValue]]:
    yield "/profile", written.profile.value
    yield "/layout", written.layout
    yield "/fallback_chain", list(written.fallback_chain)
    for locale, source in sorted(written.locales.items()):
        yield f"/locales/{locale}/subject", source.subject
        yield f"/locales/{locale}/preheader", source.preheader
        yield f"/locales/{locale}/format", source.format.value
        yield f"/locales/{locale}/direction", source.direction.value
        yield f"/locales/{locale}/body", source.body
        yield f"/locales/{locale}/text", source.text
    yield "/variables_schema", written.variables_schema
    yield "/samples", dict(written.samples)


def _unified(pointer: str, old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> str | None:
    before, after = old.get(pointer), new.get(pointer)
    if isinstance(before, dict | list) or isinstance(after, dict | list):
        before, after = _pretty(before), _pretty(after)
    if not isinstance(before, str | None) or not isinstance(after, str | None):
        return None
    lines = difflib.unified_diff(
        _lines(before), _lines(after), fromfile=f"before{pointer}", tofile=f"after{pointer}", n=_CONTEXT_LINES
    )
    return "".join(lines)


def _lines(text: str | None) -> list[str]:
    return [f"{line}\n" for line in (text or "").splitlines()]


def _pretty(value: JsonValue) -> str:
    return "" if value is None else msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode()


def _replaced(change: Change) -> str:
    return f"--- before{change.pointer}\n+++ after{change.pointer}\n-{change.before}\n+{change.after}\n"
