"""Header lines of RFC 5322: checked, encoded by RFC 2047 where they must be, folded to 78 columns where they can be."""

import binascii
import re
from collections.abc import Sequence
from typing import Final

from waypost.adapters.render.refusal import RenderRefused

_COLUMNS: Final = 78
_LONGEST_LINE: Final = 998
_LONGEST_WORD: Final = 75
_ENCODED_COLUMNS: Final = 76  # RFC 2047 is stricter than RFC 5322 about lines that hold encoded words

# Everything that some reader of mail takes for the end of a line, and every other control character but the tab.
_BREAKS: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ATOMS: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*\Z")
_ADDRESS: Final = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*\Z"
)
# RFC 6532: the local part in any script. The domain is ASCII by then.
_ADDRESS_IN_UTF8: Final = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*\Z"
)
_CALM_VALUE: Final = re.compile(r"[!-<>-~](?:[ -<>-~]{0,58}[!-<>-~])?\Z")
_CALM_MAILBOX: Final = re.compile(
    r"(?:[A-Za-z0-9]+(?: [A-Za-z0-9]+)* <[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*@[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*>"
    r"|[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*@[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*)\Z"
)
_MESSAGE_ID: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]+\Z")
_NAME: Final = re.compile(r"(?!\.)[!-9;-~]{1,76}\Z")  # no dot at the start of a line
_USUAL: Final = frozenset({"Subject", "List-Unsubscribe"})
"""What every message has anew."""
_SPACES: Final = re.compile(" +")
_DATE: Final = re.compile(r"[A-Za-z0-9 ,:+-]{10,60}\Z")


def text_header(name: str, value: str) -> str:
    """An unstructured header: the subject, or one of the caller's own."""
    if name not in _USUAL and not _NAME.match(name):
        raise _refused("A header's name holds a character that header names cannot have.")
    if not value.isascii():
        refuse_breaks(name, value)
        return _encoded(f"{name}:", value)
    if len(value) <= 60:
        if len(name) <= 16 and _CALM_VALUE.match(value):
            return f"{name}: {value}\r\n"
    elif len(value) <= 900 and " " not in value and _is_plain(value):
        # A long word, such as a link: there is no place to fold it.
        return f"{name}: {value}\r\n"
    refuse_breaks(name, value)
    if _is_plain(value):
        line = f"{name}: {value}"
        if len(line) <= _COLUMNS:
            return line + "\r\n"
        folded = _fold(line)
        if folded is not None:
            return folded
    return _encoded(f"{name}:", value)


def address_header(name: str, mailboxes: Sequence[str]) -> str:
    """`From`, `To`, `Cc` or `Reply-To`: each mailbox is an address or `Name <address>`."""
    if len(mailboxes) == 1 and len(mailboxes[0]) <= 60 and _CALM_MAILBOX.match(mailboxes[0]):
        return f"{name}: {mailboxes[0]}\r\n"
    line, lines = f"{name}:", list[str]()
    for position, mailbox in enumerate(mailboxes):
        comma = "," if position < len(mailboxes) - 1 else ""
        for word in _mailbox_words(name, mailbox, comma):
            if len(line) + 1 + len(word) > _COLUMNS and not line.endswith(":"):
                lines.append(line)
                line = ""
            line += " " + word
    lines.append(line)
    return "\r\n".join(lines) + "\r\n"


def message_id_header(message_id: str) -> str:
    if len(message_id) > 250 or not _MESSAGE_ID.match(message_id):
        raise _refused("The message id is not one word of the form left@right.")
    return f"Message-ID: <{message_id}>\r\n"


def date_header(date: str) -> str:
    if not _DATE.match(date):
        raise _refused("The date is not a date of RFC 5322.")
    return f"Date: {date}\r\n"


def refuse_breaks(name: str, value: str) -> None:
    if not (value.isascii() and value.isprintable()) and _BREAKS.search(value):
        raise _refused(f"The {name} header holds a line break or another control character.")


