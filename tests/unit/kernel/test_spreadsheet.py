"""Cells that spreadsheets must not calculate, and their way back."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.spreadsheet import csv_line, guard, unguard


@given(st.text())
def test_the_way_back_is_exact(text: str) -> None:
    assert unguard(guard(text)) == text


@given(st.text())
def test_no_cell_begins_like_a_formula(text: str) -> None:
    assert not guard(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")), min_size=2))
def test_a_line_is_read_back_by_any_reader_of_csv(cells: list[str]) -> None:
    [row] = csv.reader(io.StringIO(csv_line(cells), newline=""))
    assert [unguard(cell) for cell in row] == cells


@pytest.mark.parametrize("formula", ["=1+1", "+4312345", "-2", "@sum", "\tx", "\rx", '=cmd|"/c calc"!A0'])
def test_formulas_are_quoted(formula: str) -> None:
    assert csv_line([formula]).startswith("\"'")
