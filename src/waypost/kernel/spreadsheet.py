"""Cells of CSV files that people open in spreadsheets: nothing in them is taken for a formula, and nothing is lost.

A cell that a spreadsheet would calculate gets an apostrophe in front. So does one that begins with an apostrophe, which
makes the way back exact.
"""

from collections.abc import Iterable
from typing import Final

_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
_QUOTED: Final = ('"', ",", "\r", "\n")


def guard(text: str) -> str:
    return f"'{text}" if text.startswith(_STARTS) else text


def unguard(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_STARTS) else cell


def csv_line(cells: Iterable[str]) -> str:
    return ",".join(map(_cell, cells)) + "\r\n"


def _cell(text: str) -> str:
    guarded = guard(text)
    if guarded != text or any(mark in guarded for mark in _QUOTED) or guarded != guarded.strip():
        return '"' + guarded.replace('"', '""') + '"'
    return guarded
