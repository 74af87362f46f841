"""What is exported, and how far it has come."""

from enum import StrEnum
from typing import Final

import msgspec

MOST_NAMES: Final = 900
"""Of attributes, over all people of a file: each is a column."""


class ExportKind(StrEnum):
    RECIPIENTS = "recipients"
    SUPPRESSIONS = "suppressions"


class ExportSpec(msgspec.Struct, frozen=True, kw_only=True):
    kind: ExportKind
    tag: str | None = None
    list_key: str | None = None


class Place(msgspec.Struct, kw_only=True):
    """Where the next step begins. Part 0 is the first line and is written last, when all columns are known."""

    after: str | None = None
    parts: int = 1
    rows: int = 0
    total: int | None = None
    names: list[str] = []
