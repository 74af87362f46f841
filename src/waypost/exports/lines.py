"""One person as lines of a file that an import reads back exactly."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.spreadsheet import csv_line
from waypost.kernel.vault import place
from waypost.kernel.vocabulary import Channel
from waypost.recipients.model import PHONE, Person, RecipientKind

FIXED: Final = ("id", "kind", "email", "phone", "locale", "timezone", "tags")
JSON: Final = ":json"
"""Columns whose cells are JSON: what is no plain text keeps its type."""


def person_lines(tenant_id: str, person: Person, tags: Sequence[str], columns: dict[str, int]) -> Iterable[str]:
    """The current addresses are on the last line; earlier ones before it, oldest first, with nothing but the id."""
    earlier: list[tuple[Channel, str]] = []
    current: dict[Channel, str] = {}
    for address in reversed(person.addresses):
        if address.channel in current:
            earlier.append((address.channel, current[address.channel]))
        current[address.channel] = person.key.open(address.ciphertext, place("address", tenant_id, address.id)).decode()
    for channel, text in earlier:
        if channel in (Channel.EMAIL, PHONE):
            cells = (
                person.row.external_id,
                "",
                text if channel is Channel.EMAIL else "",
                text if channel is PHONE else "",
            )
            yield csv_line(cells)
    row = person.row
    fixed = (
        row.external_id,
        "" if row.kind is RecipientKind.ANONYMOUS else row.kind.value,
        current.get(Channel.EMAIL, ""),
        current.get(PHONE, ""),
        row.locale or "",
        row.timezone or "",
        ",".join(tags),
    )
    yield csv_line((*fixed, *attribute_cells(person.attributes, columns)))


def attribute_cells(attributes: JsonObject, columns: dict[str, int]) -> list[str]:
    """In the order in which columns were first needed; new ones are added to `columns`."""
    said: Mapping[str, str] = {
        name if isinstance(value, str) and value.strip() else f"{name}{JSON}": (
            value if isinstance(value, str) and value.strip() else msgspec.json.encode(value).decode()
        )
        for name, value in attributes.items()
    }
    for name in said:
        columns.setdefault(name, len(columns))
    cells = [""] * (max((columns[name] for name in said), default=-1) + 1)
    for name, text in said.items():
        cells[columns[name]] = text
    return cells


def header_line(names: Sequence[str]) -> str:
    return csv_line((*FIXED, *(f"attributes.{name}" for name in names)))
