"""Tracked markup differs from the untracked in its links and its pixel, and in nothing else, whatever it is made of."""

import re
from html import unescape

import pytest
from tests.tracked_markup import BASE, PIXEL, bodies, instrument, led, read, tracked, without_pixel

from waypost.adapters.render.refusal import RenderRefused
from waypost.templates.model import Profile
from waypost.templates.ports import Instrument


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
