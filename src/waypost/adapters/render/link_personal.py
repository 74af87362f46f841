"""Addresses that a value decides, of one content: each rendered and signed for each message, or, where only words
differ, patterns that are signed once (`tracking.link_pattern`) and words that are signed for each message."""

import re
from collections.abc import Callable
from html import unescape
from typing import Final

from waypost.adapters.render.link_words import LINK_WORDS, LinkWords
from waypost.adapters.render.mail_slots import RESERVED, as_it_is, looking_up
from waypost.adapters.render.recipes import Path
from waypost.templates.model import JsonObject
from waypost.templates.ports import Instrument
from waypost.tracking.link_pattern import MOST_WORDS, hole, is_pattern
from waypost.tracking.link_token import BETWEEN, LinkPen
from waypost.tracking.targets import target_of

Render = Callable[[str], Callable[[JsonObject], str]]
"""Makes a template of a piece of markup."""

_PLAIN_VALUE: Final = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}\Z", re.ASCII)
_HALF_ENTITY: Final = re.compile(r"&[#\w]*\Z")
_STAND_IN: Final = "wpword{}qz"


class PersonalLink:
    """An address that a value decides."""

    __slots__ = ("_make", "_render", "_source", "_values_in", "link", "name", "paths", "pieces")

    def __init__(self, link: int, source: str, tags: list[tuple[int, int, str]], make: Render) -> None:
        self.link = link
        self.name = f"n{link}"
        self._source = source
        self._make = make
        self._render: Callable[[JsonObject], str] | None = None
        self.pieces: list[str] = []
        self.paths: list[Path] | None = []
        """The values that stand between the pieces; None where more is done than to print them."""
        position = 0
        for start, end, tag in tags:
            value, literal = _PLAIN_VALUE.match(tag), source[position:start]
            path = tuple(value[1].split(".")) if value else ()
            if not path or path[0] in RESERVED or _HALF_ENTITY.search(literal):
                self.paths = None
                return
            self.pieces.append(unescape(literal))
            self.paths.append(path)
            position = end
        self.pieces.append(unescape(source[position:]))
        self._values_in = looking_up(self.paths)

    def address(self, context: JsonObject) -> str:
        """Raises `RenderRefused`."""
        known = self._quickly(context)
        if known is not None:
            return known
        if self._render is None:
            self._render = self._make(self._source)
        return unescape(self._render(context))

    def _quickly(self, context: JsonObject) -> str | None:
        """Escaped and read again, a text is itself; what else a value may be, only the engine knows how to print."""
        if self.paths is None:
            return None
        address = self.pieces[0]
        try:
            for value, piece in zip(self._values_in(context), self.pieces[1:], strict=True):
                address = f"{address}{as_it_is(value)}{piece}"
        except (KeyError, TypeError):
            return None
        return address


class Patterns:
    """Which of a content's personal links are patterns, and the words of each message for them."""

    def __init__(self, instrument: Instrument, personal: list[PersonalLink]) -> None:
        found, paths = _patterns(instrument, personal)
        pen = LinkPen(instrument.key, instrument.version)
        self.words = LinkWords(instrument.key, paths)
        self.written = {
            link: f"{pen.write_pattern(link, pattern, self.words.of_set)}{BETWEEN}{{{{ {LINK_WORDS} }}}}"
            for link, pattern in found.items()
        }
        """By the link's number, what follows the message in its address."""


def _patterns(instrument: Instrument, personal: list[PersonalLink]) -> tuple[dict[int, str], list[Path]]:
    """By the number of each link that can be one, and the values that they have words of, in order."""
    found: dict[int, str] = {}
    known: dict[Path, int] = {}
    for one in personal:
        paths = dict.fromkeys(one.paths or ())
        numbers = dict(known)
        for path in paths:
            numbers.setdefault(path, len(numbers))
        pattern = _pattern(one, numbers, instrument.spared) if paths and len(numbers) <= MOST_WORDS else None
        if pattern is not None:
            found[one.link], known = pattern, numbers
    return found, list(known)


def _pattern(one: PersonalLink, numbers: dict[Path, int], spared: tuple[str, ...]) -> str | None:
    """The address, spelled as it would be signed, with a hole for each word; None where words could change more."""
    start = one.pieces[0].lstrip()
    if any(ours.startswith(start) for ours in spared):
        return None
    stand_ins = [_STAND_IN.format(numbers[path]) for path in one.paths or ()]
    if any(_STAND_IN[:6] in piece for piece in one.pieces):
        return None
    sample = "".join(text for pair in zip(one.pieces, [*stand_ins, ""], strict=True) for text in pair)
    url = target_of(sample)
    if url is None or url.startswith(spared):
        return None
    for path in one.paths or ():
        url = url.replace(_STAND_IN.format(numbers[path]), hole(numbers[path]))
    return url if is_pattern(url) else None
