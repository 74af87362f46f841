"""Files about languages and time zones, read for children that can open none. No other file has a name here."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"(?P<kind>locale|zone):(?P<name>[A-Za-z0-9_+-]{1,40}(?:/[A-Za-z0-9_+-]{1,40}){0,2})\Z")
_PLACES: Final = {"locale": ("babel", "locale-data", ".dat"), "zone": ("tzdata", "zoneinfo", "")}


def locale_resource(name: str) -> str:
    return f"locale:{name}"


def zone_resource(name: str) -> str:
    return f"zone:{name}"


def read_resource(wish: str) -> bytes | None:
    """The bytes, or None where there is no such locale or zone."""
    match = _NAME.match(wish)
    if match is None:
        return None
    package, folder, suffix = _PLACES[match["kind"]]
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    if not places:
        return None
    try:
        return (Path(places[0]) / folder / (match["name"] + suffix)).read_bytes()
    except OSError:
        return None
