"""A look over markup by patterns, each linear in its length."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# None of these walks over a `<` or `{` again that it has passed, so that no text makes them slow.
_LINK: Final = re.compile(r"""<a\b[^<>]*?\bhref\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s<>"']+))""", re.I)
_IMAGE: Final = re.compile(r"<img\b[^<>]*>", re.I)
_ALT: Final = re.compile(r"\balt\s*(?:=|[\s/>])", re.I)
_UNSEEN: Final = re.compile(r"<(style|script|head|title)\b", re.I)
_TAG: Final = re.compile(r"<[^<>]*>")
TEMPLATE_TAG: Final = re.compile(r"\{(?:\{[^{}]*\}|%[^{}]*%|#[^{}]*#)\}")
_ENTITY: Final = re.compile(r"&[#\w]{1,20};")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,40}):")
_ADDRESS: Final = re.compile(r"https?://[^\s/?#@:\"'<>{}\\^`|]+(?:[:/?#]\S*)?\Z", re.I)
_PLACEHOLDERS: Final = (
    "example.com",
    "example.org",
    "example.net",
    "yourdomain",
    "your-domain",
    "lorem",
    "todo",
    "xxx",
)
_ALLOWED: Final = frozenset({"http", "https", "mailto", "tel", "sms"})
_FEWEST_WORDS: Final = 2
_MOST_SHOWN: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkFault:
    code: str
    message: str
    is_doubtful: bool = False


def links(html: str) -> list[str]:
    return [(found[1] or found[2] or found[3] or "").strip() for found in _LINK.finditer(html)]


def broken_links(html: str) -> Iterator[LinkFault]:
    """Once for each target that is written; what a variable decides is not known yet."""
    for target in dict.fromkeys(links(html)):
        fault = _judge(target)
        if fault is not None:
            yield fault


def _judge(target: str) -> LinkFault | None:
    if not target or target == "#":
        return LinkFault(code="empty_link", message="Has a link that leads nowhere.")
    shown = target[:_MOST_SHOWN]
    if target.startswith(("{{", "{%", "#")):
        return None
    scheme = _SCHEME.match(target)
    if scheme is None:
        return LinkFault(code="broken_link", message=f"`{shown}` is no whole address: begin with https://.")
    if scheme[1].lower() not in _ALLOWED:
        return LinkFault(code="forbidden_link", message=f"No mail program follows a link of `{scheme[1]}:`.")
    is_web = scheme[1].lower() in ("http", "https")
    plain = TEMPLATE_TAG.sub("x", target)
    if is_web and not _ADDRESS.match(plain):
        return LinkFault(code="broken_link", message=f"`{shown}` cannot be an address.")
    host = plain.partition("//")[2].partition("/")[0].lower()
    if is_web and (host.startswith(("localhost", "127.")) or any(word in host for word in _PLACEHOLDERS)):
        return LinkFault(code="placeholder_link", message=f"`{shown}` looks like a placeholder.", is_doubtful=True)
    return None


def images_without_alt(html: str) -> int:
    return sum(1 for image in _IMAGE.findall(html) if not _ALT.search(image))


def has_words(html: str) -> bool:
    """Is there anything to read once pictures and markup are gone? A variable counts as a word."""
    return len(words_of(html)) >= _FEWEST_WORDS


def words_of(html: str) -> list[str]:
    """What is left to read; `x` for each variable."""
    seen = _without_unseen(TEMPLATE_TAG.sub(" x ", html))
    return _ENTITY.sub(" ", _TAG.sub(" ", seen)).split()


def _without_unseen(html: str) -> str:
    """Without styles, scripts and the head. What is never closed hides all that follows."""
    kept: list[str] = []
    lowered, position = html.lower(), 0
    while found := _UNSEEN.search(html, position):
        kept.append(html[position : found.start()])
        position = lowered.find(f"</{found[1].lower()}", found.end())
        if position < 0:
            return " ".join(kept)
    return " ".join((*kept, html[position:]))
