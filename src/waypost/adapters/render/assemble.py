"""Layouts and partials, worked into the source before anything else is done: an `include` reads as if the partial's
text stood in its place, in both template languages and in every format. Only what was handed in has a name."""

import re
from collections.abc import Mapping
from typing import Final

from waypost.adapters.render.limits import MAX_SOURCE_BYTES
from waypost.adapters.render.refusal import RenderRefused
from waypost.templates.model import Format, Fragment, Profile

_INCLUDE: Final = re.compile(
    r"\{%(?P<left>-?)\+?\s*(?P<word>include|render)\s+(?P<quote>[\"'])(?P<name>[^\"'\n{}%]{1,200})(?P=quote)"
    r"(?P<rest>[^%]{0,2000}?)(?P<right>-?)\s*%\}"
)
_OPTIONS: Final = re.compile(r"\s*(?P<optional>ignore\s+missing)?\s*(?:with(?:out)?\s+context)?\s*\Z")
_ARGUMENT: Final = r"""[\w-]{1,100}\s*:\s*(?:"[^"]*"|'[^']*'|[^,\s"']+)"""
_ARGUMENTS: Final = re.compile(
    r"\s*(?:(?P<how>with|for)\s+(?P<what>[^,\s]{1,200})(?:\s+as\s+(?P<alias>[A-Za-z_]\w{0,99}))?)?"
    rf"\s*,?\s*(?P<given>(?:{_ARGUMENT}\s*,?\s*)*)\Z"
)
_GIVEN: Final = re.compile(r"""([\w-]+)\s*:\s*("[^"]*"|'[^']*'|[^,\s"']+)""")
SLOT: Final = re.compile(
    r"\{\{-?\s*content(?:_for_layout)?\s*-?\}\}|\{%-?\s*block\s+content\s*-?%\}.*?\{%-?\s*endblock(?:\s+content)?\s*-?%\}",
    re.DOTALL,
)
# What a body may be for a layout to stand around it.
_FITS: Final = {
    Format.HTML: frozenset({Format.HTML, Format.MARKDOWN}),
    Format.MJML: frozenset({Format.MJML, Format.HTML, Format.MARKDOWN}),
    Format.MARKDOWN: frozenset({Format.MARKDOWN}),
    Format.TEXT: frozenset({Format.TEXT}),
    Format.JSON: frozenset({Format.JSON}),
}


class Assembly:
    def __init__(self, profile: Profile, fragments: Mapping[str, Fragment]) -> None:
        self._profile = profile
        self._fragments = fragments
        self._expanded: dict[str, str] = {}
        self._path: list[str] = []

    def expand(self, source: str, pointer: str) -> str:
        """The source with every partial in its place."""
        pieces, position, size = list[str](), 0, 0
        for found in _INCLUDE.finditer(source):
            before = source[position : found.start()]
            position = found.end()
            if found["left"]:
                before = before.rstrip()
            if found["right"]:
                position += len(source[position:]) - len(source[position:].lstrip())
            partial = self._partial(found, pointer)
            pieces += [before, partial]
            size += len(before) + len(partial)
            if size > MAX_SOURCE_BYTES:
                break
        pieces.append(source[position:])
        whole = "".join(pieces)
        if len(whole) > MAX_SOURCE_BYTES:
            words = f"With its partials, the source must be at most {MAX_SOURCE_BYTES // 1024} KB."
            raise RenderRefused("too_large", words, pointer)
        return whole

    def layouts(self, name: str | None, format_: Format) -> list[Fragment]:
        """The layouts around a body of this format, from the inside out."""
        chain, seen = list[Fragment](), list[str]()
        while name is not None:
            if name in seen:
                raise _cycle([*seen, name], "/layout")
            seen.append(name)
            layout = self._known(name, "/layout")
            if format_ not in _FITS[layout.format]:
                message = f"A layout in {layout.format.value} cannot stand around a body in {format_.value}."
                raise RenderRefused("wrong_format", message, "/layout")
            if not SLOT.search(layout.body):
                message = f"The layout `{name}` has no `{{{{ content }}}}` to put the body in."
                raise RenderRefused("no_content_slot", message, "/layout")
            chain.append(layout)
            name, format_ = layout.layout, layout.format
        return chain

    def _partial(self, found: re.Match[str], pointer: str) -> str:
        name, options = found["name"], None
        if self._profile is Profile.JINJA:
            options = _OPTIONS.match(found["rest"])
            if options is None or found["word"] == "render":
                raise _unreadable(name, pointer)
            if options["optional"] and name not in self._fragments:
                return ""
            return self._body(name, pointer)
        options = _ARGUMENTS.match(found["rest"])
        if options is None:
            raise _unreadable(name, pointer)
        body = self._body(name, pointer)
        given = "".join(f"{{% assign {key} = {value} %}}" for key, value in _GIVEN.findall(options["given"]))
        alias = options["alias"] or name.rpartition("/")[2].replace("-", "_")
        if options["how"] == "for":
            return f"{given}{{% for {alias} in {options['what']} %}}{body}{{% endfor %}}"
        if options["how"] == "with":
            given += f"{{% assign {alias} = {options['what']} %}}"
        return given + body

    def _body(self, name: str, pointer: str) -> str:
        if name in self._path:
            raise _cycle([*self._path[self._path.index(name) :], name], pointer)
        known = self._expanded.get(name)
        if known is None:
            fragment = self._known(name, pointer)
            self._path.append(name)
            known = self._expanded[name] = self.expand(fragment.body, pointer)
            self._path.pop()
        return known

    def _known(self, name: str, pointer: str) -> Fragment:
        fragment = self._fragments.get(name)
        if fragment is None:
            word = "layout" if pointer == "/layout" else "partial"
            raise RenderRefused(f"unknown_{word}", f"There is no published {word} called `{name}`.", pointer)
        if fragment.profile is not self._profile:
            message = f"`{name}` is written in {fragment.profile.value}, this in {self._profile.value}."
            raise RenderRefused("wrong_profile", message, pointer)
        return fragment


def without_includes(source: str) -> str:
    """For a look at the source alone, with its own line numbers."""
    return _INCLUDE.sub(lambda found: "\n" * found[0].count("\n"), source)


def _cycle(names: list[str], pointer: str) -> RenderRefused:
    way = " → ".join(f"`{name}`" for name in names[:10])
    return RenderRefused("cyclic_layout", f"Layouts and partials go round in a circle: {way}.", pointer)


def _unreadable(name: str, pointer: str) -> RenderRefused:
    return RenderRefused("template_syntax", f"The words after `{name}` where it is included cannot be read.", pointer)
