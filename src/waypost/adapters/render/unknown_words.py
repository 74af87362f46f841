"""Filters, tests and functions that a source names and the engine does not have.

The engine itself says so only when a message is made, and then to nobody who could mend it.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_TAG: Final = re.compile(
    r"\{#.*?#\}"
    r"|\{%[-+]?\s*raw\s*[-+]?%\}.*?\{%[-+]?\s*endraw\s*[-+]?%\}"
    r"|\{\{(?P<printed>.*?)\}\}"
    r"|\{%(?P<said>.*?)%\}",
    re.DOTALL,
)
_STRING: Final = re.compile(r""""(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?""", re.DOTALL)
_FILTER: Final = re.compile(r"(?:\||^[-+]?\s*filter\s)\s*([A-Za-z_]\w*)")
_TEST: Final = re.compile(r"(?<![\w.])is\s+(?:not\s+)?([A-Za-z_]\w*)")
_CALL: Final = re.compile(r"(?<![\w.|])([A-Za-z_]\w*)\s*\(")


class Unknown(NamedTuple):
    sentence: str
    name: str
    line: int


def unknown_words(source: str, has_filter: Callable[[str], bool], has_test: Callable[[str], bool]) -> Iterator[Unknown]:
    """Of a Jinja source that compiles."""
    for inside, line in _tags(source):
        for found in _FILTER.finditer(inside):
            if not has_filter(found[1]):
                yield Unknown("uses a filter that does not exist", found[1], line)
        for found in _TEST.finditer(inside):
            if not has_test(found[1]):
                yield Unknown("uses a test that does not exist", found[1], line)


def unknown_calls(source: str, undeclared: frozenset[str]) -> Iterator[Unknown]:
    """Calls of what nothing in the whole source declares. Variables are data: none of them can be called."""
    for inside, line in _tags(source):
        for found in _CALL.finditer(inside):
            if found[1] in undeclared:
                yield Unknown("calls a function that does not exist", found[1], line)


def _tags(source: str) -> Iterator[tuple[str, int]]:
    """What stands in tags, without its strings, and on which line."""
    line, counted = 1, 0
    for tag in _TAG.finditer(source):
        inside = tag["printed"] if tag["said"] is None else tag["said"]
        if inside is None:
            continue
        line += source.count("\n", counted, tag.start())
        counted = tag.start()
        yield _STRING.sub('""', inside), line
