"""Where in markup a hidden tag stands decides how it is hidden. One pass, which also refuses what nests too deeply."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.source_scan import MAX_NESTING
from waypost.adapters.render.tag_slots import Slots

_VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_CLOSED_BY_ITSELF: Final = frozenset({"p", "li", "tr", "td", "th", "option", "dd", "dt", "tbody", "thead"})
_VERBATIM: Final = frozenset({"style", "script", "title", "textarea", "mj-style", "mj-title", "mj-preview"})
_PIECE: Final = re.compile(
    r"<!--\[if[^\]]*\]>(?!<!-->).*?<!\[endif\]-->|<!--.*?-->|<![^>]*+>|<\?[^>]*+>"
    r"""|<(?P<closes>/?)(?P<name>[A-Za-z][\w:.-]*)(?P<rest>(?:[^"'>]|"[^"]*+"|'[^']*+')*+)>""",
    re.DOTALL,
)
_QUOTED: Final = re.compile(r""""[^"]*"|'[^']*'""")


@dataclass(frozen=True, slots=True)
class Dress:
    """How a word that stands between elements is hidden: by the element around it, or else in a comment."""

    around: Mapping[str, str] | None = None
    """By element, what to write around the comment (`%s`)."""
    keeps_style: bool = False
    """Set aside every style sheet that holds a steering tag."""


class MarkupScan:
    def __init__(self, slots: Slots, dress: Dress, pointer: str) -> None:
        self._slots = slots
        self._dress = dress
        self._pointer = pointer
        self._stack: list[str] = []
        self._out: list[str] = []
        self.elements = 0
        self.names: set[str] = set()

    def run(self, markup: str) -> str:
        last = markup.rfind("<!--")
        if last > markup.rfind("-->"):
            line = markup.count("\n", 0, last) + 1
            raise RenderRefused("template_refused", f"The comment on line {line} is never closed.", self._pointer)
        position = 0
        while found := _PIECE.search(markup, position):
            self._text(markup[position : found.start()])
            position = found.end()
            name = (found["name"] or "").lower()
            if not name:
                self._out.append(self._bare(found[0]))
            elif found["closes"]:
                self._close(name)
                self._out.append(found[0])
            else:
                position = self._open(markup, found, name)
        self._text(markup[position:])
        return "".join(self._out)

    def _open(self, markup: str, found: re.Match[str], name: str) -> int:
        self.elements += 1
        self.names.add(name)
        rest = found["rest"]
        tag = f"<{found['name']}{self._attributes(rest)}>"
        if name in _VERBATIM and not rest.endswith("/"):
            closing = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(markup, found.end())
            end = closing.end() if closing else len(markup)
            inner = markup[found.end() : end]
            aside = self._dress.keeps_style and name == "style" and self._slots.steering(inner)
            self._out.append(self._slots.keep_comment(tag + inner) if aside else tag + inner)
            return end
        self._out.append(tag)
        if name not in _VOID and not rest.endswith("/"):
            if self._stack and self._stack[-1] == name and name in _CLOSED_BY_ITSELF:
                self._stack.pop()
            self._stack.append(name)
            if len(self._stack) > MAX_NESTING:
                line = markup.count("\n", 0, found.start()) + 1
                message = f"The markup nests more than {MAX_NESTING} elements on line {line}."
                raise RenderRefused("template_refused", message, self._pointer)
        return found.end()

    def _close(self, name: str) -> None:
        if name in self._stack:
            while self._stack.pop() != name:
                pass

    def _text(self, text: str) -> None:
        if not text:
            return
        parent = self._stack[-1] if self._stack else ""
        around = (self._dress.around or {}).get(parent, "%s")
        self._out.append(self._slots.word.sub(lambda found: around % f"<!--{found[0]}-->", text))

    def _attributes(self, rest: str) -> str:
        """What stands between the first and the last steering tag is one piece: attributes move around otherwise."""
        outside = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), rest)
        steering = [found for found in self._slots.word.finditer(outside) if not self._slots.prints(found[0])]
        if not steering:
            return rest
        start, end = steering[0].start(), steering[-1].end()
        return f"{rest[:start]} {self._slots.keep(rest[start:end])} {rest[end:]}"

    def _bare(self, comment: str) -> str:
        """A comment cannot hold another: inside of one, words are bare."""
        return self._slots.uncomment(comment) if comment.startswith("<!--[if") else comment
