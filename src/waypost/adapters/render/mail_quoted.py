"""Quoted-printable: of a finished text, or built into its template, whose literals are then encoded only once.

In a quoted template every piece of output, literal or value, starts and ends at column 0 (a soft break closes it), so
that pieces can be joined in any order, a loop's or a condition's, and decode to the joined text. It is made only of
templates whose meaning plainly does not change by that; all others are rendered first and encoded afterwards.
"""

import binascii
import re
from typing import Final

from waypost.adapters.render.speech import FILTERS

SOFT_BREAK: Final = "=\r\n"
WEB_ADDRESS_FILTER: Final = "web_address"
"""Known only to derived text templates."""

_STRING: Final = r"""(?:"[^"\\\n{}]*"|'[^'\\\n{}]*')"""
_NUMBER: Final = r"\d{1,15}"
_PATH: Final = rf"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[{_NUMBER}\]|\[{_STRING}\])*"
# Filters that give the same answer whatever the escaping, on the plain data that contexts are made of.
_PLAIN_FILTERS: Final = (
    "default|d|upper|lower|title|capitalize|trim|length|count|first|last|int|abs|round|items|web_address"
)
_ARGUMENT: Final = rf"\s*(?:{_STRING}|{_NUMBER})\s*"
_FILTER: Final = rf"\s*\|\s*(?:{_PLAIN_FILTERS}|{'|'.join(FILTERS)})\b(?:\({_ARGUMENT}(?:,{_ARGUMENT}){{0,2}}\))?"
_OPERAND: Final = rf"(?:{_PATH}|{_STRING}|{_NUMBER})(?:{_FILTER})*"
_RELATION: Final = r"(?:\s*(?:==|!=|<=|>=|<|>)\s*|\s+(?:and|or|in|not\s+in|is)\s+)"
_CONDITION: Final = rf"(?:not\s+)*{_OPERAND}(?:{_RELATION}(?:not\s+)*{_OPERAND})*"
_BRANCH: Final = rf"(?:if|elif)\s+{_CONDITION}|else|endif|endfor"
_LOOP: Final = rf"for\s+[A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)?\s+in\s+{_OPERAND}(?:\s+if\s+{_CONDITION})?"
_COMMENT: Final = r"\{#(?!-)(?:[^#-]|#(?!\})|-(?!#\}))*#\}"
_TAG: Final = re.compile(rf"\{{\{{\s*{_OPERAND}\s*\}}\}}|\{{%\s*(?:{_BRANCH}|{_LOOP})\s*%\}}|{_COMMENT}", re.ASCII)
_OPENING: Final = re.compile(r"\{[{%#]")

_CALM_TEXT: Final = re.compile(r"(?!\.)[ -<>-~]{1,75}\Z").match
is_calm = re.compile(r"(?!\.)[ !#-%(-.0-;?-~]{1,75}\Z").match
"""Neither escaped nor encoded, in text or markup."""

_WORD: Final = re.compile(r"[A-Za-z0-9_-]+\Z").match
"""Such as the proofs in links: nothing in it is encoded, wherever it is cut."""
_LINE: Final = 75
_LONGEST_KNOWN: Final = 60
_MOST_KNOWN: Final = 500

_DOTTED_LINE: Final = re.compile(r"(?m)^\.[^\r\n]*")
_ENCODED_CHARACTER: Final = re.compile(r"=[0-9A-F]{2}|[^=]")


def quoted(text: str) -> str:
    """Quoted-printable of a text: lines end with CRLF and never begin with a dot. Any line end counts as one."""
    return _encode(with_plain_line_ends(text))


def with_plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def tags_of(source: str) -> list[tuple[int, int, str]] | None:
    """Each tag's place and text, or None where the source holds any whose effect is not certain."""
    tags = list[tuple[int, int, str]]()
    position = 0
    while opening := _OPENING.search(source, position):
        tag = _TAG.match(source, opening.start())
        if tag is None:
            return None
        position = tag.end()
        tags.append((tag.start(), position, tag.group()))
    return tags


def quoted_template(source: str) -> str | None:
    """The template that renders to the quoted-printable form of what `source` renders to (with a `ValueQuoter` as its
    finalizer and its last line end kept), or None where that is not certain."""
    pieces = literal_pieces(source)
    return None if pieces is None else "".join(text for _, text in pieces)


