"""Variables against their schema, and schemas against their rules, as the render process does it."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.adapters.render.schema_check import MAX_FAULTS, SchemaShelf, check_schema
from waypost.adapters.render.wire import Fault

SECRET = "jane@example.com"


def faults(schema: object, variables: dict[str, object]) -> list[Fault]:
    return SchemaShelf().validate(msgspec.msgpack.encode(schema), variables)


@pytest.mark.parametrize(
    ("rule", "value", "code", "message"),
    [
        ({"type": "integer"}, SECRET, "wrong_type", "must be a whole number"),
        ({"type": ["string", "null"]}, 1, "wrong_type", "must be null or a string"),
        ({"const": 1}, SECRET, "not_allowed", "must be the one value that the schema allows"),
        ({"enum": ["a"]}, SECRET, "not_allowed", "must be one of the values that the schema allows"),
        ({"exclusiveMaximum": 5}, 5, "too_large", "must be less than 5"),
        ({"exclusiveMinimum": 5}, 5, "too_small", "must be greater than 5"),
        ({"maximum": 5}, 6, "too_large", "must be at most 5"),
        ({"minimum": 5}, 4, "too_small", "must be at least 5"),
        ({"multipleOf": 5}, 4, "not_a_multiple", "must be a multiple of 5"),
        ({"maxLength": 3}, SECRET, "too_long", "must have at most 3 characters"),
        ({"minLength": 30}, SECRET, "too_short", "must have at least 30 characters"),
        ({"maxItems": 1}, [1, 2], "too_many", "must have at most 1 items"),
        ({"minItems": 3}, [1, 2], "too_few", "must have at least 3 items"),
        ({"maxProperties": 0}, {SECRET: 1}, "too_many", "must have at most 0 members"),
        ({"minProperties": 2}, {SECRET: 1}, "too_few", "must have at least 2 members"),
        ({"uniqueItems": True}, [SECRET, SECRET], "not_unique", "must not hold the same item twice"),
        ({"pattern": "^x"}, SECRET, "wrong_pattern", "must match the pattern of the schema"),
        ({"format": "date"}, SECRET, "wrong_format", "must be a valid date"),
        (False, SECRET, "unknown_field", "is not allowed here, or holds what is not"),
        ({"not": {}}, SECRET, "invalid", "is not what the schema asks for"),
        ({"anyOf": [{"type": "null"}]}, SECRET, "invalid", "is not what the schema asks for"),
    ],
)
def test_each_rule_has_its_words(rule: object, value: object, code: str, message: str) -> None:
    assert faults({"properties": {"v": rule}}, {"v": value}) == [Fault("/v", code, message)]


def test_pointers_name_the_missing_and_the_unknown_member() -> None:
    item = {"required": ["x"], "properties": {"x": {}}, "additionalProperties": False}
    schema = {"properties": {"a~/b": {"type": "array", "items": item}}}
    found = faults(schema, {"a~/b": [{}, {"y": 1}]})
    assert {fault.pointer for fault in found} == {"/a~0~1b/0/x", "/a~0~1b/1/x", "/a~0~1b/1/y"}


def test_the_number_of_faults_is_bounded() -> None:
    assert len(faults({"items": {}, "additionalProperties": {"type": "null"}}, {f"v{i}": i for i in range(999)})) == (
        MAX_FAULTS
    )


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-100, 100), st.just(SECRET)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)),
    max_leaves=8,
)


@given(values)
@settings(max_examples=200, deadline=None)
def test_no_message_repeats_a_value(value: object) -> None:
    strict = {"type": "string", "maxLength": 2, "enum": ["q"], "format": "date", "const": "z", "pattern": "^$"}
    found = faults({"properties": {"v": {**strict, "additionalProperties": strict, "items": strict}}}, {"v": value})
    assert not any(SECRET in fault.message or SECRET in fault.pointer for fault in found)


@pytest.mark.parametrize(
    ("schema", "pointer", "code"),
    [
        ({"type": "banana"}, "/type", "invalid_schema"),
        ({"properties": {"a": {"minLength": "x"}}}, "/properties/a/minLength", "invalid_schema"),
        ({"properties": {"a": {"pattern": "("}}}, "/properties/a/pattern", "invalid_schema"),
        ({"$ref": "#/nope"}, "", "invalid_schema"),
        ({"$ref": "http://127.0.0.1/x"}, "/$ref", "remote_reference"),
        ({"allOf": [{"$ref": "file:///etc/passwd"}]}, "/allOf/0/$ref", "remote_reference"),
        ({"$schema": "http://127.0.0.1/meta"}, "", "invalid_schema"),
        ({"description": "x" * 70_000}, "", "too_large"),
    ],
)
def test_schemas_that_are_refused(schema: object, pointer: str, code: str) -> None:
    assert [(fault.pointer, fault.code) for fault in check_schema(msgspec.msgpack.encode(schema))] == [(pointer, code)]


def test_a_schema_that_nests_too_deeply_is_refused() -> None:
    schema: dict[str, object] = {}
    for _ in range(70):
        schema = {"not": schema}
    assert [fault.code for fault in check_schema(msgspec.msgpack.encode(schema))] == ["too_deep"]


def test_a_schema_that_is_taken() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"code": {"$ref": "#/$defs/code", "writeOnly": True}, "$ref": {"type": "string"}},
        "$defs": {"code": {"type": "string", "pattern": "^[0-9]{6}$"}},
    }
    assert check_schema(msgspec.msgpack.encode(schema)) == []
