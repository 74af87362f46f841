"""What an import is told, what its file says, and what came of it."""

from dataclasses import dataclass, field
from typing import Final

import msgspec

PART_BYTES: Final = 524_288
"""A file is kept in parts of exactly this size, so that an offset says which part to read."""
MOST_BYTES: Final = 256 * 1_048_576
MOST_COLUMNS: Final = 1_000
LONGEST_RECORD: Final = 65_536
MOST_REPORTED: Final = 100_000
"""Faults that the report names; further ones are only counted."""


class ConsentColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column that says whether someone agreed: `granted`, `yes`, `true`, `1`; `withdrawn`, `no`, `false`, `0`."""

    column: str
    topic: str
    channel: str
    source: str
    text_version: str | None = None


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    columns: dict[str, str | None] = {}
    """From the file's names of columns to ours; None leaves a column out."""
    list_key: str | None = None
    tags: tuple[str, ...] = ()
    consents: tuple[ConsentColumn, ...] = ()
    delimiter: str | None = None
    dry_run: bool = False


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """How the rows of a file are read."""

    delimiter: str
    names: tuple[str, ...]
    """As the file spells them."""
    targets: tuple[str | None, ...]
    """`id`, `email`, `attributes.city`, `consent:0`; None where the column is not read."""
    ignored: tuple[str, ...]
    """Columns that are ours to write, and that nobody sets by a file."""
    begins_at: int
    """Where the first row begins, in bytes."""
    first_line: int


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """All that a step needs; kept sealed with the job."""

    options: ImportOptions
    layout: Layout
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RowFault:
    line: int
    column: str
    code: str
    message: str


@dataclass(slots=True)
class Tally:
    """What came of the rows so far."""

    rows: int = 0
    created: int = 0
    changed: int = 0
    unchanged: int = 0
    rejected: int = 0
    faults: int = 0
    reported: int = 0

    def told(self, layout: Layout, *, dry_run: bool) -> dict[str, object]:
        return {
            "rows": self.rows,
            "created": self.created,
            "changed": self.changed,
            "unchanged": self.unchanged,
            "rejected": self.rejected,
            "faults": self.faults,
            "faults_in_report": self.reported,
            "ignored_columns": list(layout.ignored),
            "dry_run": dry_run,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedConsent:
    """What a cell says about one person's agreement."""

    column: ConsentColumn
    granted: bool
    line: int = field(default=0)
