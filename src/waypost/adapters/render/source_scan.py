"""A cheap look at a template before the engine sees it: what is nested or chained too deeply overflows its stack.

Only for good messages: whoever slips past it meets the limits of the process.
"""

import re
from typing import Final

from waypost.adapters.render.limits import MAX_SOURCE_BYTES

MAX_NESTING: Final = 200
MAX_TOKENS_IN_A_TAG: Final = 500
MAX_BRANCHES: Final = 500

_CLOSERS: Final = {"{{": "}}", "{%": "%}", "{#": "#}"}
_OPENER: Final = re.compile(r"\{[{%#]")
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_WORD: Final = re.compile(r"\s*[-+]?\s*(\w+)")
_BLOCKS: Final = frozenset({"if", "for", "block", "macro", "call", "filter", "with", "autoescape"})
_OTHER_TEMPLATES: Final = frozenset({"include", "extends", "import", "from"})
_END_OF_RAW: Final = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")


def find_trouble(source: str) -> str | None:
    """The end of a sentence on what the source must not have, or None. Linear in the source's length."""
    if len(source) > MAX_SOURCE_BYTES or len(source.encode()) > MAX_SOURCE_BYTES:
        return f"must be at most {MAX_SOURCE_BYTES // 1024} KB"
    depth = branches = position = 0
    while opener := _OPENER.search(source, position):
        end = source.find(_CLOSERS[opener.group()], opener.end())
        if end < 0:
            break
        position = end + 2
        if opener.group() == "{#":
            continue
        inside = source[opener.end() : end]
        if _has_more_tokens_than(inside, MAX_TOKENS_IN_A_TAG):
            return f"has a tag of more than {MAX_TOKENS_IN_A_TAG} words and signs on line {_line(source, opener)}"
        word = _WORD.match(inside) if opener.group() == "{%" else None
        if word and word.group(1) in _OTHER_TEMPLATES:
            return f"uses `{word.group(1)}` on line {_line(source, opener)}: there are no other templates to refer to"
        if word and word.group(1) == "raw":
            end_of_raw = _END_OF_RAW.search(source, position)
            position = end_of_raw.end() if end_of_raw else len(source)
        elif word:
            depth, branches = _follow(word.group(1), inside, depth, branches)
        if depth > MAX_NESTING:
            return f"nests more than {MAX_NESTING} blocks on line {_line(source, opener)}"
        if branches > MAX_BRANCHES:
            return f"has more than {MAX_BRANCHES} `elif` branches"
    return None


def _has_more_tokens_than(inside: str, most: int) -> bool:
    return len(inside) > most and sum(1 for _ in _TOKEN.finditer(inside)) > most


def _follow(word: str, inside: str, depth: int, branches: int) -> tuple[int, int]:
    if word in _BLOCKS or (word == "set" and "=" not in inside):
        return depth + 1, branches
    if word.startswith("end"):
        return max(0, depth - 1), branches
    return depth, branches + (word == "elif")


def _line(source: str, opener: re.Match[str]) -> int:
    return source.count("\n", 0, opener.start()) + 1
