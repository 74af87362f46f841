"""The text part of a message that has only markup. One pass, linear, whatever is thrown at it.

The standard library's parser takes quadratic time on some broken markup, so the scanning is done here.
"""

import re
from html import unescape
from typing import Final

_SILENT: Final = frozenset({"script", "style", "head", "title", "template", "noscript", "object", "svg"})
_VOID: Final = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_PARAGRAPHS: Final = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "blockquote", "pre", "figure", "hr"}
)
_LINES: Final = frozenset(
    {"div", "tr", "li", "dt", "dd", "section", "article", "header", "footer", "main", "nav", "aside", "form", "address"}
)
_CELLS: Final = frozenset({"td", "th"})

_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]{0,31}")
_ATTRIBUTE: Final = re.compile(r"""([a-zA-Z_:][\w:.-]*)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")
_HIDDEN: Final = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_MAX_LIST_DEPTH: Final = 20


def html_to_text(html: str) -> str:
    return _Reader(html).read()


class _Reader:
    def __init__(self, html: str) -> None:
        self._html = html
        self._out: list[str] = []
        self._breaks = 0
        self._at_start = True
        self._space = False
        self._pre = 0
        self._lists: list[int | None] = []
        self._link: tuple[str, int] | None = None
        self._silent: tuple[str, int] | None = None
        self._never_closes: set[str] = set()

    def read(self) -> str:
        html, position = self._html, 0
        while position < len(html):
            opening = html.find("<", position)
            if opening < 0:
                self._text(html[position:])
                break
            if opening > position:
                self._text(html[position:opening])
            position = self._markup(opening)
        return "".join(self._out).strip() + "\n" if self._out else ""

    def _markup(self, opening: int) -> int:
        """Reads what begins at `<` and answers where to go on."""
        html = self._html
        if html.startswith("<!--", opening):
            return self._after("-->", opening + 4)
        following = html[opening + 1 : opening + 2]
        if following in {"!", "?"}:
            return self._after(">", opening + 2)
        closes = following == "/"
        name = _NAME.match(html, opening + 1 + closes)
        if name is None:
            self._text("<")
            return opening + 1
        end = self._end_of_tag(name.end())
        word = name.group().lower()
        if closes:
            self._close(word)
        else:
            self._open(word, html[name.end() : end])
            if word in {"script", "style"} and self._silent is not None and self._silent[0] == word:
                return self._after_raw(word, end + 1)
        return end + 1

    def _after(self, mark: str, position: int) -> int:
        if mark in self._never_closes:
            return len(self._html)
        end = self._html.find(mark, position)
        if end < 0:
            self._never_closes.add(mark)
            return len(self._html)
        return end + len(mark)

    def _after_raw(self, word: str, position: int) -> int:
        closing = re.compile(f"</{word}", re.IGNORECASE).search(self._html, position)
        return closing.start() if closing else len(self._html)

    def _end_of_tag(self, position: int) -> int:
        """Where the tag's `>` is, quoted attribute values skipped; the end of the text where there is none."""
        html = self._html
        while position < len(html):
            sign = html[position]
            if sign == ">":
                return position
            if sign in "\"'" and sign not in self._never_closes:
                end = html.find(sign, position + 1)
                if end < 0:
                    self._never_closes.add(sign)
                else:
                    position = end
            position += 1
        return position

    def _open(self, word: str, rest: str) -> None:
        if self._silent is not None:
            name, depth = self._silent
            if name == word and not rest.endswith("/"):
                self._silent = (name, depth + 1)
            return
        attributes = self._attributes(rest) if "=" in rest else {}
        hidden = "hidden" in attributes or _HIDDEN.search(attributes.get("style", "")) is not None
        if (word in _SILENT or hidden) and word not in _VOID:
            self._silent = (word, 1)
            return
        self._break_for(word)
        match word:
            case "br":
                self._breaks, self._space = self._breaks + 1, False
            case "hr":
                self._text("-" * 40)
                self._break_for(word)
            case "img" if alt := attributes.get("alt"):
                self._text(alt)
            case "a" if self._link is None:
                self._link = (attributes.get("href", "").strip(), len(self._out))
            case "ul" | "ol" if len(self._lists) < _MAX_LIST_DEPTH:
                self._lists.append(0 if word == "ol" else None)
            case "li":
                self._mark_item()
            case "pre":
                self._pre += 1
            case _:
                pass

    def _close(self, word: str) -> None:
        if self._silent is not None:
            name, depth = self._silent
            if name == word:
                self._silent = (name, depth - 1) if depth > 1 else None
            return
        match word:
            case "a" if self._link is not None:
                self._end_link(*self._link)
                self._link = None
            case "ul" | "ol" if self._lists:
                self._lists.pop()
            case "pre" if self._pre:
                self._pre -= 1
            case _:
                pass
        self._break_for(word)

    def _attributes(self, rest: str) -> dict[str, str]:
        return {
            found.group(1).lower(): unescape(found.group(2).strip("\"'")) for found in _ATTRIBUTE.finditer(rest[:8192])
        }

    def _break_for(self, word: str) -> None:
        if word in _PARAGRAPHS and not (word in {"ul", "ol"} and self._lists):
            self._breaks, self._space = max(self._breaks, 2), False
        elif word in _LINES or word in {"ul", "ol"}:
            self._breaks, self._space = max(self._breaks, 1), False
        elif word in _CELLS:
            self._space = True

    def _mark_item(self) -> None:
        indent = "  " * max(0, len(self._lists) - 1)
        number = self._lists[-1] if self._lists else None
        if self._lists and number is not None:
            self._lists[-1] = number + 1
        self._write(f"{indent}- " if number is None else f"{indent}{number + 1}. ")
        self._at_start = True

    def _end_link(self, target: str, since: int) -> None:
        shown = "".join(self._out[since:]).strip()
        bare = target.removeprefix("mailto:").removeprefix("tel:")
        if target and bare != shown and target.lower().startswith(("http://", "https://", "mailto:", "tel:")):
            self._space = bool(shown)
            self._write(f"({bare})" if shown else bare)

    def _text(self, raw: str) -> None:
        if self._silent is not None:
            return
        text = unescape(raw) if "&" in raw else raw
        if self._pre:
            self._write(text)
            return
        words = text.split()
        if not words:
            self._space = True
            return
        if text[0].isspace():
            self._space = True
        self._write(" ".join(words))
        self._space = text[-1].isspace()

    def _write(self, text: str) -> None:
        if self._breaks and self._out:
            self._out.append("\n" * min(self._breaks, 2))
        elif self._space and not self._at_start and self._out:
            self._out.append(" ")
        self._breaks, self._space, self._at_start = 0, False, False
        self._out.append(text)
