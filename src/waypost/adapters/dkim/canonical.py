"""The relaxed canonical form of RFC 6376, section 3.4: of a body, and of the header fields that are signed."""

import re
from typing import Final

OVERSIGNED: Final = (b"from", b"to", b"subject", b"date")
"""Named once more than they are there: whoever adds another breaks the signature."""
SIGNED: Final = frozenset(
    {
        *OVERSIGNED,
        b"cc",
        b"sender",
        b"reply-to",
        b"message-id",
        b"in-reply-to",
        b"references",
        b"mime-version",
        b"content-type",
        b"content-transfer-encoding",
        b"auto-submitted",
        b"feedback-id",
    }
)
_FAMILY: Final = b"list-"
_BLANKS: Final = re.compile(rb"[ \t]+")
_MOST_KEPT: Final = 100


def split_message(message: bytes) -> tuple[bytes, bytes]:
    """The header fields, without their last line end, and the body."""
    head, _, body = message.partition(b"\r\n\r\n")
    return head, body


def relaxed_body(body: bytes) -> bytes:
    # From the end, because that takes half the time of looking from the start.
    if b"\t" in body or body.rfind(b"  ") >= 0:
        body = _BLANKS.sub(b" ", body)
    if body.rfind(b" \r\n") >= 0:
        body = body.replace(b" \r\n", b"\r\n")
    if body.endswith(b" "):
        body = body[:-1]
    end = len(body)
    while body.endswith(b"\r\n", 0, end):
        end -= 2
    if not end:
        return b""
    return body if end == len(body) - 2 else body[:end] + b"\r\n"


class Fields:
    """The fields of message after message. Most are the same in the next one, and what came of them is kept."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[bytes, tuple[bytes, bytes] | None] = {}

    def signed(self, head: bytes) -> tuple[str, bytes]:
        """The list for `h=`, and the fields in that order, in their canonical form, each with its line end.

        A field that is there several times is taken from the bottom up, as verifiers do."""
        if b"\r\n " in head or b"\r\n\t" in head:
            head = head.replace(b"\r\n ", b" ").replace(b"\r\n\t", b" ")
        kept = self._kept
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        names: list[bytes] = []
        lines: list[bytes] = []
        for field in reversed(head.split(b"\r\n")):
            found = kept[field] if field in kept else kept.setdefault(field, _canonical(field))
            if found is not None:
                names.append(found[0])
                lines.append(found[1])
        names.extend(OVERSIGNED)
        return b":".join(names).decode("ascii"), b"".join(lines)


def _canonical(field: bytes) -> tuple[bytes, bytes] | None:
    """Its name, and the whole of it; None where it is not signed."""
    name, _, value = field.partition(b":")
    word = name.rstrip(b" \t").lower()
    if word not in SIGNED and not word.startswith(_FAMILY):
        return None
    value = value.strip(b" \t")
    if b"  " in value or b"\t" in value:
        value = _BLANKS.sub(b" ", value)
    return word, b"%b:%b\r\n" % (word, value)
