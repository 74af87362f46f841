"""The words of a message for links that are patterns (`tracking.link_pattern`): looked up, and signed together."""

from collections.abc import Sequence
from typing import Final

from waypost.adapters.render.mail_slots import as_it_is, looking_up
from waypost.adapters.render.recipes import Path
from waypost.templates.model import JsonObject
from waypost.tracking.link_pattern import WordPen, is_word, set_of

LINK_WORDS: Final = "waypost_words"
"""In the context: the words of the message."""


class LinkWords:
    def __init__(self, link_key: bytes, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self.of_set = set_of([".".join(path) for path in paths])
        self._values_in = looking_up(self.paths)
        self._pen = WordPen(link_key, self.of_set)

    def of(self, context: JsonObject) -> str | None:
        """None where one of the values is no word: these links are then signed one by one."""
        words: list[str] = []
        try:
            for value in self._values_in(context):
                word = as_it_is(value)
                if not is_word(word):
                    return None
                words.append(word)
        except (KeyError, TypeError):
            return None
        return self._pen.write(words)
