"""From a record to what it says about someone."""

from enum import Enum
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


class _What(Enum):
    """What the cells of a column say."""

    NOTHING = 0
    FIELD = 1
    ATTRIBUTE = 2
    JSON_ATTRIBUTE = 3
    CONSENT = 4


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    line: int
    target: Target
    tags: tuple[str, ...]
    consents: tuple[ImportedConsent, ...]


class RowReader:
    """Reads the rows of one file: what each of its columns is, is worked out once."""

    def __init__(self, layout: Layout, options: ImportOptions) -> None:
        self._layout = layout
        self._consents = options.consents
        self._columns = [(*_column(target), name) for target, name in zip(layout.targets, layout.names, strict=True)]

    def __call__(self, record: RawRecord) -> Row | RowFault:
        if record.fault is not None:
            return fault_of(record.line, record.fault)
        try:
            text = record.raw.decode()
        except UnicodeDecodeError:
            return fault_of(record.line, "not_utf8")
        if "\0" in text:
            return fault_of(record.line, "invalid_text")
        cells = cells_of(text, self._layout.delimiter)
        if cells is None:
            return fault_of(record.line, "bad_quotes")
        if len(cells) > len(self._columns):
            return fault_of(record.line, "too_many_cells")
        return self._row(record.line, cells)

    def _row(self, line: int, cells: list[str]) -> Row | RowFault:
        said: dict[str, str] = {}
        attributes: dict[str, JsonValue] = {}
        consents: list[ImportedConsent] = []
        for (what, key, name), cell in zip(self._columns, cells, strict=False):
            value = cell.strip()
            if not value or what is _What.NOTHING:
                continue
            if what is _What.ATTRIBUTE:
                attributes[key] = unguard(cell) if cell[0] == "'" else cell
            elif what is _What.FIELD:
                said[key] = unguard(value) if value[0] == "'" else value
            elif what is _What.JSON_ATTRIBUTE:
                try:
                    attributes[key] = msgspec.json.decode(unguard(cell))
                except msgspec.DecodeError:
                    return fault_of(line, "invalid_json", name)
            else:
                word = unguard(value).lower()
                if word not in _YES and word not in _NO:
                    return fault_of(line, "invalid_consent", name)
                consents.append(ImportedConsent(column=self._consents[int(key)], granted=word in _YES, line=line))
        kind: RecipientKind | UnsetType = UNSET
        if "kind" in said:
            known = _KINDS.get(said["kind"].lower())
            if known is None:
                return fault_of(line, "invalid_kind", _name_of("kind", self._layout))
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


def _column(target: str | None) -> tuple["_What", str]:
    if target is None:
        return _What.NOTHING, ""
    if target.startswith("consent:"):
        return _What.CONSENT, target[8:]
    if not target.startswith("attributes."):
        return _What.FIELD, target
    return (_What.JSON_ATTRIBUTE, target[11:-5]) if target.endswith(JSON) else (_What.ATTRIBUTE, target[11:])


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
