"""From a record to what it says about someone."""

from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from waypost.imports.cells import cells_of
from waypost.imports.model import ImportedConsent, ImportOptions, Layout, RowFault
from waypost.imports.records import RawRecord
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.spreadsheet import unguard
from waypost.recipients.model import RecipientFields, RecipientKind, Target

JSON: Final = ":json"
"""Ends the name of a column whose cells are JSON."""
_KINDS: Final = {kind.value: kind for kind in RecipientKind}
_YES: Final = frozenset({"granted", "yes", "true", "1"})
_NO: Final = frozenset({"withdrawn", "no", "false", "0"})
_MESSAGES: Final = {
    "record_too_long": "A row has at most 64 KB.",
    "unclosed_quote": "A quote is opened and never closed.",
    "not_utf8": "This row is not in UTF-8.",
    "invalid_text": "A row must not contain NUL.",
    "bad_quotes": "The quotes in this row make no sense.",
    "too_many_cells": "This row has more cells than there are columns.",
    "invalid_json": "A cell of this column is JSON.",
    "invalid_kind": "Write user, guest or vendor.",
    "invalid_consent": "Write granted, yes, true or 1; withdrawn, no, false or 0; or leave it empty.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    line: int
    target: Target
    tags: tuple[str, ...]
    consents: tuple[ImportedConsent, ...]


def read_row(record: RawRecord, layout: Layout, options: ImportOptions) -> Row | RowFault:
    if record.fault is not None:
        return fault_of(record.line, record.fault)
    try:
        text = record.raw.decode()
    except UnicodeDecodeError:
        return fault_of(record.line, "not_utf8")
    if "\0" in text:
        return fault_of(record.line, "invalid_text")
    cells = cells_of(text, layout.delimiter)
    if cells is None:
        return fault_of(record.line, "bad_quotes")
    if len(cells) > len(layout.targets):
        return fault_of(record.line, "too_many_cells")
    return _row(record.line, cells, layout, options)


def _row(line: int, cells: list[str], layout: Layout, options: ImportOptions) -> Row | RowFault:
    said: dict[str, str] = {}
    attributes: dict[str, JsonValue] = {}
    consents: list[ImportedConsent] = []
    for target, name, cell in zip(layout.targets, layout.names, cells, strict=False):
        value = cell.strip()
        if target is None or not value:
            continue
        if target.startswith("attributes."):
            plain = unguard(cell)
            if target.endswith(JSON):
                try:
                    attributes[target[11:-5]] = msgspec.json.decode(plain)
                except msgspec.DecodeError:
                    return fault_of(line, "invalid_json", name)
            else:
                attributes[target[11:]] = plain
            continue
        if value[0] == "'":
            value = unguard(value)
        if target.startswith("consent:"):
            word = value.lower()
            if word not in _YES and word not in _NO:
                return fault_of(line, "invalid_consent", name)
            consents.append(ImportedConsent(column=options.consents[int(target[8:])], granted=word in _YES, line=line))
        else:
            said[target] = value
    kind: RecipientKind | UnsetType = UNSET
    if "kind" in said:
        known = _KINDS.get(said["kind"].lower())
        if known is None:
            return fault_of(line, "invalid_kind", _name_of("kind", layout))
        kind = known
    fields = RecipientFields(
        kind=kind,
        email=said.get("email", UNSET),
        phone=said.get("phone", UNSET),
        locale=said.get("locale", UNSET),
        timezone=said.get("timezone", UNSET),
        attributes=attributes or UNSET,
    )
    tags = _split_tags(said["tags"]) if "tags" in said else ()
    return Row(line=line, target=Target(id=said.get("id"), fields=fields), tags=tags, consents=tuple(consents))


def fault_of(line: int, code: str, column: str = "") -> RowFault:
    return RowFault(line=line, column=column, code=code, message=_MESSAGES[code])


def column_of(pointer: str, layout: Layout) -> str:
    """The file's name for what a refusal points at."""
    parts = pointer.split("/")
    target = parts[1] if len(parts) > 1 else ""
    if target == "attributes" and len(parts) > 2:
        target = f"attributes.{parts[2]}"
    return _name_of(target, layout)


def _name_of(target: str, layout: Layout) -> str:
    return next((name for name, other in zip(layout.names, layout.targets, strict=True) if other == target), "")


def _split_tags(text: str) -> tuple[str, ...]:
    spelled = text.replace(";", ",").replace("|", ",").split(",")
    return tuple(dict.fromkeys(tag.strip() for tag in spelled if tag.strip()))
