"""The words of a message for links that are patterns (`tracking.link_pattern`): looked up, and signed together."""

from collections.abc import Sequence
from typing import Final

from waypost.adapters.render.recipes import Path
from waypost.templates.model import JsonObject
from waypost.tracking.link_pattern import WordPen, is_word, set_of

LINK_WORDS: Final = "waypost_words"
"""In the context: the words of the message."""


class LinkWords:
    def __init__(self, link_key: bytes, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self.of_set = set_of([".".join(path) for path in paths])
        self._pen = WordPen(link_key, self.of_set)

    def of(self, context: JsonObject) -> str | None:
        """None where one of the values is no word: these links are then signed one by one."""
        words: list[str] = []
        for path in self.paths:
            value = value_at(context, path)
            word = value if type(value) is str else str(value)
            if value is None or not is_word(word):
                return None
            words.append(word)
        return self._pen.write(words)


def value_at(context: JsonObject, path: Path) -> str | int | None:
    """None where there is none, or it is of a kind that only the engine knows how to print."""
    value: object = context
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]  # pyright: ignore[reportUnknownVariableType] — contexts are plain JSON
    return value if type(value) is str or type(value) is int else None  # pyright: ignore[reportUnknownArgumentType]
