"""Markdown to HTML, with template tags in lines of their own, in text, in links and in tables."""

import re
from typing import Final

import nh3
from markdown_it import MarkdownIt

from waypost.adapters.render.tag_slots import Slots

_TABLE_LINE: Final = re.compile(r"\s*\|")
_EVERYWHERE: Final = frozenset(
    {"align", "bgcolor", "class", "dir", "height", "id", "lang", "role", "style", "title", "valign", "width"}
)
_ATTRIBUTES: Final = {
    "*": set(_EVERYWHERE),
    "a": {"href", "name", "target"},
    "img": {"src", "alt"},
    "ol": {"start", "type"},
    "table": {"border", "cellpadding", "cellspacing"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
_SCHEMES: Final = {"http", "https", "mailto", "tel", "sms", "cid"}
_TAGS: Final = nh3.ALLOWED_TAGS | {"section", "font", "main", "tfoot"}

_OPENS: Final = frozenset({"for", "if", "unless", "case", "with", "filter", "capture", "tablerow"})

_markdown: Final = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def markdown_to_html(source: str, slots: Slots, pointer: str) -> str:
    """`source` has its tags hidden, and so has the HTML. Raw HTML passes but for what could run or reach out."""
    lines = source.split("\n")
    rows = _rows(lines, slots)
    dressed = "\n".join(_dressed(line, slots, in_table=number in rows) for number, line in enumerate(lines))
    html = nh3.clean(
        _markdown.render(dressed),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        strip_comments=False,
        link_rel=None,
        url_schemes=_SCHEMES,
    )
    html = _hoisted(_rows_freed(html, slots), slots)
    slots.check_kept(source, html, "markdown", pointer)
    return html


def _dressed(line: str, slots: Slots, *, in_table: bool) -> str:
    if not slots.steering(line):
        return line
    if not _is_alone(line, slots):
        return slots.word.sub(lambda found: found[0] if slots.prints(found[0]) else f"<!--{found[0]}-->", line)
    words = [found[0] for found in slots.word.finditer(line)]
    if in_table:
        return "\n".join(f"| {word} |" for word in words)
    indent = line[: len(line) - len(line.lstrip())]
    return indent + "".join(f"<!--{word}-->" for word in words)


def _is_alone(line: str, slots: Slots) -> bool:
    """Nothing but tags."""
    return bool(slots.steering(line)) and not slots.word.sub("", line).strip()


def _rows(lines: list[str], slots: Slots) -> set[int]:
    """The lines of tags that stand between the rows of a table, from where their block begins to where it ends."""
    rows, open_blocks, in_table = set[int](), list[int](), False
    for number, line in enumerate(lines):
        if not _is_alone(line, slots):
            in_table = _TABLE_LINE.match(line) is not None
            continue
        if in_table:
            rows.add(number)
        for word in slots.steering(line):
            verb = slots.verb(word)
            if not verb.startswith("end"):
                if verb in _OPENS:
                    open_blocks.append(number)
            elif open_blocks and ((begun := open_blocks.pop()) in rows) != (number in rows):
                rows -= {begun, number}
                in_table = False
    return rows


def _rows_freed(html: str, slots: Slots) -> str:
    """A row that was made only to carry a tag through a table."""
    row = re.compile(rf"<tr>\s*<td[^>]*>({_word(slots)})</td>(?:\s*<td[^>]*></td>)*\s*</tr>")
    return row.sub(lambda found: found[0] if slots.prints(found[1]) else f"<!--{found[1]}-->", html)


def _hoisted(html: str, slots: Slots) -> str:
    """A loop around nothing but one list becomes a loop inside of it: one list with many items, as it was meant."""
    word = _word(slots)
    around = re.compile(
        rf"<!--({word})-->\s*<(ul|ol)([^>]*)>((?:(?!</?(?:ul|ol)\b).)*+)</\2>\s*<!--({word})-->", re.DOTALL
    )
    return around.sub(lambda found: _inside_out(found, slots), html)


def _inside_out(found: re.Match[str], slots: Slots) -> str:
    before, kind, attributes, items, after = found.groups()
    if slots.verb(before) != "for" or slots.verb(after) != "endfor":
        return found[0]
    return f"<{kind}{attributes}><!--{before}-->{items}<!--{after}--></{kind}>"


def _word(slots: Slots) -> str:
    return slots.word.pattern.replace("(", "(?:")
