"""Ids at the edges of time."""

from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from waypost.kernel.ids import first_id_at, moment_of, show_ulid


def test_the_first_id_of_a_moment_before_all_ids_is_the_first_of_all() -> None:
    for moment in (datetime.min.replace(tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)):
        assert first_id_at(moment).int == 0
    assert first_id_at(datetime.max.replace(tzinfo=UTC)).int > first_id_at(datetime(2026, 1, 1, tzinfo=UTC)).int


def test_the_first_id_of_a_moment_tells_that_moment() -> None:
    moment = datetime(2026, 1, 15, 12, tzinfo=UTC)
    assert moment_of(first_id_at(moment)) == moment


@given(st.integers(0, 2**128 - 1))
def test_ids_are_spelled_as_the_library_spells_them(number: int) -> None:
    value = UUID(int=number)
    assert show_ulid(value) == str(ULID(value.bytes))
