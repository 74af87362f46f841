"""What surrounds the body of an HTML mail: its language, its direction, and the words that mail programs show first."""

import re
from html import escape
from typing import Final

from waypost.adapters.render.tag_slots import Slots
from waypost.templates.model import Direction

_HTML: Final = re.compile(r"<html\b((?:[^\"'>]|\"[^\"]*+\"|'[^']*+')*+)>", re.IGNORECASE)
_BODY: Final = re.compile(r"<body\b(?:[^\"'>]|\"[^\"]*+\"|'[^']*+')*+>", re.IGNORECASE)
_HIDDEN: Final = (
    '<div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;font-size:1px;line-height:1px">'
)
# Keeps the first words of the body out of the line that shows the preheader.
_FILLING: Final = "&#847;&zwnj;&nbsp;" * 30
_PAGE: Final = (
    '<!DOCTYPE html><html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<title></title></head>"
    '<body style="margin:0;padding:24px;font-family:Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;'
    'color:#1a1a1a;background:#ffffff"><div style="max-width:600px;margin:0 auto">'
)
_END_OF_PAGE: Final = "</div></body></html>"


def as_page(html: str) -> str:
    """A plain page around a body that came without one."""
    return f"{_PAGE}{html}{_END_OF_PAGE}"


def with_language(html: str, locale: str | None, direction: Direction) -> str:
    """`lang` and `dir` on the page; a fragment that reads from the right gets an element around it."""
    page = _HTML.search(html)
    if page is None:
        if direction is Direction.LTR:
            return html
        lang = f' lang="{locale}"' if locale else ""
        return f'<div dir="rtl"{lang}>{html}</div>'
    given = re.sub(r"\s+(?:lang=\"und\"|dir=\"auto\")", "", page[1])
    if locale and not re.search(r"(?<![\w:-])lang\s*=", given):
        given += f' lang="{locale}"'
    if not re.search(r"(?<![\w:-])dir\s*=", given):
        given += f' dir="{direction.value}"'
    return f"{html[: page.start()]}<html{given}>{html[page.end() :]}"


def with_preheader(html: str, preheader: str | None, slots: Slots) -> str:
    if not preheader or not preheader.strip():
        return html
    words = f"{_HIDDEN}{escape(slots.hide(preheader), quote=False)}{_FILLING}</div>"
    body = _BODY.search(html)
    place = body.end() if body else 0
    return html[:place] + words + html[place:]
