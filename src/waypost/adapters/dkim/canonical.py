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


def split_message(message: bytes) -> tuple[bytes, bytes]:
    """The header fields, without their last line end, and the body."""
    head, _, body = message.partition(b"\r\n\r\n")
    return head, body


def relaxed_body(body: bytes) -> bytes:
    if b"\t" in body or b"  " in body:
        body = _BLANKS.sub(b" ", body)
    if b" \r\n" in body:
        body = body.replace(b" \r\n", b"\r\n")
    if body.endswith(b" "):
        body = body[:-1]
    end = len(body)
    while body.endswith(b"\r\n", 0, end):
        end -= 2
    if not end:
        return b""
    return body if end == len(body) - 2 else body[:end] + b"\r\n"


def signed_fields(head: bytes) -> tuple[str, bytes]:
    """The list for `h=`, and the fields in that order, in their canonical form, each with its line end.

    A field that is there several times is taken from the bottom up, as verifiers do."""
    unfolded = head.replace(b"\r\n ", b" ").replace(b"\r\n\t", b" ") if b"\r\n " in head or b"\r\n\t" in head else head
    names: list[bytes] = []
    lines: list[bytes] = []
    for field in reversed(unfolded.split(b"\r\n")):
        name, _, value = field.partition(b":")
        word = name.rstrip(b" \t").lower()
        if word in SIGNED or word.startswith(_FAMILY):
            names.append(word)
            value = value.strip(b" \t")
            if b"  " in value or b"\t" in value:
                value = _BLANKS.sub(b" ", value)
            lines.append(b"%b:%b\r\n" % (word, value))
    names.extend(OVERSIGNED)
    return b":".join(names).decode("ascii"), b"".join(lines)
