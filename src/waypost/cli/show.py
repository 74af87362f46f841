"""What commands print: tables for people, JSON for programs, one line for an error."""

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDTH: Final = 1_000
_COLOURS: Final = {
    "scheduled": "blue",
    "queued": "cyan",
    "dispatching": "cyan",
    "dispatched": "green",
    "delivered": "green",
    "active": "green",
    "ok": "green",
    "created": "green",
    "drafted": "cyan",
    "published": "green",
    "pulled": "cyan",
    "unchanged": "bright_black",
    "conflict": "yellow",
    "refused": "red",
    "suppressed": "yellow",
    "warn": "yellow",
    "suspended": "yellow",
    "unconfirmed": "yellow",
    "cancelled": "bright_black",
    "expired": "bright_black",
    "revoked": "bright_black",
    "bounced": "red",
    "failed": "red",
    "fail": "red",
}


class Output:
    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        # Wide on purpose: a long line wraps in the terminal, but an id is never cut in two.
        self._console = Console(highlight=False, soft_wrap=True, width=_WIDTH)

    def one(self, value: object, *, title: str) -> None:
        """One thing with its fields."""
        if self.as_json:
            self._json(value)
            return
        grid = Table.grid(padding=(0, 2))
        for name, field in _fields(value).items():
            if field not in (None, (), [], {}):
                grid.add_row(Text(name, style="bright_black"), _cell(field))
        self._console.print(Text(title, style="bold"))
        self._console.print(grid)

    def many(self, values: Sequence[object], columns: Sequence[str], *, empty: str) -> None:
        """A list as a table of the named fields; as JSON, with every field."""
        if self.as_json:
            self._json(list(values))
            return
        if not values:
            self._console.print(empty)
            return
        grid = Table(box=None, pad_edge=False, header_style="bright_black")
        for column in columns:
            grid.add_column(column.replace("_", " "))
        for value in values:
            fields = _fields(value)
            grid.add_row(*(_cell(fields.get(column)) for column in columns))
        self._console.print(grid)

    def event(self, value: Mapping[str, object]) -> None:
        """One line of a stream."""
        if self.as_json:
            self._json(value)
        else:
            cells = [_cell(field) for field in value.values() if field is not None]
            self._console.print(Text("  ").join(cells))

    def patches(self, found: Mapping[str, str], *, empty: str) -> None:
        """Differences by name, coloured as people know them."""
        if self.as_json:
            self._json(found)
            return
        if not found:
            self._console.print(empty)
        for patch in found.values():
            for line in patch.splitlines():
                style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
                self._console.print(Text(line, style="bold" if line[:3] in ("+++", "---") else style))

    def line(self, text: str) -> None:
        """Said to people only."""
        if not self.as_json:
            self._console.print(Text(text))

    def bytes(self, raw: bytes) -> None:
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()

    def _json(self, value: object) -> None:
        sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
        sys.stdout.flush()


def complain(text: str) -> None:
    """One line on standard error."""
    sys.stderr.write("waypost: " + " ".join(text.split()) + "\n")


def _fields(value: object) -> dict[str, object]:
    if isinstance(value, Mapping):
        return {str(name): field for name, field in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return msgspec.structs.asdict(value)  # pyright: ignore[reportArgumentType] — answers are structs


def _cell(value: object) -> Text:
    if value is None:
        return Text("–", style="bright_black")
    if isinstance(value, datetime):
        return Text(value.astimezone().strftime("%Y-%m-%d %H:%M:%S"), style="bright_black")
    if isinstance(value, tuple | list):
        return Text(", ".join(_cell(one).plain for one in value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, dict):
        return Text(", ".join(f"{name}: {_cell(inner).plain}" for name, inner in value.items()))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, msgspec.Struct):
        return _cell(msgspec.structs.asdict(value))
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    return Text(str(value), style=_COLOURS.get(str(value).strip(), ""))
