"""Where the links of an HTML text are, told apart from whatever only looks like one. One pass, linear in any text.

Reads tags as HTML 5 does: quotes mean something only after an equals sign, comments and the insides of scripts and
styles are no tags. What stands between conditional comments is read, because Outlook shows it.
"""

import re
from dataclasses import dataclass
from typing import Final

# The white space of HTML, which is less than that of Unicode.
_S: Final = " \t\n\r\f"
_NAME: Final = rf"[^{_S}/>][^{_S}/>=]*+"
_VALUE: Final = rf"""\"[^\"]*+\"|'[^']*+'|(?![\"'])[^{_S}>]*+"""
_ATTRIBUTE: Final = rf"[{_S}/]*+(?:{_NAME})(?:[{_S}]*+=[{_S}]*+(?:{_VALUE}))?"
# What is never closed is nothing, and takes all that follows along.
_ATTRIBUTES: Final = rf"((?:{_ATTRIBUTE})*+)[{_S}/]*+(?:>|\Z)"
_TAG: Final = rf"[a-z][^{_S}/>]*+"
_ENDS: Final = rf"(?=[{_S}/>])"
_PIECE: Final = re.compile(
    r"<!--(?!\[if)(?:-?>|.*?(?:--!?>|\Z))"
    rf"|<(script|style|textarea|title|xmp|iframe|noembed|noframes){_ENDS}{_ATTRIBUTES}.*?(?:</\1{_ENDS}|\Z)"
    rf"|<({_TAG}){_ATTRIBUTES}"
    rf"|</({_TAG})[^>]*+(?:>|\Z)"
    r"|<[!?][^>]*+(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_EACH: Final = re.compile(rf"[{_S}/]*+({_NAME})(?:[{_S}]*+=[{_S}]*+({_VALUE}))?")
_WITH_LINKS: Final = frozenset({"a", "area", "v:rect", "v:roundrect", "v:oval", "v:shape", "v:image"})
NO_TRACK: Final = "data-no-track"


@dataclass(frozen=True, slots=True)
class Link:
    """A start tag that leads somewhere, in places of the text."""

    start: int
    end: int
    """Of the address, without its quotes."""
    opt_out: tuple[int, int] | None
    """Where its author says that it is not to be tracked, with the space before it."""


@dataclass(frozen=True, slots=True)
class Scan:
    links: list[Link]
    opt_outs: list[tuple[int, int]]
    """Of links without an address too."""
    tags: list[tuple[int, int]]
    """The start tags, all of them."""
    body_end: int | None
    """Where the last `</body>` begins."""


def scan(html: str) -> Scan:
    links, opt_outs, tags = list[Link](), list[tuple[int, int]](), list[tuple[int, int]]()
    body_end: int | None = None
    for piece in _PIECE.finditer(html):
        verbatim, name, closes = piece[1], piece[3], piece[5]
        if verbatim is not None:
            tags.append((piece.start(), piece.end(2)))
        elif not piece[0].endswith(">"):
            break
        elif closes is not None:
            if closes.lower() == "body":
                body_end = piece.start()
        elif name is not None:
            tags.append(piece.span())
            if name.lower() in _WITH_LINKS:
                address, opt_out = _look_at(html, *piece.span(4))
                if opt_out is not None:
                    opt_outs.append(opt_out)
                if address is not None:
                    links.append(Link(*address, opt_out))
    return Scan(links, opt_outs, tags, body_end)


def _look_at(html: str, start: int, end: int) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Of two attributes of one name the first counts."""
    address: tuple[int, int] | None = None
    opt_out: tuple[int, int] | None = None
    seen = False
    for found in _EACH.finditer(html, start, end):
        name = found[1].lower()
        if name == "href" and not seen:
            seen = True
            if found[2] is not None:
                first, last = found.span(2)
                quoted = found[2][:1] in ('"', "'")
                address = (first + quoted, last - quoted)
        elif name == NO_TRACK and opt_out is None:
            opt_out = found.span()
    return address, opt_out
