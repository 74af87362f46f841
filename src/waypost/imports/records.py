"""From bytes to records: one record per line, or per several where a quoted cell holds line breaks.

Works on bytes and knows where each record ends, so that whoever goes on later begins exactly there. Whatever the bytes
are, a record is bounded: a line that is too long and a quote that nobody closes cost that one line.
"""

import msgspec

from waypost.imports.cells import cells_of
from waypost.imports.model import LONGEST_RECORD


class RawRecord(msgspec.Struct, frozen=True, gc=False):
    line: int
    raw: bytes
    fault: str | None = None
    """`record_too_long` or `unclosed_quote`: the line is skipped and the next one is read as usual."""


class Cut(msgspec.Struct, frozen=True):
    """Records, and where the next begins."""

    records: list[RawRecord]
    consumed: int
    line: int
    is_skipping: bool
    """The buffer ended within a line that is skipped; the rest of it goes too."""


def cut(
    buffer: bytes, line: int, most: int, *, is_end: bool, is_skipping: bool = False, delimiter: str | None = None
) -> Cut:
    """Up to `most` records from the start of the buffer. What may go on behind its end is left for the next time.

    With the delimiter known, lines that quotes seem to join, but that make no sense together, are lines of their own:
    one stray quote does not cost the good rows behind it."""
    records: list[RawRecord] = []
    at = 0
    if is_skipping:
        newline = buffer.find(b"\n")
        if newline < 0:
            return Cut(records, len(buffer), line, not is_end)
        at, line = newline + 1, line + 1
    while len(records) < most and at < len(buffer):
        end, lines = _record_end(buffer, at)
        if lines > 1 and end is not None and delimiter and not _makes_sense(buffer[at:end], delimiter):
            end, lines = buffer.index(b"\n", at) + 1, 1
        if end is None or end - at > LONGEST_RECORD:
            if end is None and not is_end and len(buffer) - at <= LONGEST_RECORD:
                break
            newline = buffer.find(b"\n", at)
            if newline < 0 and len(buffer) - at > LONGEST_RECORD:
                records.append(RawRecord(line, b"", "record_too_long"))
                return Cut(records, len(buffer), line, not is_end)
            if newline < 0:
                records += _last(buffer[at:], line, delimiter)
                return Cut(records, len(buffer), line + 1, is_skipping=False)
            if newline - at > LONGEST_RECORD:
                records.append(RawRecord(line, b"", "record_too_long"))
            else:
                records.append(_odd(buffer[at:newline], line, delimiter))
            end, lines = newline + 1, 1
        elif raw := buffer[at:end].rstrip(b"\r\n"):
            records.append(RawRecord(line, raw))
        at, line = end, line + lines
    return Cut(records, at, line, is_skipping=False)


def _record_end(buffer: bytes, at: int) -> tuple[int | None, int]:
    """Behind the line end that is not inside quotes, and how many lines that makes; None where it is not near."""
    end, lines, quotes = at, 0, 0
    while (found := buffer.find(b"\n", end)) >= 0:
        lines += 1
        quotes += buffer.count(b'"', end, found)
        end = found + 1
        if quotes % 2 == 0:
            return end, lines
        if end - at > LONGEST_RECORD:
            break
    return None, 0


def _last(raw: bytes, line: int, delimiter: str | None) -> list[RawRecord]:
    """The last line of a file may end without a line end, but not within quotes. Half of a line end is no line."""
    if raw.count(b'"') % 2:
        return [_odd(raw, line, delimiter)]
    kept = raw.rstrip(b"\r")
    return [RawRecord(line, kept)] if kept else []


def _odd(raw: bytes, line: int, delimiter: str | None) -> RawRecord:
    """A line with a quote that no other closes: within a cell it may stand for itself, as in `5" pipe`."""
    kept = raw.rstrip(b"\r")
    if delimiter and _makes_sense(kept, delimiter):
        return RawRecord(line, kept)
    return RawRecord(line, b"", "unclosed_quote")


def _makes_sense(raw: bytes, delimiter: str) -> bool:
    try:
        return cells_of(raw.rstrip(b"\r\n").decode(), delimiter) is not None
    except UnicodeDecodeError:
        return False
