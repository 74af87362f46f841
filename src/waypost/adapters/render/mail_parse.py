"""Reads a mail that somebody else composed. Runs in a render process only, and within bounds of its own.

The old policy of the standard library's parser is used, which decodes nothing by itself: the new one spends gigabytes
on a long row of encoded words.
"""

import re
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from email.utils import getaddresses
from typing import Final, cast

from waypost.adapters.render.mail_charsets import decode, load_charsets
from waypost.channels.rules import is_reserved
from waypost.submission.model import CONTROL, Enclosure, ReadMail, UnreadMail

_LONGEST_HEAD: Final = 128 * 1024
_MOST_HEADERS: Final = 200
_LONGEST_ENCODED: Final = 8 * 1024
_MOST_PARTS: Final = 100
_DEEPEST: Final = 10
_LONGEST_NAME: Final = 200

_FOLD: Final = re.compile(r"\r?\n[ \t]*")
_CONTROL_CHARACTERS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_PLAIN_NAME: Final = re.compile(r"[^<>\"\\,;:@()\[\]]+\Z")
_KEPT_WHOLE: Final = frozenset({"multipart/signed", "multipart/encrypted", "application/pkcs7-mime"})
_PARSER: Final = BytesParser(policy=compat32)
_WIRE: Final = compat32.clone(linesep="\r\n")
_OF_EVERY_KIND: Final = (
    b"From: =?utf-8?q?K=C3=A4se=2C_Brot?= <a@b.example>\r\nSubject: =?utf-8?b?w6Q=?= =?koi8-r?q?=C1?= \xc3\xa4\r\n"
    b"Reply-To: (x) a@b.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
    b"--b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\nw6Q=\r\n"
    b"--b\r\nContent-Type: text/html; charset=none\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=C3=A4\r\n"
    b"--b\r\nContent-Type: text/plain; name*=utf-8''%C3%A4\r\nContent-Transfer-Encoding: x-uuencode\r\n\r\nbegin 6\r\n"
    b"--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: \xc3\xa4\r\n\r\nx\r\n--b--\r\n"
)


class _UnreadableError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.fault = UnreadMail(code=code, message=message)


def read_mail(content: bytes) -> ReadMail | UnreadMail:
    try:
        return _read(content)
    except _UnreadableError as unreadable:
        return unreadable.fault
    except RecursionError:
        return _too_deep().fault


def _read(content: bytes) -> ReadMail:
    if len(content.partition(b"\r\n\r\n")[0]) > _LONGEST_HEAD:
        raise _UnreadableError("header_refused", f"The head of the mail is longer than {_LONGEST_HEAD // 1024} KB.")
    message = _PARSER.parsebytes(content)
    heads = [(name, _raw(value)) for name, value in message.raw_items()]
    if len(heads) > _MOST_HEADERS:
        raise _UnreadableError("header_refused", f"The mail has more than {_MOST_HEADERS} headers.")
    first: dict[str, str] = {}
    for name, value in heads:
        first.setdefault(name.lower(), value)
    senders = [value for name, value in heads if name.lower() == "from"]
    bodies = _Bodies()
    bodies.collect(message)
    return ReadMail(
        sender=_only_mailbox(senders),
        reply_to=_first_mailbox(first.get("reply-to")),
        message_id=first.get("message-id", "").strip()[:998] or None,
        subject=_words(first.get("subject", "")),
        html=bodies.html,
        text=bodies.text,
        headers=tuple((name, _words(value)) for name, value in heads if _is_callers(name, value)),
        controls=tuple(
            (name.lower().removeprefix(CONTROL), _words(value))
            for name, value in heads
            if name.lower().startswith(CONTROL)
        ),
        enclosures=tuple(bodies.enclosures),
    )


def _is_callers(name: str, value: str) -> bool:
    known = name.lower()
    return not is_reserved(known) and bool(value.strip())


