"""Which layouts and partials a source refers to, so that whoever compiles it can be handed exactly those."""

import re
from collections.abc import Mapping
from typing import Final

from waypost.templates.model import Fragment

_REFERENCE: Final = re.compile(r"""\{%[-+]?\s*(?:include|render)\s+(?:"([^"\n{}%]{1,200})"|'([^'\n{}%]{1,200})')""")
MOST_FRAGMENTS: Final = 50


def referenced_names(source: str) -> frozenset[str]:
    """The names that are written in quotes after `include` or `render`; no other reference is possible."""
    return frozenset(found[1] or found[2] for found in _REFERENCE.finditer(source))


def missing_names(source: str, layout: str | None, known: Mapping[str, Fragment]) -> frozenset[str]:
    """What must still be looked up before `source` can be compiled; ask again with what was found, until it is empty
    or names that do not exist."""
    wanted = {*referenced_names(source), layout or ""}
    for fragment in known.values():
        wanted |= {*referenced_names(fragment.body), fragment.layout or ""}
    return frozenset(wanted - known.keys() - {""})
