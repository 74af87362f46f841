"""Writes the little TOML that a folder of templates needs: texts, lists of texts, and tables of them."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+\Z")


def to_toml(about: Mapping[str, Any]) -> str:
    return "\n".join(_lines(about, ())) + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    inner: dict[str, Mapping[str, Any]] = {name: each for name, each in table.items() if isinstance(each, Mapping)}
    for name, value in table.items():
        if name not in inner and value not in (None, []):
            yield f"{_key(name)} = {_value(value)}"
    for name, value in inner.items():
        place = (*path, name)
        if any(not isinstance(each, Mapping) for each in value.values()):
            yield ""
            yield f"[{'.'.join(_key(part) for part in place)}]"
        yield from _lines(value, place)


def _value(value: str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(each) for each in value)}]"
    # A JSON string is a TOML string, but for one character that TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE.match(name) else json.dumps(name)
