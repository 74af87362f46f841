"""Files about languages and time zones, read for children that can open none. No other file has a name here."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol

_NAME: Final = re.compile(r"(?P<kind>locale|zone):(?P<name>[A-Za-z0-9_+-]{1,40}(?:/[A-Za-z0-9_+-]{1,40}){0,2})\Z")
_PLACES: Final = {"locale": ("babel", "locale-data", ".dat"), "zone": ("tzdata", "zoneinfo", "")}


def locale_resource(name: str) -> str:
    return f"locale:{name}"


def zone_resource(name: str) -> str:
    return f"zone:{name}"


class Library(Protocol):
    """Where a renderer reads of languages and time zones, and asks for the libraries that it lacks."""

    def read(self, name: str) -> bytes | None: ...

    def excuse(self, seconds: float) -> None:
        """Learning a language took this long, which is no fault of the content that needed it first."""
        ...


class OpenLibrary:
    """For whoever can open files."""

    def read(self, name: str) -> bytes | None:
        return read_resource(name)

    def excuse(self, seconds: float) -> None:
        return None


def read_resource(wish: str) -> bytes | None:
    """The bytes, or None where there is no such locale or zone."""
    match = _NAME.match(wish)
    if match is None:
        return None
    package, folder, suffix = _PLACES[match["kind"]]
    try:
        return (_home(package) / folder / (match["name"] + suffix)).read_bytes()
    except OSError:
        return None


@cache
def _home(package: str) -> Path:
    """Where a package lies, without importing it."""
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise FileNotFoundError(package)
    return Path(places[0])
