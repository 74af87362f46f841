"""The derived text part."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.adapters.render.html_text import html_to_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>Hello <b>Jane</b>,</p><p>welcome &amp; enjoy.</p>", "Hello Jane,\n\nwelcome & enjoy.\n"),
        ("one<br>two<br/>three", "one\ntwo\nthree\n"),
        ("<div>a</div><div>b</div>", "a\nb\n"),
        ('<a href="https://x.example/?a=1&amp;b=2">Open</a> it', "Open (https://x.example/?a=1&b=2) it\n"),
        ('<a href="https://x.example">https://x.example</a>', "https://x.example\n"),
        ('<a href="mailto:a@x.example">write</a>', "write (a@x.example)\n"),
        ('<a href="#top">up</a> <a href="javascript:x()">run</a>', "up run\n"),
        ('<a href="https://x.example"><img src="l.png" alt="Logo"></a>', "Logo (https://x.example)\n"),
        ("<ul><li>One</li><li>Two<ol><li>a</li><li>b</li></ol></li></ul>end", "- One\n- Two\n  1. a\n  2. b\n\nend\n"),
        ("<table><tr><td>A</td><td>1</td></tr><tr><td>B</td><td>2</td></tr></table>", "A 1\nB 2\n"),
        ("<head><title>t</title><style>p{}</style></head><body>seen</body>", "seen\n"),
        ("<script>if (a < b) { x = '</p>' }</script>seen", "seen\n"),
        ('<div style="display: none">preheader</div>seen', "seen\n"),
        ("<pre>  a\n   b</pre>", "a\n   b\n"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2\n"),
        ("<!-- <p>hidden</p> -->seen<!doctype html>", "seen\n"),
        ('<p title="a > b">x</p>', "x\n"),
        ("a  \n\t b&nbsp;&nbsp;c", "a b c\n"),
        ("", ""),
        ("<p></p>", ""),
    ],
)
def test_what_people_read(html: str, text: str) -> None:
    assert html_to_text(html) == text


PIECES = [
    "<",
    "<a ",
    '<a href="',
    "<!--",
    "&amp",
    "<script>",
    "<div>",
    "<a x=",
    "<ul><li>",
    "<pre>",
    "</",
    "<p/",
    "<?",
    "']",
]


@pytest.mark.parametrize("piece", PIECES)
def test_broken_markup_takes_linear_time(piece: str) -> None:
    began = time.process_time()
    html_to_text(piece * (400_000 // len(piece)))
    assert time.process_time() - began < 3


@given(st.lists(st.one_of(st.sampled_from([*PIECES, ">", '"', "'", "</a>", "</li>", "x", " "]), st.text(max_size=5))))
@settings(max_examples=300, deadline=None)
def test_any_markup_is_read(pieces: list[str]) -> None:
    text = html_to_text("".join(pieces))
    assert text == "" or text.endswith("\n")
    assert "\n\n\n" not in text or "\n" in "".join(pieces)
