"""What a template reads, in the words of `ContentReport.mentioned`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from waypost.adapters.render.speech import FILTERS

_SPACES: Final = frozenset({"recipient", "tenant"})
_SPOKEN: Final = frozenset({"recipient.locale", "recipient.timezone"})
# By its name after a bar, or in quotes for those who name filters to other filters. Too often rather than not.
_SPEAKS: Final = re.compile(rf"""(?:\||["']|\bfilter\s)\s*(?:{"|".join(FILTERS)})\b""")


def mentioned(paths: Iterable[Sequence[str]], *, speaks: bool) -> frozenset[str]:
    """`paths` are names with the members that are read of them, as far as the template tells beforehand."""
    found = frozenset(_told(paths))
    return found | _SPOKEN if speaks else found


def might_speak(source: str) -> bool:
    """Could the source use a filter that speaks the recipient's language?"""
    return _SPEAKS.search(source) is not None


def _told(paths: Iterable[Sequence[str]]) -> Iterator[str]:
    for path in paths:
        depth = 1
        if path[0] in _SPACES:
            depth = 3 if tuple(path[:2]) == ("recipient", "attributes") else 2
        yield ".".join(path[:depth])
