"""Links and pixel of a content, found once when it is compiled; per message only what names the message is filled in.

A tracked link reads `<where>/<message>.<link>`. The second half is signed here (`tracking.link_token`) and, where the
address is the same for everybody, is part of the template; the first half comes with each message. An address that a
value decides is signed for each message, or all of them at once (`link_personal`). Where the template steers inside of
a tag, or decides an address in a loop, the finished markup is read instead (`rewrite`), which is slower and finds the
same.
"""

import re
from collections import OrderedDict
from collections.abc import Container
from html import unescape
from typing import Final

from waypost.adapters.render.link_personal import Patterns, PersonalLink, Render
from waypost.adapters.render.link_scan import Link, Scan, scan
from waypost.adapters.render.link_words import LINK_WORDS
from waypost.adapters.render.mail_quoted import tags_of
from waypost.adapters.render.recipes import Path
from waypost.adapters.render.refusal import RenderRefused
from waypost.templates.context import LINKS
from waypost.templates.model import JsonObject, JsonValue
from waypost.templates.ports import MARK, Instrument
from waypost.tracking.link_token import BETWEEN, LinkPen
from waypost.tracking.model import MOST_LINKS
from waypost.tracking.targets import target_of

LINK_MARKS: Final = "waypost_links"

# Stand in for tags while the markup is read: one cannot be in any text, and nobody reads anything into it.
_VALUE: Final = "\ufdd0"
_STEERING: Final = "\ufdd1"
_VERB: Final = re.compile(r"\{%\s*(\w+)")
_LOOP: Final = re.compile(r"\{%\s*for\s+(\w+)(?:\s*,\s*(\w+))?\s")
_NAME: Final = re.compile(r"\{\{\s*([A-Za-z_]\w*)")
_MOST_REMEMBERED: Final = 512


