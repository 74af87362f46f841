"""Bytes to records: whatever the bytes are, every line is accounted for and nothing is held without bound."""

import csv
import io

from hypothesis import example, given
from hypothesis import strategies as st

from waypost.imports.cells import cells_of
from waypost.imports.model import LONGEST_RECORD
from waypost.imports.records import RawRecord, cut


def all_records(raw: bytes, window: int, most: int, delimiter: str | None = ",") -> list[RawRecord]:
    """As a job reads them: some bytes at a time, going on where the last cut ended."""
    found: list[RawRecord] = []
    offset, line, skipping = 0, 1, False
    while offset < len(raw):
        buffer = raw[offset : offset + window]
        is_end = offset + window >= len(raw)
        piece = cut(buffer, line, most, is_end=is_end, is_skipping=skipping, delimiter=delimiter)
        assert piece.consumed > 0, "it must get on"
        found += piece.records
        offset, line, skipping = offset + piece.consumed, piece.line, piece.is_skipping
    return found


cells = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@given(st.lists(st.lists(cells, min_size=2, max_size=4), min_size=1, max_size=20), st.integers(1, 7))
def test_what_a_writer_of_csv_wrote_is_read_back_whatever_the_steps(rows: list[list[str]], most: int) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    raw = out.getvalue().encode()
    read = [cells_of(record.raw.decode(), ",") for record in all_records(raw, max(len(raw), 1), most)]
    assert read == rows


@given(st.binary(max_size=400), st.integers(1, 5))
@example(b"a\n\r", 1)
def test_any_bytes_end_in_bounded_records_with_rising_lines(raw: bytes, most: int) -> None:
    records = all_records(raw, LONGEST_RECORD * 2, most)
    lines = [record.line for record in records]
    assert lines == sorted(set(lines))
    assert all(len(record.raw) <= LONGEST_RECORD for record in records)
    if b'"' not in raw:
        kept = [line.rstrip(b"\r") for line in raw.split(b"\n") if line.rstrip(b"\r")]
        assert [record.raw for record in records] == kept


def test_a_line_that_is_too_long_costs_itself() -> None:
    raw = b"a\n" + b"x" * (LONGEST_RECORD * 5) + b"\nb\n" + b"y" * (LONGEST_RECORD + 1) + b"\nc"
    found = [(record.line, record.raw, record.fault) for record in all_records(raw, LONGEST_RECORD * 2, 100)]
    assert found == [
        (1, b"a", None),
        (2, b"", "record_too_long"),
        (3, b"b", None),
        (4, b"", "record_too_long"),
        (5, b"c", None),
    ]


def test_a_quote_that_nobody_closes_costs_its_line() -> None:
    raw = b'a,"open\n' + b"row,of,cells\n" * 10_000
    found = all_records(raw, LONGEST_RECORD * 3, 2_000)
    assert (found[0].line, found[0].fault) == (1, "unclosed_quote")
    assert len(found) == 10_001
    assert {record.fault for record in found[1:]} == {None}


def test_a_stray_quote_does_not_cost_the_good_rows_behind_it() -> None:
    raw = b'a,5" pipe\nb,good\n"c"d,x\ne,good\nf,"two\r\nlines"\r\ng,"open\nh,good\ni,6" pipe'
    found = [(record.line, record.raw, record.fault) for record in all_records(raw, LONGEST_RECORD * 2, 3)]
    assert found == [
        (1, b'a,5" pipe', None),
        (2, b"b,good", None),
        (3, b'"c"d,x', None),
        (4, b"e,good", None),
        (5, b'f,"two\r\nlines"', None),
        (7, b"", "unclosed_quote"),
        (8, b"h,good", None),
        (9, b'i,6" pipe', None),
    ]
    assert cells_of('a,5" pipe', ",") == ["a", '5" pipe']


def test_quotes_that_make_no_sense_are_no_row() -> None:
    assert cells_of('a,"b"c,d', ",") is None
    assert cells_of('"a""b";"c;d"', ";") == ['a"b', "c;d"]
