"""Whatever the markup: its links are tracked, nothing else changes, and it takes no time."""

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tracked_markup import BASE, STOP, instrument, led, read, tracked

from waypost.adapters.render.link_scan import scan
from waypost.tracking.targets import target_of

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
    assert tracked(html, {"name": "Jane"}).count("/t/c/THEMARK.") == count
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