class LinkSlots:
    """What of one content is tracked."""

    def __init__(self, instrument: Instrument, source: str, render: Render | None) -> None:
        self._instrument = instrument
        self._pen = LinkPen(instrument.key, instrument.version)
        self._source = source
        self._signed: OrderedDict[str, str] = OrderedDict()
        self.personal: list[PersonalLink] = []
        self._patterns: Patterns | None = None
        self.template: str | None = None
        """The template with its links and pixel; None where only the finished markup tells where they are."""
        self.worded: str | None = None
        """The same with patterns for addresses that differ by words only; None where there is none of these."""
        if render is not None:
            self._track(render)

    def words(self, context: JsonObject) -> JsonObject | None:
        """For `worded`: the context with what is signed for this message. None where a value is no word."""
        words = self._patterns.words.of(context) if self._patterns is not None else None
        if words is None or self._patterns is None:
            return None
        others = self._signed_one_by_one(context, self._patterns.written.keys())
        return None if others is None else {**context, LINK_WORDS: words, **others}

    @property
    def usual_words(self) -> list[Path] | None:
        """The values that all is signed with that differs from message to message; None where there is more."""
        if self._patterns is None:
            return None if self.personal else []
        return self._patterns.words.paths if len(self._patterns.written) == len(self.personal) else None

    def marks(self, context: JsonObject) -> JsonObject | None:
        """For `template`: the context with what is signed for this message. None where one of its addresses is none
        that can be tracked, this time."""
        if not self.personal:
            return context
        signed = self._signed_one_by_one(context, ())
        return None if signed is None else {**context, **signed}

    def _signed_one_by_one(self, context: JsonObject, but: Container[int]) -> JsonObject | None:
        signed: dict[str, JsonValue] = {}
        for one in self.personal:
            if one.link in but:
                continue
            try:
                url = self._target(one.address(context))
            except RenderRefused:
                # Perhaps it stands where nobody looks: that is for the whole message to tell.
                return None
            if url is None:
                return None
            signed[one.name] = self._sign(one.link, url, is_personal=True)
        return {LINK_MARKS: signed} if signed else {}

    def rewrite(self, html: str, context: JsonObject) -> str:
        """The finished markup of one message, tracked."""
        found = scan(html)
        edits = [(start, end, "") for start, end in found.opt_outs]
        number = 0
        prefix = f"{self._instrument.clicks}{context.get(MARK, '')}{BETWEEN}"
        for link in found.links if self._instrument.clicks else ():
            written = html[link.start : link.end]
            url = None if link.opt_out else self._target(unescape(written))
            if url is not None and number < MOST_LINKS:
                number += 1
                edits.append((link.start, link.end, prefix + self._remembered(number, url, written)))
        if self._instrument.opens:
            end = len(html) if found.body_end is None else found.body_end
            edits.append((end, end, _pixel(f"{self._instrument.opens}{context.get(MARK, '')}")))
        return _edited(html, edits)

    def _track(self, render: Render) -> None:
        source = self._source
        tags = tags_of(source)
        if tags is None or _VALUE in source or _STEERING in source:
            return
        found = scan(_masked(source, tags))
        if _steers_inside(tags, found) or (found.body_end is not None and _depth(tags, found.body_end)):
            return
        marks: dict[int, tuple[Link, str]] = {}
        if self._instrument.clicks:
            looped = _loop_names(tags)
            for link in found.links:
                inside = [tag for tag in tags if link.start <= tag[0] < link.end]
                if link.opt_out or self._is_never_tracked(link, inside) or len(marks) >= MOST_LINKS:
                    continue
                number = len(marks) + 1
                mark = self._mark(number, link, inside, looped, render)
                if mark is None:
                    return
                marks[number] = (link, mark)
        self.template = self._with_marks(found, marks, {})
        patterns = Patterns(self._instrument, self.personal)
        if patterns.written:
            self._patterns, self.worded = patterns, self._with_marks(found, marks, patterns.written)

    def _with_marks(self, found: Scan, marks: dict[int, tuple[Link, str]], instead: dict[int, str]) -> str:
        source = self._source if found.body_end is not None else self._source.removesuffix("\n")
        prefix = f"{self._instrument.clicks}{{{{ {MARK} }}}}{BETWEEN}"
        edits = [(start, end, "") for start, end in found.opt_outs]
        edits += [(link.start, link.end, prefix + instead.get(number, mark)) for number, (link, mark) in marks.items()]
        if self._instrument.opens:
            end = len(source) if found.body_end is None else found.body_end
            edits.append((end, end, _pixel(f"{self._instrument.opens}{{{{ {MARK} }}}}")))
        return _edited(source, edits)

    def _mark(
        self, number: int, link: Link, inside: list[tuple[int, int, str]], looped: set[str], render: Render
    ) -> str | None:
        """What is written in place of the address, after the message; None where only the finished markup tells."""
        written = self._source[link.start : link.end]
        if not inside:
            url = self._target(unescape(written))
            return self._sign(number, url or "", is_personal=False)
        names = {name[1] for _, _, tag in inside if (name := _NAME.match(tag))}
        if names & looped or "loop" in names:
            return None
        shifted = [(start - link.start, end - link.start, tag) for start, end, tag in inside]
        self.personal.append(PersonalLink(number, written, shifted, render))
        return f"{{{{ {LINK_MARKS}.n{number} }}}}"

    def _is_never_tracked(self, link: Link, inside: list[tuple[int, int, str]]) -> bool:
        """An address that begins with no value is judged once for all; our own links are never tracked."""
        written = self._source[link.start : link.end]
        if not inside:
            return self._target(unescape(written)) is None
        if any((name := _NAME.match(tag)) and name[1] in LINKS for _, _, tag in inside):
            return True
        head = unescape(written[: inside[0][0] - link.start]).lstrip()
        return bool(head) and not head.lower().startswith(("http://", "https://"))

    def _target(self, address: str) -> str | None:
        url = target_of(address)
        return None if url is None or url.startswith(self._instrument.spared) else url

    def _sign(self, number: int, url: str, *, is_personal: bool) -> str:
        return self._pen.write(number, url, is_personal=is_personal)

    def _remembered(self, number: int, url: str, written: str) -> str:
        """What stands in the source as it is, is the same for everybody, and signed once."""
        name = f"{number} {written}"
        known = self._signed.get(name)
        if known is None:
            known = self._sign(number, url, is_personal=written not in self._source)
            self._signed[name] = known
            if len(self._signed) > _MOST_REMEMBERED:
                self._signed.popitem(last=False)
        return known


def _pixel(address: str) -> str:
    return f'<img src="{address}.gif" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">'


def _masked(source: str, tags: list[tuple[int, int, str]]) -> str:
    pieces, position = list[str](), 0
    for start, end, tag in tags:
        pieces += (source[position:start], (_VALUE if tag.startswith("{{") else _STEERING) * (end - start))
        position = end
    return "".join((*pieces, source[position:]))


def _steers_inside(tags: list[tuple[int, int, str]], found: Scan) -> bool:
    """Is there a tag that decides what of an element's own tag is there?"""
    steering = [start for start, _, tag in tags if not tag.startswith("{{")]
    places = iter(found.tags)
    place = next(places, None)
    for start in steering:
        while place is not None and place[1] <= start:
            place = next(places, None)
        if place is not None and place[0] < start:
            return True
    return False


def _depth(tags: list[tuple[int, int, str]], place: int) -> int:
    """How many conditions and loops a place stands in."""
    depth = 0
    for start, _, tag in tags:
        if start >= place:
            break
        verb = _VERB.match(tag)
        if verb is not None:
            depth += (verb[1] in ("if", "for")) - (verb[1] in ("endif", "endfor"))
    return depth


def _loop_names(tags: list[tuple[int, int, str]]) -> set[str]:
    return {name for _, _, tag in tags if (loop := _LOOP.match(tag)) for name in loop.groups() if name}


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    if not edits:
        return text
    pieces, position = list[str](), 0
    for start, end, new in sorted(edits):
        pieces += (text[position:start], new)
        position = end
    return "".join((*pieces, text[position:]))
