"""What a server says, read within bounds: a server may be anything."""

import re
from typing import Final

LARGEST_REPLY: Final = 64 * 1024
LONGEST_LINE: Final = 8 * 1024
MOST_LINES: Final = 128
_LONGEST_TEXT: Final = 1_000
_LONGEST_REFERENCE: Final = 200
_LONGEST_KNOWN: Final = 100
_MOST_KNOWN: Final = 16

_CODES: Final = {str(code).encode(): code for code in range(200, 600)}
_MORE: Final = b"-"
_ENDS: Final = (b" ", b"\r", b"")
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

    __slots__ = ("_reference", "_text", "code", "raw")

    def __init__(self, code: int, raw: bytes) -> None:
        self.code = code
        self.raw = raw
        self._text: str | None = None
        self._reference: str | None = None

    @property
    def text(self) -> str:
        """All its words: valid UTF-8, no control characters, at most 1,000 characters."""
        if self._text is None:
            self._text = _text_of(self.raw)
            self._reference = reference_in(self._text)
        return self._text

    @property
    def reference(self) -> str | None:
        """The server's name for what it took, where it tells one."""
        return self._reference if self.text else None

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


def _text_of(raw: bytes) -> str:
    if len(raw) < _LONGEST_TEXT and raw.isascii():
        line = raw[:-2].decode("ascii")
        if line.isprintable():
            return line
    return _UNSHOWABLE.sub(" ", raw[: 4 * _LONGEST_TEXT].decode("utf-8", "replace")).strip()[:_LONGEST_TEXT]


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

    __slots__ = ("_begun", "_buffer", "_code", "_known", "_size")

    def __init__(self) -> None:
        self._buffer = b""
        """The line that has not ended."""
        self._begun: list[bytes] = []
        """The lines of a reply that has not ended: one that drips in is read once. All must have the same code."""
        self._code = 0
        self._size = 0
        self._known: dict[bytes, Reply] = {}
        """Short replies of one line: a server says the same to every message."""

    @property
    def has_rest(self) -> bool:
        """Whether something has arrived that is not yet a whole reply."""
        return self._buffer != b"" or bool(self._begun)

    def feed(self, data: bytes) -> list[Reply]:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        replies: list[Reply] = []
        for line in lines:
            known = self._known.get(line)
            if known is not None and not self._begun:
                replies.append(known)
                continue
            code = _CODES.get(line[:3])
            if code is None or len(line) >= LONGEST_LINE:
                raise ReplyUnreadable
            mark = line[3:4]
            if mark == _MORE or self._begun:
                whole = self._joined(code, line, mark)
                if whole is not None:
                    replies.append(Reply(code, whole + b"\n"))
                continue
            if mark not in _ENDS:
                raise ReplyUnreadable
            reply = Reply(code, line + b"\n")
            replies.append(reply)
            if len(line) <= _LONGEST_KNOWN and len(self._known) < _MOST_KNOWN:
                self._known[line] = reply
        if len(self._buffer) > LONGEST_LINE:
            raise ReplyUnreadable
        return replies

    def _joined(self, code: int, line: bytes, mark: bytes) -> bytes | None:
        """A line of a longer reply; the whole of it with its last line."""
        begun = self._begun
        if begun and code != self._code:
            raise ReplyUnreadable
        if mark != _MORE:
            if mark not in _ENDS:
                raise ReplyUnreadable
            whole = b"\n".join((*begun, line))
            begun.clear()
            return whole
        self._code = code
        self._size = len(line) + 1 + (self._size if begun else 0)
        begun.append(line)
        if len(begun) > MOST_LINES or self._size > LARGEST_REPLY:
            raise ReplyUnreadable
        return None
