"""JSON Schema of a template's variables, checked inside the render process. Messages are ours: none repeats a value."""

from collections import OrderedDict
from typing import Final, NoReturn

import jsonschema_rs
import msgspec

from waypost.adapters.render.limits import MAX_SCHEMA_BYTES
from waypost.adapters.render.wire import Fault

MAX_SCHEMA_DEPTH: Final = 64
MAX_FAULTS: Final = 50
_MAX_CACHED: Final = 64
_BACKTRACK_LIMIT: Final = 100_000


_TYPES: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}

# What the schema itself states may be shown; what the variables hold may not.
_SHOWN: Final = ("limit", "format", "multiple_of")
_OTHERWISE: Final = ("invalid", "is not what the schema asks for")
_SENTENCES: Final = {
    "const": ("not_allowed", "must be the one value that the schema allows"),
    "enum": ("not_allowed", "must be one of the values that the schema allows"),
    "exclusiveMaximum": ("too_large", "must be less than {limit}"),
    "exclusiveMinimum": ("too_small", "must be greater than {limit}"),
    "falseSchema": ("unknown_field", "is not allowed here, or holds what is not"),
    "format": ("wrong_format", "must be a valid {format}"),
    "maximum": ("too_large", "must be at most {limit}"),
    "maxItems": ("too_many", "must have at most {limit} items"),
    "maxLength": ("too_long", "must have at most {limit} characters"),
    "maxProperties": ("too_many", "must have at most {limit} members"),
    "minimum": ("too_small", "must be at least {limit}"),
    "minItems": ("too_few", "must have at least {limit} items"),
    "minLength": ("too_short", "must have at least {limit} characters"),
    "minProperties": ("too_few", "must have at least {limit} members"),
    "multipleOf": ("not_a_multiple", "must be a multiple of {multiple_of}"),
    "pattern": ("wrong_pattern", "must match the pattern of the schema"),
    "uniqueItems": ("not_unique", "must not hold the same item twice"),
}


class SchemaShelf:
    """Compiled schemas, by the bytes they came as."""

    def __init__(self) -> None:
        self._validators: OrderedDict[bytes, jsonschema_rs.Validator] = OrderedDict()

    def validate(self, raw: bytes, variables: dict[str, object]) -> list[Fault]:
        validator = self._validators.get(raw)
        if validator is None:
            validator = _compile(msgspec.msgpack.decode(raw, type=dict[str, object]))
            self._validators[raw] = validator
            if len(self._validators) > _MAX_CACHED:
                self._validators.popitem(last=False)
        faults: list[Fault] = []
        for error in validator.iter_errors(variables):
            faults.extend(_faults_of(error))
            if len(faults) >= MAX_FAULTS:
                break
        return faults[:MAX_FAULTS]


def check_schema(raw: bytes) -> list[Fault]:
    """What keeps a schema from being used. A trial run shows one whose branches multiply, before it is ever stored."""
    schema = msgspec.msgpack.decode(raw, type=dict[str, object])
    if len(msgspec.json.encode(schema)) > MAX_SCHEMA_BYTES:
        return [Fault("", "too_large", f"must be at most {MAX_SCHEMA_BYTES // 1024} KB")]
    if _depth(schema) > MAX_SCHEMA_DEPTH:
        return [Fault("", "too_deep", f"must not nest deeper than {MAX_SCHEMA_DEPTH} levels")]
    if outside := _outside_reference(schema):
        return [Fault(outside, "remote_reference", "must refer to this schema only (`#/…`)")]
    try:
        _compile(schema).is_valid({})
    except jsonschema_rs.ValidationError as error:
        return [Fault(_pointer(error.instance_path), "invalid_schema", "is not valid JSON Schema here")]
    except ValueError:
        return [Fault("", "invalid_schema", "is not valid JSON Schema")]
    return []


def _compile(schema: dict[str, object]) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        schema,
        validate_formats=True,
        retriever=_refuse_to_fetch,
        pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACK_LIMIT),
    )


def _refuse_to_fetch(_uri: str) -> NoReturn:
    raise ValueError("no schema is fetched")


def _depth(schema: object) -> int:
    deepest, todo = 0, [(schema, 1)]
    while todo:
        node, depth = todo.pop()
        deepest = max(deepest, depth)
        if depth <= MAX_SCHEMA_DEPTH:
            todo.extend((child, depth + 1) for child in _children(node).values())
    return deepest


def _outside_reference(schema: object) -> str | None:
    """The pointer of the first `$ref` that leaves the schema."""
    todo: list[tuple[object, str]] = [(schema, "")]
    while todo:
        node, pointer = todo.pop()
        for name, child in _children(node).items():
            place = f"{pointer}/{_escape(str(name))}"
            if name in {"$ref", "$dynamicRef", "$recursiveRef"} and isinstance(child, str) and child[:1] != "#":
                return place
            todo.append((child, place))
    return None


def _children(node: object) -> dict[str | int, object]:
    if isinstance(node, dict):
        return node  # pyright: ignore[reportUnknownVariableType]
    if isinstance(node, list):
        return dict(enumerate(node))  # pyright: ignore[reportUnknownArgumentType]
    return {}


def _faults_of(error: jsonschema_rs.ValidationError) -> list[Fault]:
    at = _pointer(error.instance_path)
    keyword, facts = error.kind.name, error.kind.as_dict()
    if keyword == "required":
        return [Fault(f"{at}/{_escape(facts['property'])}", "required", "is required")]
    if keyword in {"additionalProperties", "unevaluatedProperties"}:
        unknown: list[str] = facts["unexpected"]
        return [
            Fault(f"{at}/{_escape(name)}", "unknown_field", "is not a variable of this template") for name in unknown
        ]
    if keyword == "type":
        types: list[str] = facts["types"]
        return [Fault(at, "wrong_type", f"must be {' or '.join(_TYPES.get(word, word) for word in types)}")]
    code, sentence = _SENTENCES.get(keyword, _OTHERWISE)
    return [Fault(at, code, sentence.format(**{name: facts[name] for name in _SHOWN if name in facts}))]


def _pointer(path: list[str | int]) -> str:
    return "".join(f"/{_escape(str(step))}" for step in path)


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
