"""The JSON format: values become JSON where they stand, and what comes out is JSON or is refused.

While the template runs, each printed value is only a mark. Then the text is read as JSON: a mark inside a string
becomes the value's text, escaped; a mark elsewhere becomes the value itself. No value can end the string it stands in.
"""

import re
import secrets
from typing import Final

import msgspec

from waypost.adapters.render.refusal import RenderRefused

_OPEN, _CLOSE = "\ue000", "\ue001"
_QUOTE_OR_MARK: Final = re.compile(rf'["\\]|{_OPEN}[0-9a-f]+:(\d+){_CLOSE}')


class Marks:
    """The values of one rendering, in the order in which they were printed."""

    def __init__(self) -> None:
        # Nobody can write a mark who does not know this.
        self._word = secrets.token_hex(8)
        self._values: list[object] = []
        self._inner = re.compile(rf"{_OPEN}{self._word}:(\d+){_CLOSE}")

    def begin(self) -> None:
        self._values.clear()

    def mark(self, value: object) -> str:
        self._values.append(value)
        return f"{_OPEN}{self._word}:{len(self._values) - 1}{_CLOSE}"

    def resolve(self, text: str) -> str:
        """The finished JSON. Raises `RenderRefused`."""
        out, position, in_string = list[str](), 0, False
        while found := _QUOTE_OR_MARK.search(text, position):
            out.append(text[position : found.start()])
            position = found.end()
            if found[0] == '"':
                in_string = not in_string
                out.append('"')
            elif found[0] == "\\":
                out.append(text[found.start() : found.end() + 1])
                position += 1
            elif self._inner.fullmatch(found[0]) and int(found[1]) < len(self._values):
                value = self._values[int(found[1])]
                out.append(self._inside(value) if in_string else self._alone(value))
            else:
                out.append(found[0])
        out.append(text[position:])
        return _checked("".join(out))

    def _inside(self, value: object) -> str:
        words = self._plain(value) if isinstance(value, str) else _encode(value)
        return _encode(words)[1:-1]

    def _alone(self, value: object) -> str:
        return _encode(self._plain(value) if isinstance(value, str) else value)

    def _plain(self, text: str, depth: int = 0) -> str:
        """A text that was itself made of marks (a `set` block, a macro) with the values in their places."""
        if _OPEN not in text or depth > 20:
            return text
        return self._inner.sub(lambda found: self._nested(int(found[1]), depth), text)

    def _nested(self, number: int, depth: int) -> str:
        value = self._values[number] if number < len(self._values) else ""
        return self._plain(value, depth + 1) if isinstance(value, str) else _encode(value)


def check_literal(source: str) -> None:
    if _OPEN in source or _CLOSE in source:
        raise RenderRefused(
            "template_refused", "The json holds a character for private use (U+E000 or U+E001).", "/json"
        )


def _encode(value: object) -> str:
    return msgspec.json.encode(str(value) if type(value) not in _PLAIN and isinstance(value, str) else value).decode()


_PLAIN: Final = frozenset({str, int, float, bool, list, dict, type(None)})


def _checked(text: str) -> str:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise RenderRefused("invalid_json", "What the json renders to is not JSON.", "/json") from None
    return msgspec.json.encode(value).decode()
