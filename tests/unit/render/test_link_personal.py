"""Addresses that a value decides lead, tracked, where they would lead untracked, however they are signed."""

import email
from email.message import EmailMessage
from email.policy import default
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.render.wire import Parts
from waypost.templates.ports import MARK, Instrument, MailHead
from waypost.tracking.link_token import read_link
from waypost.tracking.targets import target_of

VERSION, KEY = UUID(int=5), b"k" * 32
BASE = "https://links.example"
HEAD = MailHead(
    message_id="a@example.com", sender="a@example.com", to="b@example.com", date="Thu, 15 Jan 2026 12:00:00 +0000"
)
MARKS = {MARK: "THEMARK"}
TRACKED = Instrument(
    opens=f"{BASE}/t/o/",
    clicks=f"{BASE}/t/c/",
    version=VERSION.bytes,
    key=KEY,
    spared=(f"{BASE}/u/", f"{BASE}/p/"),
)


class Addresses(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append(dict(attrs).get("href") or "")


def addresses(html: str, context: dict[str, Any], how: Instrument | None = TRACKED) -> list[str]:
    """Of the message's links, unescaped."""
    rendition = Rendition(Parts("Subject", html, "Text"), RenderLimits(), None, how)
    read = email.message_from_bytes(rendition.compose({**MARKS, **context}, None, None, HEAD), policy=default)
    assert isinstance(read, EmailMessage)
    shown = read.get_body(("html",))
    assert shown is not None
    return Addresses(shown.get_content()).found


def led(address: str) -> tuple[int, str] | None:
    """Which link of the message an address is, and where it leads."""
    prefix = f"{BASE}/t/c/THEMARK."
    if not address.startswith(prefix):
        return None
    claim = read_link(address.removeprefix(prefix))
    assert claim is not None
    assert claim.is_personal
    assert claim.is_genuine(KEY)
    return claim.link, claim.url


def test_words_are_signed_once_for_all_links_of_a_message_and_what_is_no_word_for_each() -> None:
    html = (
        '<a href="https://a.example/{{ order }}?r={{ reader.id }}&amp;n={{ n }}">A</a>'
        '<a href=" HTTPS://b.example/ü/{{ reader.id }}#x">B</a><a href="{{ link }}">C</a>'
        '<a href="https://{{ order }}.example/">D</a><a href="https://e.example/{{ order|upper }}">E</a>'
    )
    values: dict[str, Any] = {"order": "a-17", "n": 3, "reader": {"id": "r_1"}, "link": "https://c.example/"}
    expected = [
        (1, "https://a.example/a-17?r=r_1&n=3"),
        (2, "HTTPS://b.example/%C3%BC/r_1#x"),
        (3, "https://c.example/"),
        (4, "https://a-17.example/"),
        (5, "https://e.example/A-17"),
    ]
    found = addresses(html, values)
    assert [led(address) for address in found] == expected
    said = [address.removeprefix(f"{BASE}/t/c/THEMARK.").partition(".")[2] for address in found]
    assert said[0] == said[1] != ""
    assert said[2:] == ["", "", ""]
    for odd in ("a/17", "ü", "a 17", "", "x" * 65, "?"):
        found = addresses(html, {**values, "order": odd})
        assert [led(address) for address in found[:2]] == [
            (1, target_of(f"https://a.example/{odd}?r=r_1&n=3")),
            expected[1],
        ]


@pytest.mark.parametrize("word", ["u", "u/stop", "p", "x"])
def test_no_word_makes_a_link_of_one_that_stops(word: str) -> None:
    html = f'<a href="{BASE}/{{{{ word }}}}/token">x</a>'
    [address] = addresses(html, {"word": word})
    assert (led(address) is None) == (word != "x")


PIECES = st.text(alphabet="abc/?=&;.%#é +", max_size=6)
VALUES = st.one_of(
    st.text(alphabet="ab1-_", min_size=1, max_size=8), st.text(alphabet="a/?&<\"' é:", max_size=5), st.integers()
)


@given(
    st.sampled_from(["https://a.example", "http://b.example/", "https://a.example/?", "", "https://", "mailto:", "#"]),
    st.lists(st.tuples(PIECES, st.sampled_from(["one", "two", "three.four"])), min_size=1, max_size=3),
    PIECES,
    VALUES,
    VALUES,
    VALUES,
)
def test_an_address_leads_where_it_would_lead_untracked(
    start: str, middle: list[tuple[str, str]], end: str, one: str | int, two: str | int, four: str | int
) -> None:
    written = start + "".join(f"{piece}{{{{ {name} }}}}" for piece, name in middle) + end
    context = {"one": one, "two": two, "three": {"four": four}}
    html = f'<a href="{written}">x</a>'
    [untracked], [now] = addresses(html, context, how=None), addresses(html, context)
    url = target_of(untracked)
    if url is None:
        assert now == untracked
    else:
        assert led(now) == (1, url)