class _Bodies:
    """The first text and the first HTML that are not meant as files; everything else is enclosed."""

    def __init__(self) -> None:
        self.html: str | None = None
        self.text: str | None = None
        self.enclosures: list[Enclosure] = []

    def collect(self, message: "Message[str, str]") -> None:
        for number, part in enumerate(_leaves(message, 0)):
            if number >= _MOST_PARTS:
                raise _UnreadableError("too_many", f"The mail has more than {_MOST_PARTS} parts.")
            media_type = part.get_content_type()
            is_file = part.get_content_disposition() == "attachment" or part.get_filename() is not None
            if media_type == "text/plain" and not is_file and self.text is None:
                self.text = _text_of(part)
            elif media_type == "text/html" and not is_file and self.html is None:
                self.html = _text_of(part)
            else:
                self.enclosures.append(_enclosed(part, media_type))


def _leaves(part: "Message[str, str]", depth: int) -> "Iterator[Message[str, str]]":
    if part.get_content_type() in _KEPT_WHOLE:
        message = "A signed or encrypted mail cannot be taken: it is composed anew for each recipient."
        raise _UnreadableError("signed_content", message)
    if depth > _DEEPEST:
        raise _too_deep()
    if part.get_content_maintype() == "multipart" and part.is_multipart():
        for below in cast("list[Message[str, str]]", part.get_payload()):
            yield from _leaves(below, depth + 1)
    else:
        yield part


def _text_of(part: "Message[str, str]") -> str:
    data = part.get_payload(decode=True)
    text = decode(data, part.get_content_charset()) if isinstance(data, bytes) else ""
    return _CONTROL_CHARACTERS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _enclosed(part: "Message[str, str]", media_type: str) -> Enclosure:
    data = (
        part.get_payload(decode=True)
        if not part.is_multipart()
        else part.as_bytes(policy=_WIRE).partition(b"\r\n\r\n")[2]
    )
    shown = part.get_content_disposition() != "attachment"
    content_id = _words(_raw(str(part.get("Content-ID", "")))).strip("<> ") if shown else ""
    charset = part.get_content_charset() if media_type.startswith("text/") else None
    return Enclosure(
        name=_clean(_words(part.get_filename() or ""))[:_LONGEST_NAME],
        media_type=f"{media_type}; charset={charset}" if charset else media_type,
        content=data if isinstance(data, bytes) else b"",
        content_id=content_id or None,
    )


def _only_mailbox(values: list[str]) -> str:
    found = [mailbox for value in values for mailbox in _mailboxes(value)]
    if len(values) != 1 or len(found) != 1:
        raise _UnreadableError("invalid_address", "The mail needs one From header with one address in it.")
    return found[0]


def _first_mailbox(value: str | None) -> str | None:
    found = _mailboxes(value) if value else []
    if len(found) > 1:
        raise _UnreadableError("invalid_address", "Reply-To may name one address.")
    return found[0] if found else None


def _mailboxes(value: str) -> list[str]:
    """As `Name <address>`. Names are decoded after the addresses are known: an encoded comma separates nobody."""
    spelled: list[str] = []
    for name, address in getaddresses([value[:_LONGEST_ENCODED]]):
        shown = _clean(_words(name))[:_LONGEST_NAME]
        if shown and not _PLAIN_NAME.match(shown):
            shown = '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'
        spelled.append(f"{shown} <{address}>" if shown else address)
    return spelled


def _raw(value: str) -> str:
    """One line; bytes beyond ASCII are UTF-8, as SMTPUTF8 has it."""
    return _FOLD.sub(" ", value.encode("ascii", "surrogateescape").decode("utf-8", "replace")).strip()


def _words(value: str) -> str:
    """With encoded words decoded, where there are any and they are not too many."""
    if "=?" not in value or len(value) > _LONGEST_ENCODED:
        return _clean(value)
    try:
        decoded = [
            text if isinstance(text, str) else decode(text, charset or "utf-8")
            for text, charset in decode_header(value)
        ]
    except (HeaderParseError, ValueError):
        return _clean(value)
    return _clean("".join(decoded))


def _clean(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text).strip()


def _too_deep() -> _UnreadableError:
    return _UnreadableError("too_many", f"The parts of the mail nest deeper than {_DEEPEST}.")


# The library imports some of its modules only when it meets what they are for, and this process may not do so later.
load_charsets()
read_mail(_OF_EVERY_KIND)
