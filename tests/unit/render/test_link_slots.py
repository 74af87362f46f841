"""Tracked markup differs from the untracked in its links and its pixel, and in nothing else, whatever it is made of."""

import email
import re
from email.message import EmailMessage
from email.policy import default
from html import unescape
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.link_scan import scan
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.render.wire import Parts
from waypost.templates.model import Profile
from waypost.templates.ports import CLICK_MARK, OPEN_MARK, Instrument, MailHead
from waypost.tracking.link_token import read_link
from waypost.tracking.targets import target_of

VERSION, KEY = UUID(int=5), b"k" * 32
BASE = "https://links.example"
HEAD = MailHead(
    message_id="a@example.com",
    sender="a@example.com",
    to="b@example.com",
    date="Thu, 15 Jan 2026 12:00:00 +0000",
)
MARKS = {OPEN_MARK: "OPENMARK", CLICK_MARK: "CLICKMARK"}
PIXEL = f'<img src="{BASE}/t/o/OPENMARK.gif"'
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
    prefix = f"{BASE}/t/c/CLICKMARK."
    if not address.startswith(prefix):
        return None
    claim = read_link(address.removeprefix(prefix))
    assert claim is not None
    assert claim.version_id == VERSION
    assert claim.is_genuine(KEY)
    return claim.link, claim.url


def without_pixel(html: str) -> str:
    return re.sub(rf'<img src="{re.escape(BASE)}/t/o/OPENMARK\.gif"[^>]*>', "", html)


def test_links_are_rewritten_numbered_and_lead_where_they_led() -> None:
    html = "<p><a href=\"https://a.example/?x=1&amp;y=2\">A</a> <A HREF='http://b.example'>B</A> <a href=https://c.example/c>C</a></p>"
    found = [led(address or "") for address in read(tracked(html)).addresses]
    assert found == [(1, "https://a.example/?x=1&y=2"), (2, "http://b.example"), (3, "https://c.example/c")]


@pytest.mark.parametrize(
    "address",
    [
        "mailto:ada@example.com",
        "tel:+43123",
        "sms:+43123",
        "#top",
        "/relative",
        "",
        "javascript:void(0)",
        "data:text/plain,x",
        "https://user:secret@example.com/",
        f"{BASE}/u/token",
        f"{BASE}/p/token",
    ],
)
def test_what_is_no_plain_link_of_the_web_stays_byte_by_byte(address: str) -> None:
    html = f'<html><body><a href="{address}">x</a></body></html>'
    assert without_pixel(tracked(html)) == html
    variable = '<html><body><a href="{{ address }}">x</a></body></html>'
    assert unescape(without_pixel(tracked(variable, {"address": address}))) == html


@pytest.mark.parametrize("name", ["unsubscribe_url", "preferences_url"])
def test_the_links_that_stop_are_never_tracked(name: str) -> None:
    html = f'<a href="{{{{ {name} }}}}">stop</a><a href="https://a.example/">A</a>'
    reader = read(tracked(html, {name: "https://elsewhere.example/stop"}))
    assert unescape(reader.addresses[0] or "") == "https://elsewhere.example/stop"
    assert led(reader.addresses[1] or "") == (1, "https://a.example/")


@pytest.mark.parametrize("how", [instrument(), instrument(clicks=False), instrument(opens=False, clicks=False), None])
@pytest.mark.parametrize("mark", ["data-no-track", 'data-no-track=""', "DATA-NO-TRACK='yes'", "data-no-track=1"])
def test_who_says_no_is_left_alone_and_what_they_say_does_not_go_out(mark: str, how: Instrument | None) -> None:
    for html in (
        f'<a {mark} href="https://a.example/">A</a>',
        f'<a href="https://a.example/" {mark}>A</a>',
        f'{{% for one in [1] %}}<a {mark} href="https://a.example/{{{{ one }}}}">A</a>{{% endfor %}}'.replace(
            "[1]", "ones"
        ),
    ):
        shown = without_pixel(tracked(html, {"ones": [""]}, how=how))
        assert shown == '<a href="https://a.example/">A</a>'


def test_tracking_may_be_off_by_halves() -> None:
    html = '<body><a href="https://a.example/">A</a></body>'
    assert tracked(html, how=None) == html
    only_opens = tracked(html, how=instrument(clicks=False))
    assert without_pixel(only_opens) == html
    assert PIXEL in only_opens
    only_clicks = tracked(html, how=instrument(opens=False))
    assert "/t/o/" not in only_clicks
    assert led(read(only_clicks).addresses[0] or "") == (1, "https://a.example/")


