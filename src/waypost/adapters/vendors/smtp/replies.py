"""What a server says, read within bounds: a server may be anything."""

import re
from typing import Final

LARGEST_REPLY: Final = 64 * 1024
LONGEST_LINE: Final = 8 * 1024
MOST_LINES: Final = 128
_LONGEST_TEXT: Final = 1_000
_LONGEST_REFERENCE: Final = 200

_CODES: Final = {str(code).encode(): code for code in range(200, 600)}
_MARKS: Final = b" -\r\n"
_MORE: Final = ord("-")
_UNSHOWABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_ENHANCED: Final = re.compile(rb"(?m)^\d{3}[ -]([245])\.(\d{1,3})\.(\d{1,3})\b")
_LINE_HEAD: Final = re.compile(r"(?m)^\d{3}[ -]?(?:[245]\.\d{1,3}\.\d{1,3}[ \t]+)?")
_REFERENCES: Final = (
    re.compile(r"queued as <?([\w.@$=+/-]+)", re.IGNORECASE),
    re.compile(r"\b(?:id|message-id)[=:] ?<?([\w.@$=+/-]+)", re.IGNORECASE),
    re.compile(r"\bok:? +<?([\w.@$=+/-]{10,})", re.IGNORECASE),
)


class ReplyUnreadable(Exception):
    """The server's words are no reply of SMTP, or there is no end to them."""


class Reply:
    """One reply, all its lines."""

    __slots__ = ("code", "raw")

    def __init__(self, code: int, raw: bytes) -> None:
        self.code = code
        self.raw = raw

    @property
    def text(self) -> str:
        """All its words: valid UTF-8, no control characters, at most 1,000 characters."""
        raw = self.raw
        if len(raw) < _LONGEST_TEXT and raw.isascii():
            line = raw[:-2].decode("ascii")
            if line.isprintable():
                return line
        return _UNSHOWABLE.sub(" ", raw[: 4 * _LONGEST_TEXT].decode("utf-8", "replace")).strip()[:_LONGEST_TEXT]

    @property
    def enhanced(self) -> tuple[int, int, int] | None:
        """The code of RFC 3463, on whichever line it stands first."""
        found = _ENHANCED.search(self.raw)
        return None if found is None else (int(found[1]), int(found[2]), int(found[3]))

    def lines(self) -> list[str]:
        """Without codes; what EHLO answers is read from these."""
        return [
            _LINE_HEAD.sub("", line, count=1).strip()
            for line in self.raw.decode("utf-8", "replace").splitlines()
            if line
        ]


def reference_in(text: str) -> str | None:
    """The server's name for what it took, where a reply tells one."""
    if len(text) < 16:
        return None
    for pattern in _REFERENCES:
        if found := pattern.search(text, 4):
            return found[1].rstrip(".")[:_LONGEST_REFERENCE] or None
    return None


class ReplyReader:
    """Cuts the stream into replies. What a line may hold, a reply and its number of lines are bounded."""

    __slots__ = ("_buffer", "_code", "_line_start", "_lines")

    def __init__(self) -> None:
        self._buffer = b""
        self._line_start = 0
        """Where the first line begins that has not been looked at: a reply that drips in is read once."""
        self._lines = 0
        self._code = 0
        """Of the reply that has begun; 0 between replies. All its lines must say the same."""

    @property
    def has_rest(self) -> bool:
        """Whether something has arrived that is not yet a whole reply."""
        return self._buffer != b""

    def feed(self, data: bytes) -> list[Reply]:
        line_start = 0
        if self._buffer:
            data = self._buffer + data
            line_start = self._line_start
        replies = list[Reply]()
        start = 0
        while (end := data.find(b"\n", line_start) + 1) > 0:
            code = _CODES.get(data[line_start : line_start + 3])
            if code is None or (mark := data[line_start + 3]) not in _MARKS or end - line_start > LONGEST_LINE:
                raise ReplyUnreadable
            if self._code and code != self._code:
                raise ReplyUnreadable
            line_start = end
            if mark != _MORE:
                replies.append(Reply(code, data[start:end]))
                start = end
                self._code = self._lines = 0
                continue
            self._code = code
            self._lines += 1
            if self._lines > MOST_LINES or end - start > LARGEST_REPLY:
                raise ReplyUnreadable
        self._buffer = data[start:]
        self._line_start = line_start - start
        if len(data) - line_start > LONGEST_LINE:
            raise ReplyUnreadable
        return replies
