"""MJML to HTML, with template tags between elements, in text, in attributes and in style sheets."""

import re
from typing import Final

import mrml

from waypost.adapters.render.markup_scan import Dress, MarkupScan
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.tag_slots import Slots
from waypost.templates.model import Direction

_RAW: Final = "<mj-raw>%s</mj-raw>"
_BLOCKS: Final = ("mj-body", "mj-wrapper", "mj-section", "mj-column", "mj-group", "mj-hero", "mj-head")
_DRESS: Final = Dress(around=dict.fromkeys(_BLOCKS, _RAW))
_WORDS: Final = """
    accordion accordion-element accordion-text accordion-title all attributes body breakpoint button carousel
    carousel-image class column divider font group head hero html-attribute html-attributes image include navbar
    navbar-link preview raw section selector social social-element spacer style table text title wrapper
"""
_ELEMENTS: Final = frozenset(f"mj-{word}" for word in _WORDS.split())
_PLACE: Final = re.compile(r"at position (\d+):")
_MJML: Final = re.compile(r"<mjml\b([^>]*)>")


def mjml_to_html(source: str, slots: Slots, *, locale: str | None, direction: Direction, pointer: str) -> str:
    """`source` has its tags hidden, and so has the HTML."""
    scan = MarkupScan(slots, _DRESS, pointer)
    dressed = scan.run(_with_language(source, locale, direction))
    strange = sorted(name for name in scan.names if name.startswith("mj-") and name not in _ELEMENTS)
    if strange:
        raise RenderRefused("invalid_mjml", f"There is no MJML element `{strange[0]}`.", pointer)
    try:
        # No fonts of its own: every one is a call to somebody else's server from each reader's mail program.
        output = mrml.to_html(
            dressed,
            parser_options=mrml.ParserOptions(include_loader=mrml.noop_loader()),
            render_options=mrml.RenderOptions(fonts={}),
        )
    except (OSError, ValueError) as error:
        raise RenderRefused("invalid_mjml", f"The MJML cannot be read{_where(dressed, error)}.", pointer) from None
    slots.check_kept(dressed, output.content, "MJML", pointer)
    return output.content if locale else output.content.replace(' lang="und"', "")


def _with_language(source: str, locale: str | None, direction: Direction) -> str:
    found = _MJML.search(source)
    if found is None:
        return source
    given = found[1]
    if locale and "lang=" not in given:
        given += f' lang="{locale}"'
    if "dir=" not in given:
        given += f' dir="{direction.value}"'
    return f"{source[: found.start()]}<mjml{given}>{source[found.end() :]}"


def _where(source: str, error: Exception) -> str:
    """The library's words are about the author's own elements; only the place is taken from them."""
    place = _PLACE.search(str(error))
    if place is None:
        return ": an element is not closed, or there is no <mjml>"
    return f" on line {source.count(chr(10), 0, int(place[1])) + 1}"
