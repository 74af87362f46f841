"""Version numbers: three numbers, greater ones later. Pre-releases are drafts and need no sign of their own."""

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from waypost.kernel.errors import refuse

Semver: TypeAlias = tuple[int, int, int]

FIRST: Final = "1.0.0"
_SEMVER: Final = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\Z")
_HIGHEST: Final = 999_999_999


def parse(text: str) -> Semver | None:
    match = _SEMVER.match(text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def choose(asked: str | None, taken: Iterable[str], published: Iterable[str], pointer: str) -> str:
    """The number of a new version: the one asked for, or the next minor one after all that are there.

    It is new, and greater than all that were ever published: what people have seen stays in order."""
    numbers = {number for text in taken if (number := parse(text)) is not None}
    if asked is None:
        major, minor, _ = max(numbers, default=(1, -1, 0))
        return f"{major}.{minor + 1}.0" if minor < _HIGHEST else f"{major + 1}.0.0"
    wanted = parse(asked)
    if wanted is None:
        message = "A version is three numbers such as `1.4.0`, without zeros before them."
        raise refuse(pointer, "invalid_semver", message)
    if wanted in numbers:
        raise refuse(pointer, "semver_taken", "This template has a version of this number; versions never change.")
    highest = max((number for text in published if (number := parse(text)) is not None), default=None)
    if highest is not None and wanted < highest:
        shown = ".".join(str(part) for part in highest)
        raise refuse(pointer, "semver_too_low", f"Version {shown} is published already: choose a greater one.")
    return asked
