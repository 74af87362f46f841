"""From bytes to records: one record per line, or per several where a quoted cell holds line breaks.

Works on bytes and knows where each record ends, so that whoever goes on later begins exactly there. Whatever the bytes
are, a record is bounded: a line that is too long and a quote that nobody closes cost that one line.
"""

import msgspec

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


def cut(buffer: bytes, line: int, most: int, *, is_end: bool, is_skipping: bool = False) -> Cut:
    """Up to `most` records from the start of the buffer. What may go on behind its end is left for the next time."""
    records: list[RawRecord] = []
    at = 0
    if is_skipping:
        newline = buffer.find(b"\n")
        if newline < 0:
            return Cut(records, len(buffer), line, not is_end)
        at, line = newline + 1, line + 1
    while len(records) < most and at < len(buffer):
        end, lines = _record_end(buffer, at)
        if end is None or end - at > LONGEST_RECORD:
            if end is None and not is_end and len(buffer) - at <= LONGEST_RECORD:
                break
            newline = buffer.find(b"\n", at)
            if newline < 0 and len(buffer) - at > LONGEST_RECORD:
                records.append(RawRecord(line, b"", "record_too_long"))
                return Cut(records, len(buffer), line, not is_end)
            if newline < 0:
                records += _last(buffer[at:], line)
                return Cut(records, len(buffer), line + 1, is_skipping=False)
            fault = "record_too_long" if newline - at > LONGEST_RECORD else "unclosed_quote"
            records.append(RawRecord(line, b"", fault))
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


def _last(raw: bytes, line: int) -> list[RawRecord]:
    """The last line of a file may end without a line end, but not within quotes. Half of a line end is no line."""
    if raw.count(b'"') % 2:
        return [RawRecord(line, b"", "unclosed_quote")]
    kept = raw.rstrip(b"\r")
    return [RawRecord(line, kept)] if kept else []
