"""Paths into events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from waypost.triggers.paths import LONGEST, read_path

EVENT = {"id": "e", "data": {"guest": {"id": "u"}, "list": [1, {"a": 2}], "guest name": "x", "none": None}}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$.id", "e"),
        ("$.data.guest.id", "u"),
        ("$.data.list[0]", 1),
        ("$.data.list[1].a", 2),
        ("$.data['guest name']", "x"),
        ("$['data'].guest", {"id": "u"}),
        ("$.data.none", None),
        ("$.data.missing", UNSET),
        ("$.data.list[2]", UNSET),
        ("$.data.list.a", UNSET),
        ("$.data.guest[0]", UNSET),
        ("$.id.x", UNSET),
    ],
)
def test_a_path_means_one_place(text: str, found: object) -> None:
    path = read_path(text)
    assert path is not None
    assert path.of(EVENT) == found


@pytest.mark.parametrize(
    "text",
    ["", "$", "data.guest", "$data", "$..guest", "$.data.*", "$.data[*]", "$.data[-1]", "$.data[01]", "$.data.", "$.1a",
     "$.data['a\\'b']", "$.data[?(@.x)]", "$.data guest", "$.data\n", "$.data['\x00']", "$." + "a" * LONGEST],
)  # fmt: skip
def test_what_is_no_path_is_not_read(text: str) -> None:
    assert read_path(text) is None


def test_a_path_is_a_pointer_too() -> None:
    path = read_path("$.data['a/b~c'][3]")
    assert path is not None
    assert path.pointer == "/data/a~1b~0c/3"


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    path = read_path(text)
    assert path is None or path.text == text


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)),
       st.lists(st.sampled_from(["a", "b", 0, 1]), min_size=1, max_size=4))  # fmt: skip
def test_a_path_finds_what_walking_finds(data: object, steps: list[str | int]) -> None:
    text = "$.data" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    path = read_path(text)
    assert path is not None
    expected: object = data
    try:
        for step in steps:
            if isinstance(step, str) is not isinstance(expected, dict) or not isinstance(expected, dict | list):
                raise LookupError
            expected = expected[step]  # pyright: ignore[reportUnknownVariableType, reportArgumentType, reportCallIssue]
    except LookupError:
        expected = UNSET
    assert path.of({"data": data}) == expected  # pyright: ignore[reportArgumentType]