@pytest.mark.parametrize(
    ("html", "around"),
    [
        ("<html><body>x</body></html>", "x{}</body></html>"),
        ("<p>x</p>", "<p>x</p>{}"),
        ("<p>x</p>\n", "<p>x</p>{}"),
        ("<body>a</body><!-- </body> --><script>'</body>'</script>", "a{}</body><!-- </body> -->"),
        ("{% if yes %}<body>x</body>{% else %}<body>y</body>{% endif %}", "x{}</body>"),
    ],
)
def test_the_pixel_comes_once_before_the_end_of_the_body(html: str, around: str) -> None:
    shown = tracked(html, {"yes": True})
    assert shown.count("/t/o/") == 1
    pixel = re.search(r"<img src=[^>]*>", shown)
    assert pixel is not None
    assert around.format(pixel[0]) in shown


def test_an_address_that_a_value_decides_is_signed_as_rendered() -> None:
    html = (
        '<a href="https://a.example/{{ order }}?q={{ word }}&amp;n={{ n }}">A</a>'
        '<a href="{{ link }}">B</a><a href="{{ word|upper }}">C</a>'
    )
    values = {"order": "A-17", "word": 'a&b="c"\'<', "n": 3, "link": "https://b.example/ü"}
    addresses = [address or "" for address in read(tracked(html, values)).addresses]
    assert led(addresses[0]) == (1, "https://a.example/A-17?q=a&b=%22c%22'%3C&n=3")
    assert led(addresses[1]) == (2, "https://b.example/%C3%BC")
    assert unescape(addresses[2]) == 'A&B="C"\'<'


@pytest.mark.parametrize(
    "html",
    [
        "{% for item in items %}<a href='https://a.example/{{ item }}'>x</a>{% endfor %}",
        "{% for item in items %}<a {% if item %}href='https://a.example/{{ item }}'{% endif %}>x</a>{% endfor %}",
        "{% macro link(item) %}<a href='https://a.example/{{ item }}'>x</a>{% endmacro %}"
        "{% for item in items %}{{ link(item) }}{% endfor %}",
        "{% raw %}<a href='https://a.example/one'>x</a>{% endraw %}<a href='https://a.example/{{ items[1] }}'>x</a>",
        "{% set whole %}<a href='https://a.example/one'>x</a>{% endset %}{{ whole }}"
        "<a href='https://a.example/{{ items|last }}'>x</a>",
        "{{ '<a href=\"https://a.example/one\">x</a>'|safe }}<a href='https://a.example/{{ items|last }}'>x</a>",
    ],
)
def test_whatever_the_template_does_the_links_are_found(html: str) -> None:
    addresses = [address or "" for address in read(tracked(html, {"items": ["one", "two"]})).addresses]
    assert [led(address) for address in addresses] == [(1, "https://a.example/one"), (2, "https://a.example/two")]


def test_links_that_come_whole_in_a_variable_are_found() -> None:
    """As those of a mail that was submitted over SMTP: its words are data, in a template of one place."""
    words = '<p><a href="https://a.example/one">x</a><a href="mailto:x@y.z">m</a><a href="https://a.example/two">y</a>'
    for _ in range(2):
        addresses = [a or "" for a in read(tracked("{{ mail_html|safe }}", {"mail_html": words})).addresses]
        assert [led(a) for a in addresses] == [(1, "https://a.example/one"), None, (2, "https://a.example/two")]


def test_liquid_is_tracked_too() -> None:
    html = "{% for item in items %}<a href='https://a.example/{{ item }}'>x</a>{% endfor %}<a href='mailto:x@y.z'>m</a>"
    addresses = [a or "" for a in read(tracked(html, {"items": ["one", "two"]}, profile=Profile.LIQUID)).addresses]
    assert [led(a) for a in addresses] == [(1, "https://a.example/one"), (2, "https://a.example/two"), None]


def test_a_branch_that_is_not_taken_needs_no_values() -> None:
    html = "{% if yes %}<a href='https://a.example/{{ missing }}'>x</a>{% endif %}<a href='https://b.example/'>y</a>"
    [address] = read(tracked(html, {"yes": False})).addresses
    led_to = led(address or "")
    assert led_to is not None
    assert led_to[1] == "https://b.example/"
    with pytest.raises(RenderRefused) as refused:
        tracked(html, {"yes": True})
    assert refused.value.code == "missing_variable"
    assert "missing" in refused.value.message


def test_the_text_part_is_made_of_the_untracked_markup() -> None:
    html = '<p><a href="https://a.example/{{ order }}">Order</a></p>'
    for text in (None, "Hello {{ order }}: https://a.example/{{ order }}"):
        plain = bodies(html, {"order": "1"}, text=text, how=None)[1]
        assert bodies(html, {"order": "1"}, text=text)[1] == plain
        assert "/t/c/" not in plain


def test_outlook_s_own_markup_is_tracked_and_other_comments_are_not() -> None:
    html = (
        '<!--[if mso]><v:roundrect href="https://a.example/b"><![endif]--><a href="https://a.example/b">B</a>'
        '<!-- <a href="https://a.example/no">no</a> --><style>a:after{content:"<a href=https://a.example/no>"}</style>'
        '<img alt="<a href=\'https://a.example/no\'>" src="https://a.example/p.png">'
    )
    shown = tracked(html)
    assert shown.count("/t/c/") == 2
    assert shown.count("https://a.example/no") == 3
    assert '<!--[if mso]><v:roundrect href="https://links.example/t/c/' in shown


