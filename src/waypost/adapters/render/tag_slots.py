"""Template tags, hidden behind harmless words while MJML, markdown and CSS are worked, and put back exactly.

A tag is hidden by a word of letters and digits, which every one of those languages leaves alone. Where a word would
not be left alone, between the rows of a table for example, it stands in a comment of its own.
"""

import re
import secrets
from dataclasses import dataclass
from typing import Final

from waypost.adapters.render.refusal import RenderRefused
from waypost.templates.model import Profile

_STRING: Final = r""""(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'"""
_CLOSERS: Final = {"{{": "}}", "{%": "%}", "{#": "#}"}
_OPENER: Final = {Profile.JINJA: re.compile(r"\{[{%#]"), Profile.LIQUID: re.compile(r"\{[{%]")}
# The lexer of Jinja knows strings, the one of Liquid does not.
_WITH_STRINGS: Final = {
    "{{": re.compile(rf"(?:[^\"'}}]|{_STRING}|\}}(?!\}}))*+\}}\}}", re.DOTALL),
    "{%": re.compile(rf"(?:[^\"'%]|{_STRING}|%(?!\}}))*+%\}}", re.DOTALL),
}
_VERBATIM: Final = {Profile.JINJA: ("raw",), Profile.LIQUID: ("raw", "comment", "doc")}
_BRACE: Final = re.compile(r"\{(?=[{%#])")
_STYLE: Final = re.compile(r"<(style|script)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_VERB: Final = re.compile(r"\{%[-+]?\s*(\w+)")
MOST_TAGS: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Slot:
    text: str
    prints: bool
    """A value; anything else steers what is printed, and must stay in its place and order."""
    has_value: bool = False
    """Its author wrote `=""` behind it; otherwise only a serializer did, who took the word for an attribute."""


class Slots:
    def __init__(self, profile: Profile) -> None:
        # Nobody can write such a word by accident, or on purpose.
        self._head = f"wp{secrets.token_hex(6)}n"
        self._profile = profile
        self._slots: list[_Slot] = []
        self.word = re.compile(rf"{self._head}(\d+)q")
        self._commented = re.compile(rf"<!--({self._head}\d+q)-->")
        self._shown = re.compile(rf'<!--{self._head}(\d+)q-->|&lt;!--{self._head}(\d+)q--&gt;|{self._head}(\d+)q(="")?')

    def hide(self, source: str) -> str:
        """The source with a word for each tag. Comments of the template language are left out."""
        pieces, position, endless = list[str](), 0, set[str]()
        while opener := _OPENER[self._profile].search(source, position):
            end = self._end_of(source, opener, endless)
            pieces.append(source[position : opener.start()])
            pieces.append(
                source[opener.start() : end] if end == opener.end() else self._word(source, opener.start(), end)
            )
            position = end
        pieces.append(source[position:])
        return "".join(pieces)

    def keep(self, text: str) -> str:
        """A word for a whole piece of markup that must not be touched."""
        return self._new(_Slot(self.restore(text), prints=True))

    def keep_comment(self, text: str) -> str:
        return f"<!--{self.keep(text)}-->"

    def uncomment(self, text: str) -> str:
        """Bare words, for where no comment can stand."""
        return self._commented.sub(r"\1", text)

    def prints(self, word: str) -> bool:
        return self._slots[self._number(word)].prints

    def verb(self, word: str) -> str:
        """What a steering tag does: `for`, `endfor`."""
        found = _VERB.match(self._slots[self._number(word)].text)
        return found[1] if found else ""

    def steering(self, text: str) -> list[str]:
        """The words in a text that steer, in order."""
        return [found[0] for found in self.word.finditer(text) if not self._slots[int(found[1])].prints]

    def restore(self, text: str) -> str:
        return self._shown.sub(self._shown_again, text)

    def _shown_again(self, found: re.Match[str]) -> str:
        slot = self._slots[int(found[1] or found[2] or found[3])]
        return slot.text + (found[4] or "") if slot.has_value else slot.text

    def finish(self, html: str) -> str:
        """The template: tags in their places, and nothing else that could be read as one. An entity or an escape that
        an author wrote to show braces has become braces by now."""
        pieces, position = list[str](), 0
        for sheet in _STYLE.finditer(html):
            pieces += [_BRACE.sub("&#123;", html[position : sheet.start()]), _BRACE.sub("{ ", sheet[0])]
            position = sheet.end()
        pieces.append(_BRACE.sub("&#123;", html[position:]))
        return self.restore("".join(pieces))

    def check_kept(self, before: str, after: str, what: str, pointer: str) -> None:
        """Whatever was done in between, nothing may be lost and what steers may not move."""
        if self.steering(before) != self.steering(after):
            message = f"A template tag stands where {what} cannot keep it: put it between whole elements or rows."
            raise RenderRefused("tag_misplaced", message, pointer)
        seen = {found[0] for found in self.word.finditer(after)}
        for found in self.word.finditer(before):
            if found[0] not in seen:
                shown = self._slots[int(found[1])].text[:60]
                raise RenderRefused("tag_misplaced", f"{what} has no place for `{shown}` where it stands.", pointer)

    def _end_of(self, source: str, opener: re.Match[str], endless: set[str]) -> int:
        """Where the tag ends; right behind its opening where it never does. Looks for no end twice."""
        sign = opener[0]
        if sign in endless:
            return opener.end()
        known = _WITH_STRINGS.get(sign) if self._profile is Profile.JINJA else None
        exact = known.match(source, opener.end()) if known else None
        end = exact.end() if exact else source.find(_CLOSERS[sign], opener.end()) + 2
        if end < opener.end() + 2:
            endless.add(sign)
            return opener.end()
        verb = _VERB.match(source, opener.start(), end)
        if verb and verb[1] in _VERBATIM[self._profile] and verb[1] not in endless:
            closing = re.compile(rf"\{{%[-+]?\s*end{verb[1]}\s*[-+]?%\}}").search(source, end)
            if closing is None:
                endless.add(verb[1])
            return closing.end() if closing else end
        return end

    def _word(self, source: str, start: int, end: int) -> str:
        tag = source[start:end]
        verb = _VERB.match(tag)
        if tag.startswith("{#") or (verb and verb[1] in {"comment", "doc"} and self._profile is Profile.LIQUID):
            return ""
        prints = tag.startswith("{{") or (verb is not None and verb[1] == "raw")
        return self._new(_Slot(tag, prints, has_value=source.startswith('=""', end)))

    def _new(self, slot: _Slot) -> str:
        if len(self._slots) >= MOST_TAGS:
            raise RenderRefused("template_refused", f"The source has more than {MOST_TAGS} tags.", "/body")
        self._slots.append(slot)
        return f"{self._head}{len(self._slots) - 1}q"

    def _number(self, word: str) -> int:
        found = self.word.fullmatch(word)
        return int(found[1]) if found else -1
