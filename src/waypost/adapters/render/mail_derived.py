"""The text part as a template, derived once from markup that has no text of its own, instead of once per message.

Each value of the markup is replaced by a marker word, the text is derived, and the markers become values again. That
equals deriving the text of every message as long as nothing the derivation looks at can depend on a value: values
stand between tags, or in double-quoted attributes that it reads no meaning from, or in links whose words cannot be
their own target; and each value is a calm word (`CalmQuoter`) and, at the start of a link, a web address.
"""

import re
from html import unescape
from typing import Final

from waypost.adapters.render.html_text import html_to_text
from waypost.adapters.render.mail_quoted import WEB_ADDRESS_FILTER, ValueQuoter, tags_of, with_plain_line_ends

_MARKER: Final = re.compile(r"wpslot(\d+)qz|https://wplink(\d+)qz")
_MOST_VALUES: Final = 200
_LONGEST_TAG: Final = 2000

_HALF_ENTITY: Final = re.compile(r"&[#\w]*\Z")
_IN_ATTRIBUTE: Final = re.compile(r"""<([a-zA-Z]+)(?:\s+[a-zA-Z-]+="[^"<>]*")*\s+([a-zA-Z-]+)="([^"<>]*)\Z""")
_REST_OF_LINK: Final = re.compile(r"""[^"<>]*"(?:\s+[a-zA-Z-]+="[^"<>]*")*\s*>(.*?)</a\s*>""", re.DOTALL)
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>")
_READ_ATTRIBUTES: Final = frozenset({"style", "hidden", "alt"})


def derived_text(markup: str) -> str | None:
    """The template of the text part of `markup`, or None where it may differ from message to message."""
    markup = with_plain_line_ends(markup).removesuffix("\n")
    tags = tags_of(markup)
    if tags is None or len(tags) > _MOST_VALUES or "wpslot" in markup or "wplink" in markup:
        return None
    built, position = "", 0
    values = list[str]()
    for start, end, tag in tags:
        built += markup[position:start]
        position = end
        if tag.startswith("{#"):
            continue
        marker = _marker(built, markup, end, len(values)) if tag.startswith("{{") else None
        if marker is None:
            return None
        built += marker
        values.append(tag)
    text = html_to_text(built + markup[position:])
    found = [match.group() for match in _MARKER.finditer(text)]
    if len(found) != len(set(found)) or "{" in text:
        return None
    return _MARKER.sub(lambda match: _value_at(match, values), text)


class CalmQuoter(ValueQuoter):
    """Lets only values pass that the derivation leaves as they are: printable words with single spaces between them."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(markup=False)

    def __call__(self, value: object) -> str:
        if type(value) is str and not _is_calm(value):
            self.met_oddity = True
            return ""
        return super().__call__(value)

    def web_address(self, value: object) -> object:
        """The filter of a link's start: what is no web address is not shown by the derivation."""
        if type(value) is not str or not value.lower().startswith(("http://", "https://")):
            self.met_oddity = True
        return value


def _is_calm(value: str) -> bool:
    return value.isprintable() and 0 < len(value) <= 1000 and "  " not in value and value == value.strip()


def _value_at(match: re.Match[str], values: list[str]) -> str:
    if match.group(1):
        return values[int(match.group(1))]
    return f"{values[int(match.group(2))][:-2].rstrip()}|{WEB_ADDRESS_FILTER} }}}}"


def _marker(before: str, markup: str, end: int, number: int) -> str | None:
    """What stands for the value that ends at `end` while the text is derived; None where its place is not harmless."""
    if _HALF_ENTITY.search(before[-40:]):
        return None
    opening = before.rfind("<")
    if opening <= before.rfind(">"):
        return f"wpslot{number}qz"
    place = _IN_ATTRIBUTE.match(before, opening) if len(before) - opening <= _LONGEST_TAG else None
    if place is None or place.group(2).lower() in _READ_ATTRIBUTES:
        return None
    if place.group(1).lower() != "a" or place.group(2).lower() != "href":
        return f"wpslot{number}qz"
    return _marker_in_link(place.group(3), markup, end, number)


def _marker_in_link(target_so_far: str, markup: str, end: int, number: int) -> str | None:
    rest = _REST_OF_LINK.match(markup, end)
    if rest is None or len(rest.group()) > _LONGEST_TAG or _could_be_web_address(rest.group(1)):
        return None
    if not target_so_far:
        return f"https://wplink{number}qz"
    if target_so_far.lower().startswith(("http://", "https://")) or target_so_far[0] in "/#?.":
        return f"wpslot{number}qz"
    return None


def _could_be_web_address(shown: str) -> bool:
    words = _TAG.sub("", shown)
    return "<" in words or "{" in shown or ":" in unescape(words) or "alt" in shown.lower()