WORDS = st.text(alphabet="ab <>&\"'=/-!{}%#é\n", max_size=12)
NAMES = st.sampled_from(["title", "style", "class", "data-x", "id"])
QUOTES = st.sampled_from(['"', "'"])
ADDRESSES = st.sampled_from(
    [
        "https://a.example/x?a=1&amp;b=2",
        "http://b.example",
        "https://c.example/é",
        "mailto:x@example.com",
        "#top",
        "https://u@d.example/",
        STOP,
    ]
)


@st.composite
def an_attribute(draw: st.DrawFn) -> str:
    quote = draw(QUOTES)
    value = draw(WORDS).replace(quote, "").replace("{", "").replace("}", "")
    return f"{draw(NAMES)}={quote}{value}{quote}"


@st.composite
def a_link(draw: st.DrawFn) -> str:
    before, after = " ".join(draw(st.lists(an_attribute(), max_size=2))), draw(st.sampled_from(["", " data-no-track"]))
    name, quote, space = (
        draw(st.sampled_from(["a", "A", "area"])),
        draw(QUOTES),
        draw(st.sampled_from([" ", "\n", "\t "])),
    )
    words = draw(st.sampled_from(["x", "a &amp; b"]))
    return f"<{name} {before}{space}href={quote}{draw(ADDRESSES)}{quote}{after}>{words}</a>"


@st.composite
def some_markup(draw: st.DrawFn) -> str:
    text = st.sampled_from(["text ", "&nbsp;", "a &lt; b", "1 > 0", "{{ name }}", "\n", "é"])
    tag = st.builds(
        lambda name, attribute: f"<{name} {attribute}>", st.sampled_from(["p", "td", "div"]), an_attribute()
    )
    other = st.sampled_from(
        [
            "<!-- <a href='https://no.example/'> -->",
            "</p>",
            "<br/>",
            "<style>p{color:red}</style>",
            "<a name=x>anchor</a>",
        ]
    )
    pieces = draw(st.lists(st.one_of(text, tag, other, a_link()), max_size=10))
    body = "".join(pieces)
    return f"<!DOCTYPE html><html><body>{body}</body></html>" if draw(st.booleans()) else body


@given(some_markup(), st.sampled_from(["", "{% set unused = 1 %}"]))
def test_nothing_but_links_and_pixel_is_changed(html: str, steering: str) -> None:
    """With and without a tag that keeps the template from being read ahead."""
    source = steering + html
    context = {"name": "Jane <3"}
    plain, shown = tracked(source, context, how=None), tracked(source, context)
    before, after = read(plain), read(shown)
    assert "PIXEL" in after.seen
    assert after.seen.count("PIXEL") == 1
    place = after.seen.index("PIXEL")
    assert _joined([*after.seen[:place], *after.seen[place + 1 :]]) == _joined(before.seen)
    assert len(after.addresses) == len(before.addresses)
    number = 0
    for was, now in zip(before.addresses, after.addresses, strict=True):
        url = target_of(was or "")
        if led(now or "") is None:
            assert now == was
        else:
            number += 1
            assert led(now or "") == (number, url)
            assert not (was or "").startswith(f"{BASE}/u/")


@given(some_markup())
def test_every_link_of_the_web_is_tracked_unless_its_author_says_no(html: str) -> None:
    plain = tracked(html, {"name": "Jane"}, how=instrument(opens=False, clicks=False))
    count = sum(
        1
        for link in scan(html).links
        if not link.opt_out
        and (url := target_of(unescape(html[link.start : link.end]))) is not None
        and not url.startswith(f"{BASE}/u/")
    )
    assert tracked(html, {"name": "Jane"}).count("/t/c/CLICKMARK.") == count
    assert "data-no-track" not in plain


@pytest.mark.parametrize(
    "bomb",
    [
        "<a " * 50_000,
        "<a href='" * 20_000,
        '<a href="x' * 20_000,
        "<!--" * 50_000,
        "<style>" * 20_000,
        "<a " + "x=1 " * 50_000 + ">",
        "<" * 200_000,
        "<a href=https://a.example/ " + "\n" * 200_000,
        "<!--[if mso]>" * 20_000,
        "</body" * 50_000,
    ],
)
def test_no_markup_makes_the_scan_slow(bomb: str) -> None:
    """Were it not linear, this would take longer than a test may."""
    scan(bomb * 2)


def _joined(seen: list[object]) -> list[object]:
    """Text that the pixel has cut in two is one text again."""
    out: list[object] = []
    for one in seen:
        if isinstance(one, str) and out and isinstance(out[-1], str) and not one.startswith(("/", "<!")):
            out[-1] = out[-1] + one
        else:
            out.append(one)
    return out
