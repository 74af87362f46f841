"""Why a body or a query has not the stated shape: the field by JSON pointer, and what would fit there.

msgspec says what is wrong in a sentence; this reads it back. Nothing of the caller's values may pass into ours.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, cast

import msgspec
from msgspec import inspect

from waypost.kernel.errors import FieldError, Refused

UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_LONGEST_NAME: Final = 100

_PLACE: Final = re.compile(r"(?P<what>.*) - at `(?P<key>key` in `)?(?P<path>\$[^`]*)`\Z", re.DOTALL)
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<name>.*)`\Z", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>[^`]*)`\Z")
_EXPECTED: Final = re.compile(r"Expected `(?P<wanted>[^`]*)`(?P<rest>.*)\Z", re.DOTALL)
_STEP: Final = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]|(?P<any>\[\.\.\.\])")
_SOME_KEY: Final = None
"""A step into a map has no name in msgspec's path."""
_WORDS: Final = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "object": "an object",
    "array": "an array",
    "datetime": "an RFC 3339 time",
}


def shape_refusal(sentence: str, plain: Any, shape: Any, *, strict: bool) -> Refused:
    place = _PLACE.match(sentence)
    what, steps = (place["what"], list(_steps(place["path"]))) if place else (sentence, [])
    is_key = bool(place and place["key"])
    path = _path(_Trial(sentence, plain, shape, strict), [*steps, _SOME_KEY] if is_key else steps)
    pointer = "".join(f"/{escape(step[:_LONGEST_NAME])}" for step in path)
    if unknown := _UNKNOWN.match(what):
        name = unknown["name"]
        return _field(f"{pointer}/{escape(name[:_LONGEST_NAME])}", "unknown_field", _known_fields(shape, path, name))
    if missing := _MISSING.match(what):
        return _field(f"{pointer}/{escape(missing['name'])}", "required", "This field is required.")
    if expected := _EXPECTED.match(what):
        return _field(pointer, *_shortfall(expected["wanted"], expected["rest"]))
    if "RFC3339" in what:
        return _field(pointer, "invalid_time", "Write an RFC 3339 time such as 2026-01-15T12:00:00Z.")
    if "enum value" in what:
        return _field(pointer, "unknown_value", _known_values(shape, path, is_key=is_key))
    return _field(pointer, "invalid", "Not a value that this field takes.")


def escape(name: str) -> str:
    return UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", name).replace("~", "~0").replace("/", "~1")


class _Trial:
    """Asks again with less in a map, to learn which of its keys is meant."""

    def __init__(self, sentence: str, plain: Any, shape: Any, strict: bool) -> None:  # noqa: FBT001 — as it was asked
        self.plain = plain
        self._sentence = sentence
        self._shape = shape
        self._strict = strict

    def fails_alike(self, plain: Any) -> bool:
        try:
            msgspec.convert(plain, self._shape, strict=self._strict)
        except msgspec.ValidationError as refusal:
            return str(refusal) == self._sentence
        return False


def _steps(path: str) -> Iterator[str | None]:
    for step in _STEP.finditer(path[1:]):
        yield _SOME_KEY if step["any"] else step["name"] or step["index"]


def _path(trial: _Trial, steps: list[str | None]) -> list[str]:
    """`$.locales[...].body` with the key that is meant. Where it cannot be told, the path ends before it."""
    path: list[str] = []
    for step in steps:
        name = _culprit(trial, path) if step is _SOME_KEY else step
        if name is None:
            break
        path.append(name)
    return path


def _culprit(trial: _Trial, path: list[str]) -> str | None:
    found = _at(trial.plain, path)
    if not isinstance(found, dict):
        return None
    items = list(cast("dict[str, Any]", found).items())
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if trial.fails_alike(_with(trial.plain, path, dict(items[: middle + 1]))):
            high = middle
        else:
            low = middle + 1
    return items[low][0] if low < len(items) else None


def _at(plain: Any, path: list[str]) -> object:
    here: Any = plain
    for step in path:
        here = cast("list[Any]", here)[int(step)] if isinstance(here, list) else here[step]
    return here


def _with(plain: Any, path: list[str], inside: Any) -> Any:
    if not path:
        return inside
    step, rest = path[0], path[1:]
    if isinstance(plain, list):
        index, many = int(step), cast("list[Any]", plain)
        return [*many[:index], _with(many[index], rest, inside), *many[index + 1 :]]
    return {**plain, step: _with(plain[step], rest, inside)}


def _shortfall(wanted: str, rest: str) -> tuple[str, str]:
    if rest.startswith(", got "):
        return "wrong_type", f"Expected {_in_words(wanted)}."
    if "timezone" in rest:
        return "invalid_time", "Name the offset of the time, such as Z for UTC."
    if rest.startswith((" of length", " <", " >")):
        return "out_of_range", f"Expected {_in_words(wanted)}{rest}."
    return "invalid_format", "Not in the form that this field takes."


def _in_words(wanted: str) -> str:
    return " or ".join(_WORDS.get(word, word) for word in wanted.split(" | "))


def _known_fields(shape: Any, path: list[str], name: str) -> str:
    known = [field.encode_name for each in _types_at(shape, path) for field in _fields(each)]
    if not known:
        return "There is no such field."
    if near := get_close_matches(name, known, n=1):
        return f"There is no such field. Is it `{near[0]}`?"
    return f"There is no such field. There are {', '.join(f'`{each}`' for each in known)}."


def _fields(found: inspect.Type) -> tuple[inspect.Field, ...]:
    return found.fields if isinstance(found, inspect.StructType) else ()


def _known_values(shape: Any, path: list[str], *, is_key: bool) -> str:
    if is_key:
        maps = [each for each in _types_at(shape, path[:-1]) if isinstance(each, inspect.DictType)]
        found = [one for each in maps for one in _alternatives(each.key_type)]
    else:
        found = list(_types_at(shape, path))
    values = [str(value) for each in found for value in _values(each)]
    return f"Write one of {', '.join(values)}." if values else "Not one of the values that this field takes."


def _values(found: inspect.Type) -> Iterator[object]:
    if isinstance(found, inspect.LiteralType):
        yield from (value for value in found.values if value is not None)
    elif isinstance(found, inspect.EnumType):
        yield from (each.value for each in found.cls)


def _types_at(shape: Any, path: list[str]) -> list[inspect.Type]:
    here = _alternatives(_type_info(shape))
    for step in path:
        here = [one for each in here for inner in _inside(each, step) for one in _alternatives(inner)]
    return here


@lru_cache(maxsize=256)
def _type_info(shape: Any) -> inspect.Type:
    return inspect.type_info(shape)


def _inside(found: inspect.Type, step: str) -> Iterator[inspect.Type]:
    if isinstance(found, inspect.StructType):
        yield from (field.type for field in found.fields if field.encode_name == step)
    elif isinstance(found, inspect.DictType):
        yield found.value_type
    elif isinstance(found, inspect.ListType | inspect.VarTupleType):
        yield found.item_type


def _alternatives(found: inspect.Type) -> list[inspect.Type]:
    """What may stand there; what only describes it is looked through."""
    if isinstance(found, inspect.UnionType):
        return [one for each in found.types for one in _alternatives(each)]
    if isinstance(found, inspect.Metadata):
        return _alternatives(found.type)
    return [found]


def _field(pointer: str, code: str, message: str) -> Refused:
    return Refused(message, code=code, errors=[FieldError(pointer=pointer, code=code, message=message)])
