"""The header lines of a message. The messages of a batch share most of them: what was made last is kept."""

from collections.abc import Callable
from typing import Final, TypeVar

from waypost.adapters.render.mail_headers import address_header, date_header, message_id_header, text_header
from waypost.adapters.render.refusal import RenderRefused
from waypost.templates.ports import MailHead

_Value = TypeVar("_Value")

_MOST_KEPT: Final = 64


class HeadLines:
    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, str]] = {}
        self._shared: tuple[object, ...] = ()
        self._shared_lines = ""

    def of(self, head: MailHead, subject_line: str) -> str:
        """All lines but those of MIME. Raises `RenderRefused`."""
        shared = (head.date, head.sender, head.headers, head.reply_to, head.cc)
        if shared != self._shared:
            self._shared_lines = self._lines_of(head)
            self._shared = shared
        unsubscribe = "" if head.unsubscribe is None else text_header("List-Unsubscribe", f"<{head.unsubscribe}>")
        own = address_header("To", (head.to,)), subject_line, message_id_header(head.message_id)
        return "".join((self._shared_lines, unsubscribe, *own))

    def _lines_of(self, head: MailHead) -> str:
        line, kept = self._line, self._kept
        lines = [line("Date", head.date, _date), line("From", head.sender, _mailbox)]
        if head.reply_to is not None:
            lines.append(line("Reply-To", head.reply_to, _mailbox))
        if head.cc:
            lines.append(line("Cc", head.cc, address_header))
        for name, value in head.headers:
            known = kept.get(name)
            lines.append(known[1] if known is not None and known[0] == value else line(name, value, text_header))
        return "".join(lines)

    def _line(self, name: str, value: _Value, make: Callable[[str, _Value], str]) -> str:
        known = self._kept.get(name)
        if known is not None and known[0] == value:
            return known[1]
        line = make(name, value)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[name] = (value, line)
        return line


def subject_line(subject: str) -> str:
    """Raises `RenderRefused`."""
    try:
        return text_header("Subject", subject)
    except RenderRefused as refused:
        raise RenderRefused(refused.code, refused.message, refused.pointer or "/subject") from None


def _mailbox(name: str, mailbox: str) -> str:
    return address_header(name, (mailbox,))


def _date(_: str, date: str) -> str:
    return date_header(date)
