"""Numbers of versions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.errors import Refused
from waypost.templates.semver import choose, parse

NUMBERS = st.tuples(*[st.integers(0, 40)] * 3).map(lambda parts: ".".join(map(str, parts)))


@given(taken=st.sets(NUMBERS))
def test_the_next_one_is_new_and_the_greatest(taken: set[str]) -> None:
    made = choose(None, taken, taken, "/semver")
    assert made not in taken
    assert all((parse(made) or ()) > (parse(each) or ()) for each in taken)


@pytest.mark.parametrize(
    "text", ["", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.-1", "v1.0.0", "1.0.0-a", "1.0.0\n", "١.0.0"]
)
def test_what_is_no_number(text: str) -> None:
    assert parse(text) is None
    with pytest.raises(Refused):
        choose(text, [], [], "/semver")


def test_a_first_one_and_after_the_last_one() -> None:
    assert choose(None, [], [], "/semver") == "1.0.0"
    assert choose(None, ["1.999999999.0"], [], "/semver") == "2.0.0"
    assert choose("1.5.0", ["1.0.0", "2.0.0"], ["1.0.0"], "/semver") == "1.5.0"
