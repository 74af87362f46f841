"""Languages and time zones, loaded when they are first spoken. An unknown one falls back: no message fails for it."""

import io
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import tzinfo
from pathlib import PurePath
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from babel import Locale, UnknownLocaleError, localedata
from babel.core import get_global

from waypost.adapters.render.resources import Library, locale_resource, zone_resource
from waypost.kernel.locale_tag import less_exact

MOST_LOCALES: Final = 24
"""Each takes about a megabyte."""
_MOST_ZONES: Final = 200
_USUAL: Final = "en"

_Known = TypeVar("_Known")


# Both read the disk when they are first asked, which must be now.
get_global("likely_subtags")
localedata.locale_identifiers()


class Atlas:
    def __init__(self, library: Library) -> None:
        self._library = library
        self._locales: OrderedDict[str, Locale | None] = OrderedDict()
        self._zones: OrderedDict[str, ZoneInfo | None] = OrderedDict()
        # The library opens its data by path; a child can open nothing, and asks for the bytes instead.
        setattr(localedata, "open", self._open)  # noqa: B010

    def locale(self, *tags: str | None) -> Locale:
        """The first of the tags that is known, as exactly as possible; English where none is."""
        for tag in tags:
            for candidate in less_exact(tag) if tag and len(tag) <= 40 else ():
                found = _remembered(self._locales, candidate, self._load, MOST_LOCALES)
                if found is not None:
                    return found
        return Locale(_USUAL)

    def zone(self, name: str | None) -> tzinfo:
        found = _remembered(self._zones, name, self._load_zone, _MOST_ZONES) if name else None
        return found or _remembered(self._zones, "UTC", self._load_zone, _MOST_ZONES) or ZoneInfo("UTC")

    def _load(self, tag: str) -> Locale | None:
        while len(localedata._cache) > MOST_LOCALES:  # pyright: ignore[reportPrivateUsage]
            localedata._cache.clear()  # pyright: ignore[reportPrivateUsage]
        begun = time.process_time()
        try:
            locale = Locale.parse(tag, sep="-")
            locale.plural_form  # noqa: B018 — loads the data
        except (UnknownLocaleError, ValueError, OSError):
            return None
        finally:
            self._library.excuse(time.process_time() - begun)
        return locale

    def _load_zone(self, name: str) -> ZoneInfo | None:
        raw = self._library.read(zone_resource(name))
        try:
            return ZoneInfo.from_file(io.BytesIO(raw), key=name) if raw is not None else None
        except ValueError:
            return None

    def _open(self, path: str, _mode: str) -> io.BytesIO:
        raw = self._library.read(locale_resource(PurePath(path).stem))
        if raw is None:
            raise FileNotFoundError(path)
        return io.BytesIO(raw)


def _remembered(
    shelf: OrderedDict[str, _Known | None], name: str, load: Callable[[str], _Known | None], most: int
) -> _Known | None:
    if name not in shelf:
        shelf[name] = load(name)
        if len(shelf) > most:
            shelf.popitem(last=False)
    return shelf[name]