def literal_pieces(source: str) -> list[tuple[bool, str]] | None:
    """The source in pieces, (is it a tag, its text): literals encoded, tags as they are, comments left out."""
    if "\r{" in source:  # could be half of a line end whose other half is what the tag prints
        return None
    pieces = plain_pieces(with_plain_line_ends(source).removesuffix("\n"))
    return None if pieces is None else [(is_tag, text if is_tag else _literal(text)) for is_tag, text in pieces]


def plain_pieces(source: str) -> list[tuple[bool, str]] | None:
    """The same without encoding anything."""
    tags = tags_of(source)
    if tags is None:
        return None
    pieces, position = list[tuple[bool, str]](), 0
    for start, end, tag in tags:
        pieces.append((False, source[position:start]))
        if not tag.startswith("{#"):
            pieces.append((True, tag))
        position = end
    pieces.append((False, source[position:]))
    return pieces


class ValueQuoter:
    """The finalizer of a quoted template: escapes a value as its part demands and encodes it as a piece of its own."""

    __slots__ = ("_calm", "_known", "_markup", "met_oddity")

    def __init__(self, *, markup: bool) -> None:
        self._markup = markup
        self._calm = is_calm if markup else _CALM_TEXT
        self._known: dict[str, str] = {}
        """What was encoded lately: names and places come again and again."""
        self.met_oddity = False
        """A value came by that only the engine itself knows how to print: what was rendered must not be used."""

    def __call__(self, value: object) -> str:
        if type(value) is str:
            if len(value) <= _LINE:
                if self._calm(value):
                    return value + SOFT_BREAK
                known = self._known.get(value)
                if known is not None:
                    return known
            elif _WORD(value):
                return (
                    SOFT_BREAK.join([value[start : start + _LINE] for start in range(0, len(value), _LINE)])
                    + SOFT_BREAK
                )
            if "\r" in value:  # could be half of a line end whose other half is in the next piece
                self.met_oddity = True
                return ""
            encoded = self._encoded(value)
            if len(value) <= _LONGEST_KNOWN:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[value] = encoded
            return encoded
        if type(value) is int:
            return f"{value}{SOFT_BREAK}"
        self.met_oddity = True
        return ""

    def _encoded(self, value: str) -> str:
        if self._markup:
            value = escaped(value)
        if len(value) <= 75 and value.isascii() and value.isprintable() and value[:1] != ".":
            short = value.replace("=", "=3D")
            if len(short) <= 75:
                return short + SOFT_BREAK if short else ""
        return _closed(value)


def _literal(text: str) -> str:
    """A full stop after a value would stand first on its line, where SMTP doubles it in every single message."""
    if text.startswith("."):
        return "=2E" + SOFT_BREAK + _closed(text[1:])
    return _closed(text)


def _closed(text: str) -> str:
    encoded = _encode(text)
    if not encoded or encoded.endswith("\n"):
        return encoded
    last = encoded.rfind("\n") + 1
    if len(encoded) - last > 75:  # a full last line has no room for the break that closes it
        return encoded[:last] + _repacked(encoded[last:] + "=") + "\r\n"
    return encoded + SOFT_BREAK


def _encode(text: str) -> str:
    encoded = binascii.b2a_qp(text.encode()).replace(b"\n", b"\r\n").decode("ascii")
    if "\n." in encoded or encoded.startswith("."):
        return _DOTTED_LINE.sub(lambda line: _repacked(line.group()), encoded)
    return encoded


def _repacked(line: str) -> str:
    """The same text in lines of at most 76 columns of which none begins with a dot: SMTP would have to double it."""
    lines, current = list[str](), ""
    for character in _ENCODED_CHARACTER.findall(line.removesuffix("=")):
        if len(current) + len(character) > 75:
            lines.append(current + "=")
            current = ""
        current += "=2E" if character == "." and not current else character
    lines.append(current + ("=" if line.endswith("=") else ""))
    return "\r\n".join(lines)


def escaped(value: str) -> str:
    """As the engine escapes markup, letter by letter."""
    return (
        value.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#x27;")
        .replace("/", "&#x2f;")
    )
