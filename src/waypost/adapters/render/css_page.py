"""Style sheets, written into the elements they are about, because many mail programs read nothing else."""

import re
from typing import Final

import css_inline

from waypost.adapters.render.markup_scan import Dress, MarkupScan
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.tag_slots import Slots

MOST_MATCHES: Final = 500_000
"""Rules times elements: each rule is tried on each element."""
_DRESS: Final = Dress(keeps_style=True)
_STYLE: Final = re.compile(r"<style\b[^>]*>(.*?)</style\s*>", re.DOTALL | re.IGNORECASE)

_EMPTY_STYLE: Final = re.compile(r"<style\b[^>]*>\s*</style>\n?")

_inliner: Final = css_inline.CSSInliner(
    load_remote_stylesheets=False, keep_style_tags=True, remove_inlined_selectors=True, keep_link_tags=True
)


def inline_css(html: str, slots: Slots, pointer: str) -> str:
    """`html` has its tags hidden. What has no style sheet is not touched at all."""
    if not _STYLE.search(html):
        return html
    scan = MarkupScan(slots, _DRESS, pointer)
    dressed = scan.run(html)
    rules = sum(sheet.count("{") for sheet in _STYLE.findall(dressed))
    if rules * scan.elements > MOST_MATCHES:
        message = f"{rules} style rules for {scan.elements} elements are too many."
        raise RenderRefused("template_refused", message, pointer)
    try:
        inlined = _inliner.inline(dressed)
    except ValueError:
        raise RenderRefused("invalid_css", "The style sheets cannot be read.", pointer) from None
    slots.check_kept(_STYLE.sub("", dressed), inlined, "HTML", pointer)
    return _EMPTY_STYLE.sub("", _tables_mended(dressed, inlined, slots))


def _tables_mended(before: str, after: str, slots: Slots) -> str:
    """The parser opens a `tbody` right before the first row; what steers that row must stand inside of it."""
    word = slots.word.pattern.replace("(", "(?:")
    own = {found[1] for found in re.finditer(rf"<!--({word})-->\s*<tbody", before)}
    opened = re.compile(rf"((?:<!--{word}-->\s*)*<!--({word})-->\s*)<tbody>")
    return opened.sub(lambda found: found[0] if found[2] in own else f"<tbody>{found[1]}", after)
