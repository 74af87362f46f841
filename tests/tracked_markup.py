"""Markup as a reader of the message sees it, with its links and its pixel told apart."""

import email
import re
from email.message import EmailMessage
from email.policy import default
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.render.wire import Parts
from waypost.templates.model import Profile
from waypost.templates.ports import MARK, Instrument, MailHead
from waypost.tracking.link_token import read_link

VERSION, KEY = UUID(int=5), b"k" * 32
BASE = "https://links.example"
HEAD = MailHead(
    message_id="a@example.com",
    sender="a@example.com",
    to="b@example.com",
    date="Thu, 15 Jan 2026 12:00:00 +0000",
)
MARKS = {MARK: "THEMARK"}
PIXEL = f'<img src="{BASE}/t/o/THEMARK.gif"'
STOP = f"{BASE}/u/stop"


def instrument(*, opens: bool = True, clicks: bool = True) -> Instrument:
    return Instrument(
        opens=f"{BASE}/t/o/" if opens else "",
        clicks=f"{BASE}/t/c/" if clicks else "",
        version=VERSION.bytes,
        key=KEY,
        spared=(f"{BASE}/u/", f"{BASE}/p/"),
    )


def bodies(html: str, context: dict[str, Any] | None = None, **said: Any) -> tuple[str, str]:
    """The HTML and the text part of the message."""
    how = said.pop("how", instrument())
    parts = Parts("Subject", html, said.pop("text", None), profile=said.pop("profile", Profile.JINJA))
    message = Rendition(parts, RenderLimits(), None, how).compose({**MARKS, **(context or {})}, None, None, HEAD)
    read = email.message_from_bytes(message, policy=default)
    assert isinstance(read, EmailMessage)
    shown, plain = read.get_body(("html",)), read.get_body(("plain",))
    assert shown is not None
    assert plain is not None
    return shown.get_content(), plain.get_content()


def tracked(html: str, context: dict[str, Any] | None = None, **said: Any) -> str:
    return bodies(html, context, **said)[0]


class Reader(HTMLParser):
    """The oracle: everything that is there, in order, with addresses of links in a list of their own."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.seen: list[object] = []
        self.addresses: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img" and any(value and value.startswith(f"{BASE}/t/o/") for _, value in attrs):
            self.seen.append("PIXEL")
            return
        kept = [pair for pair in attrs if pair[0] != "data-no-track"]
        if tag in ("a", "area"):
            self.addresses += [value for name, value in attrs if name == "href"][:1]
            kept = [(name, None if name == "href" else value) for name, value in kept]
        self.seen.append((tag, kept))

    def handle_endtag(self, tag: str) -> None:
        self.seen.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        self.seen.append(data)

    def handle_entityref(self, name: str) -> None:
        self.seen.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.seen.append(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        self.seen.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.seen.append(f"<!{decl}")


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


def led(address: str) -> tuple[int, str] | None:
    """Which link of the message an address is, and where it leads."""
    prefix = f"{BASE}/t/c/THEMARK."
    if not address.startswith(prefix):
        return None
    claim = read_link(address.removeprefix(prefix))
    assert claim is not None
    assert claim.version_id == VERSION
    assert claim.is_genuine(KEY)
    return claim.link, claim.url


def without_pixel(html: str) -> str:
    return re.sub(rf'<img src="{re.escape(BASE)}/t/o/THEMARK\.gif"[^>]*>', "", html)