def _refused(message: str) -> RenderRefused:
    return RenderRefused("header_refused", message)


def _is_plain(value: str) -> bool:
    """Readers give back exactly these characters; what only looks like an encoded word must be encoded itself."""
    return value.isascii() and value.isprintable() and "=?" not in value and value == value.strip(" ") and value != ""


def _fold(line: str) -> str | None:
    """Breaks before spaces only, because unfolding takes away the line break and nothing else."""
    lines = list[str]()
    start, last_space = 0, -1
    value_starts = line.index(":") + 2
    for space in _SPACES.finditer(line, value_starts):
        position = space.start()
        if position - start > _COLUMNS and last_space > start:
            lines.append(line[start:last_space])
            start = last_space
        last_space = position
    if len(line) - start > _COLUMNS and last_space > start:
        lines.append(line[start:last_space])
        start = last_space
    lines.append(line[start:])
    if max(map(len, lines)) > _LONGEST_LINE:
        return None
    return "\r\n".join(lines) + "\r\n"


def _encoded(head: str, value: str) -> str:
    words = encoded_words(value, first_room=_ENCODED_COLUMNS - 1 - len(head))
    return head + " " + "\r\n ".join(words) + "\r\n"


def encoded_words(value: str, first_room: int = _LONGEST_WORD) -> list[str]:
    """RFC 2047: base64 words of at most 75 characters, each holding whole characters."""
    plain, start, words = value.encode(), 0, list[str]()
    room = _bytes_in(min(first_room, _LONGEST_WORD))
    while len(plain) - start > room:
        end = start + room
        while plain[end] & 0xC0 == 0x80:  # within a character
            end -= 1
        words.append(_encoded_word(plain[start:end]))
        start, room = end, _bytes_in(_LONGEST_WORD)
    words.append(_encoded_word(plain[start:]))
    return words


def _bytes_in(columns: int) -> int:
    # `=?utf-8?b?` and `?=` take 12; where a long name leaves no room at all, the line grows past 78 (never past 998).
    return max((columns - 12) // 4 * 3, 4)


def _encoded_word(plain: bytes) -> str:
    return f"=?utf-8?b?{binascii.b2a_base64(plain, newline=False).decode('ascii')}?="


def _mailbox_words(name: str, mailbox: str, comma: str) -> list[str]:
    refuse_breaks(name, mailbox)
    display, address = split_mailbox(mailbox)
    if len(address) > 320 or not (_ADDRESS if address.isascii() else _ADDRESS_IN_UTF8).match(address):
        raise _refused(f"The {name} header holds something that is not an address, or that cannot be sent to.")
    if not address.isprintable():
        raise _refused(f"The {name} header holds an address with a character that nobody can see.")
    if not display:
        return [address + comma]
    return [*_phrase(display, first_room=_ENCODED_COLUMNS - 2 - len(name)), f"<{address}>{comma}"]


def split_mailbox(mailbox: str) -> tuple[str, str]:
    """(display name, address) of an address or of `Name <address>`; a quoted name loses its quotes."""
    mailbox = mailbox.strip()
    if not mailbox.endswith(">"):
        return "", mailbox
    display, _, address = mailbox[:-1].rpartition("<")
    display = display.strip()
    if len(display) >= 2 and display[0] == display[-1] == '"':
        display = re.sub(r"\\(.)", r"\1", display[1:-1])
    return display, address


def _phrase(display: str, first_room: int) -> list[str]:
    if display.isascii() and "=?" not in display and "\t" not in display:
        if _ATOMS.match(display) and len(display) < _COLUMNS:
            return display.split(" ")
        quoted = '"' + display.replace("\\", "\\\\").replace('"', '\\"') + '"'
        if len(quoted) < _COLUMNS:
            return [quoted]
    return encoded_words(display, first_room)
