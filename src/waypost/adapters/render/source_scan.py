"""A cheap look at a template before the engine sees it: what is nested or chained too deeply overflows its stack.

Only for good messages: whoever slips past it meets the limits of the process.
"""

import re
from typing import Final

from waypost.adapters.render.limits import MAX_SOURCE_BYTES
from waypost.templates.model import Profile

MAX_NESTING: Final = 200
MAX_TOKENS_IN_A_TAG: Final = 500
MAX_BRANCHES: Final = 500
MAX_LIQUID_TAG: Final = 2_000
"""Its lexer takes quadratic time over the spaces of one tag."""

_CLOSERS: Final = {"{{": "}}", "{%": "%}", "{#": "#}"}
_OPENERS: Final = {Profile.JINJA: re.compile(r"\{[{%#]"), Profile.LIQUID: re.compile(r"\{[{%]")}
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_WORD: Final = re.compile(r"\s*[-+]?\s*(\w+)")
_BLOCKS: Final = frozenset(
    {"if", "for", "block", "macro", "call", "filter", "with", "autoescape"}
    | {"unless", "case", "tablerow", "capture", "ifchanged"}
)
_BRANCHES: Final = frozenset({"elif", "elsif", "when"})
_BRANCH_WORDS: Final = {Profile.JINJA: "`elif`", Profile.LIQUID: "`elsif` or `when`"}
_OTHER_TEMPLATES: Final = frozenset({"include", "extends", "import", "from", "render"})
_HOW_TO_REFER: Final = "a template includes published partials, by a name in quotes, and names its layout beside it"
_VERBATIM: Final = {
    Profile.JINJA: {"raw": re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")},
    Profile.LIQUID: {word: re.compile(rf"\{{%-?\s*end{word}\s*-?%\}}") for word in ("raw", "doc", "comment")},
}


def find_trouble(source: str, profile: Profile = Profile.JINJA, most_bytes: int = MAX_SOURCE_BYTES) -> str | None:
    """The end of a sentence on what the source must not have, or None. Linear in the source's length."""
    if len(source) > most_bytes or len(source.encode()) > most_bytes:
        return f"must be at most {most_bytes // 1024} KB"
    openers, verbatim, is_liquid = _OPENERS[profile], _VERBATIM[profile], profile is Profile.LIQUID
    depth = branches = position = 0
    while opener := openers.search(source, position):
        end = source.find(_CLOSERS[opener.group()], opener.end())
        if end < 0:
            return f"opens a tag on line {_line(source, opener)} and never closes it" if is_liquid else None
        position = end + 2
        if opener.group() == "{#":
            continue
        inside = source[opener.end() : end]
        if is_liquid and len(inside) > MAX_LIQUID_TAG:
            return f"has a tag of more than {MAX_LIQUID_TAG} characters on line {_line(source, opener)}"
        if _has_more_tokens_than(inside, MAX_TOKENS_IN_A_TAG):
            return f"has a tag of more than {MAX_TOKENS_IN_A_TAG} words and signs on line {_line(source, opener)}"
        word = _WORD.match(inside) if opener.group() == "{%" else None
        if word and word.group(1) in _OTHER_TEMPLATES:
            return f"uses `{word.group(1)}` on line {_line(source, opener)}: {_HOW_TO_REFER}"
        if word and word.group(1) in verbatim:
            end_of_raw = verbatim[word.group(1)].search(source, position)
            if end_of_raw is None and is_liquid:
                return f"opens `{word.group(1)}` on line {_line(source, opener)} and never closes it"
            position = end_of_raw.end() if end_of_raw else len(source)
        elif word:
            depth, branches = _follow(word.group(1), inside, depth, branches)
        if depth > MAX_NESTING:
            return f"nests more than {MAX_NESTING} blocks on line {_line(source, opener)}"
        if branches > MAX_BRANCHES:
            return f"has more than {MAX_BRANCHES} {_BRANCH_WORDS[profile]} branches"
    return None


def _has_more_tokens_than(inside: str, most: int) -> bool:
    return len(inside) > most and sum(1 for _ in _TOKEN.finditer(inside)) > most


def _follow(word: str, inside: str, depth: int, branches: int) -> tuple[int, int]:
    if word in _BLOCKS or (word == "set" and "=" not in inside):
        return depth + 1, branches
    if word.startswith("end"):
        return max(0, depth - 1), branches
    return depth, branches + (word in _BRANCHES)


def _line(source: str, opener: re.Match[str]) -> int:
    return source.count("\n", 0, opener.start()) + 1
