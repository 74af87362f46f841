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
_RAW: Final = r"\{%[-+]?\s*raw\s*[-+]?%\}.*?\{%[-+]?\s*endraw\s*[-+]?%\}"
# The lexer of Jinja knows strings, the one of Liquid does not.
_TAGS: Final = {
    Profile.JINJA: re.compile(
        rf"{_RAW}|\{{#.*?#\}}|\{{\{{(?:[^\"'}}]|{_STRING}|\}}(?!\}}))*+\}}\}}|\{{%(?:[^\"'%]|{_STRING}|%(?!\}}))*+%\}}",
        re.DOTALL,
    ),
    Profile.LIQUID: re.compile(
        rf"{_RAW}|\{{%-?\s*comment\s*-?%\}}.*?\{{%-?\s*endcomment\s*-?%\}}|\{{\{{.*?\}}\}}|\{{%.*?%\}}", re.DOTALL
    ),
}
_COMMENT: Final = re.compile(r"\{#|\{%-?\s*comment\b")
_VERB: Final = re.compile(r"\{%[-+]?\s*(\w+)")
MOST_TAGS: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Slot:
    text: str
    prints: bool
    """A value; anything else steers what is printed, and must stay in its place and order."""


class Slots:
    def __init__(self, profile: Profile) -> None:
        # Nobody can write such a word by accident, or on purpose.
        self._head = f"wp{secrets.token_hex(6)}n"
        self._tags = _TAGS[profile]
        self._slots: list[_Slot] = []
        self.word = re.compile(rf"{self._head}(\d+)q")
        self._commented = re.compile(rf"<!--({self._head}\d+q)-->")
        self._shown = re.compile(
            rf'<!--{self._head}(\d+)q-->|&lt;!--{self._head}(\d+)q--&gt;|{self._head}(\d+)q(?:="")?'
        )

    def hide(self, source: str) -> str:
        """The source with a word for each tag. Comments of the template language are left out."""
        return self._tags.sub(self._hide_tag, source)

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
        return self._shown.sub(lambda found: self._slots[int(found[1] or found[2] or found[3])].text, text)

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

    def _hide_tag(self, found: re.Match[str]) -> str:
        text = found[0]
        if _COMMENT.match(text):
            return ""
        prints = text.startswith("{{") or re.match(r"\{%[-+]?\s*raw\b", text) is not None
        return self._new(_Slot(text, prints))

    def _new(self, slot: _Slot) -> str:
        if len(self._slots) >= MOST_TAGS:
            raise RenderRefused("template_refused", f"The source has more than {MOST_TAGS} tags.", "/body")
        self._slots.append(slot)
        return f"{self._head}{len(self._slots) - 1}q"

    def _number(self, word: str) -> int:
        found = self.word.fullmatch(word)
        return int(found[1]) if found else -1
