"""Pure decisions about templates."""

import pytest

from waypost.kernel.errors import Conflict, FieldError, Refused
from waypost.kernel.vocabulary import Channel
from waypost.templates.model import TRANSITIONS, Content, JsonObject, VersionState
from waypost.templates.rules import check_shape, check_transition, read_key, read_name, refused_below, write_only_names


@pytest.mark.parametrize("key", ["welcome", "0", "order.shipped_v2-b", "a" * 100])
def test_keys_that_are_taken(key: str) -> None:
    assert read_key(key, "/key") == key


@pytest.mark.parametrize("key", ["", "Welcome", ".a", "-a", "_a", "a b", "a/b", "é", "a" * 101, "a\n"])
def test_keys_that_are_refused(key: str) -> None:
    with pytest.raises(Refused) as refused:
        read_key(key, "/key")
    assert [(error.pointer, error.code) for error in refused.value.errors] == [("/key", "invalid_key")]


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "a\0b", "x" * 201])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(Refused):
        read_name(name, "/name")


@pytest.mark.parametrize(
    ("content", "channel", "pointer"),
    [
        (Content(subject="s"), Channel.EMAIL, "/content"),
        (Content(subject=" ", html="x"), Channel.EMAIL, "/content/subject"),
        (Content(subject="", html="x"), Channel.SMS, "/content/html"),
    ],
)
def test_shapes_that_are_refused(content: Content, channel: Channel, pointer: str) -> None:
    with pytest.raises(Refused) as refused:
        check_shape(content, channel, "/content")
    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_shapes_that_are_taken() -> None:
    check_shape(Content(subject="s", html="x"), Channel.EMAIL, "/content")
    check_shape(Content(subject="s", text="x"), Channel.EMAIL, "/content")
    check_shape(Content(subject="", text="x"), Channel.SMS, "/content")


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        (None, set()),
        ({}, set()),
        ({"properties": []}, set()),
        (
            {
                "properties": {
                    "code": {"type": "string", "writeOnly": True},
                    "name": {"type": "string"},
                    "link": {"writeOnly": "yes"},
                    "any": True,
                    "order": {"properties": {"deep": {"writeOnly": True}}},
                }
            },
            {"code"},
        ),
    ],
)
def test_write_only_variables(schema: JsonObject | None, names: set[str]) -> None:
    assert write_only_names(schema) == names


def test_only_a_draft_can_be_published() -> None:
    assert TRANSITIONS.keys() == set(VersionState)
    check_transition(VersionState.DRAFT, VersionState.ACTIVE)
    for state in (VersionState.ACTIVE, VersionState.ARCHIVED, VersionState.INLINE):
        with pytest.raises(Conflict):
            check_transition(state, VersionState.ACTIVE)


def test_errors_are_pointed_at_from_the_root() -> None:
    refused = refused_below("/content", [FieldError(pointer="/html", code="c", message="m")], detail="d", code="c")
    assert refused.errors == (FieldError(pointer="/content/html", code="c", message="m"),)
