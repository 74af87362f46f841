"""What a list of messages shows of each, read from its head within bounds: a head can be anything."""

from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.parser import BytesHeaderParser
from email.policy import compat32
from typing import Final

import msgspec

from waypost.mailbox.model import Letter

_LONGEST_HEAD: Final = 64 * 1024
_LONGEST_ENCODED: Final = 8 * 1024
_LONGEST_SHOWN: Final = 1_000
_PARSER: Final = BytesHeaderParser(policy=compat32)


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    to: str
    subject: str


def summary_of(letter: Letter) -> Summary:
    return Summary(to=_shown(", ".join(letter.recipients)), subject=_shown(subject_of(letter.data)))


def subject_of(message: bytes) -> str:
    head = message[:_LONGEST_HEAD].partition(b"\r\n\r\n")[0]
    # The modern policy spends gigabytes on a long row of encoded words; this one decodes nothing by itself.
    raw = str(_PARSER.parsebytes(head).get("subject", ""))[:_LONGEST_ENCODED]
    try:
        return str(make_header(decode_header(raw.replace("\r\n", "").replace("\n", ""))))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        return raw


def _shown(text: str) -> str:
    storable = text.encode("utf-8", "replace").decode()
    return "".join(character if character.isprintable() else " " for character in storable).strip()[:_LONGEST_SHOWN]
