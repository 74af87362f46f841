from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.errors import MalformedRequest, Refused
from waypost.kernel.paging import (
    decode_cursor,
    decode_id_cursor,
    encode_cursor,
    encode_id_cursor,
    page_of,
    read_limit,
)

SOME_ID = UUID(int=42)
listings = st.text(alphabet="abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=30)
# Whatever a column can hold, and no longer than a cursor may be.
positions = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=150)


@given(listings, positions)
def test_a_cursor_gives_back_its_position(listing: str, position: str) -> None:
    cursor = encode_cursor(listing, position)
    assert decode_cursor(listing, cursor) == position
    assert cursor.replace("-", "").replace("_", "").isalnum()


@given(st.uuids())
def test_an_id_cursor_gives_back_its_id(last: UUID) -> None:
    assert decode_id_cursor("audit", encode_id_cursor("audit", last)) == last


def test_what_no_column_can_hold_is_no_position() -> None:
    with pytest.raises(MalformedRequest):
        decode_cursor("topics", encode_cursor("topics", "news\0letter"))


def test_no_cursor_is_the_first_page() -> None:
    assert decode_cursor("audit", None) is None
    assert decode_id_cursor("audit", None) is None


@given(st.text(max_size=60))
def test_junk_is_refused_by_pointer_and_not_repeated(junk: str) -> None:
    with pytest.raises(MalformedRequest) as refusal:
        decode_id_cursor("audit", junk)
    assert refusal.value.errors[0].pointer == "/cursor"
    assert refusal.value.code == "invalid_cursor"


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "=",
        "A",
        "é",
        "x" * 5000,
        encode_cursor("tenants", SOME_ID.hex),
        encode_cursor("audit", "not an id"),
        encode_cursor("audit", SOME_ID.hex + "\0"),
        encode_id_cursor("audit", SOME_ID) + "\n",
    ],
)
def test_cursors_of_other_lists_and_broken_ones_are_refused(cursor: str) -> None:
    with pytest.raises(MalformedRequest):
        decode_id_cursor("audit", cursor)


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_limits_out_of_range_are_refused(limit: int) -> None:
    with pytest.raises(Refused) as refusal:
        read_limit(limit)
    assert refusal.value.errors[0].pointer == "/limit"


def test_limits() -> None:
    assert [read_limit(limit) for limit in (None, 1, 100)] == [20, 1, 100]


def test_the_extra_item_only_tells_that_there_is_more() -> None:
    assert page_of([1, 2, 3], 2, str).items == [1, 2]
    assert page_of([1, 2, 3], 2, str).next == "2"
    assert page_of([1, 2], 2, str).next is None
    assert page_of([], 2, str).next is None
    assert page_of([1, 2, 3], 2, str).map(lambda item: item * 10).items == [10, 20]
