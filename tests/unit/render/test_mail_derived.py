"""A text part derived once per template equals the text derived from each message."""

import quopri

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.render.engine import JinjaDialect, make_environment
from waypost.adapters.render.html_text import html_to_text
from waypost.adapters.render.mail_compose import compile_mail
from waypost.adapters.render.mail_derived import CalmQuoter, derived_text
from waypost.adapters.render.wire import Parts
from waypost.templates.ports import MailHead

HEAD = MailHead(
    message_id="1@example.com", sender="a@example.com", to="b@example.com", date="Thu, 15 Jan 2026 12:00:00 +0000"
)

pieces = st.sampled_from(
    [
        "<p>Hello {{ name }}, welcome</p>",
        "{{ name }}",
        " &amp; {{ name }}!",
        "<h1>\n {{ name }}\n</h1>",
        "<title>{{ name }}</title>",
        "<style>p{color:red}</style>",
        '<a href="{{ url }}">Click <b>here</b></a>',
        '<a class="b" href="{{ url }}?u={{ name }}" target="_blank">Go</a>',
        '<a href="https://example.com/{{ name }}">Terms &amp; more</a>',
        '<a href="#{{ name }}">top</a>',
        '<a href="{{ name }}:{{ url }}">x</a>',
        '<img src="{{ url }}" alt="logo">',
        '<td width="{{ name }}">{{ n }}</td>',
        "<ul><li>{{ name }}<li>{{ url }}</ul>",
        "<pre> {{ name }}\n  x </pre>",
        "<br>{# a note #}\n\n",
        "text  &lt;b&gt; = é . ",
        "<!-- {{ name }} -->",
    ]
)
values = st.sampled_from(
    ["Jane", "Jane Doe", "", " x ", "a  b", "<b>bold</b>", "&lt;", "é=.", "lt;", "\n", "a\nb", "http://x/?a=b&c"]
)
urls = st.sampled_from(
    ["https://example.com/?a=1&b=2", "HTTP://x", "javascript:alert(1)", "", "/x", "https://x y", "mailto:a@b.c"]
)


@given(st.lists(pieces, min_size=1, max_size=6).map("".join), values, urls)
def test_both_ways_give_the_same_text(markup: str, name: str, url: str) -> None:
    context = {"name": name, "url": url, "n": 7}
    environment = make_environment()
    environment.add_template("html", markup)
    expected = html_to_text(environment.render_template("html", **context))
    message = compile_mail(JinjaDialect(), Parts("s", markup)).compose(context, HEAD)
    part = message.split(b"--=_waypost_alternative")[1].split(b"\r\n\r\n", 1)[1]
    assert quopri.decodestring(part[:-2]).decode().replace("\r\n", "\n") == expected.replace("\r\n", "\n")


@pytest.mark.parametrize(
    "markup",
    [
        '<p style="{{ css }}">x</p>',
        '<img alt="{{ x }}">',
        '<p hidden="{{ x }}">y</p>',
        '<a href="{{ url }}">{{ url }}</a>',
        '<a href="{{ url }}">https://example.com</a>',
        '<a href="{{ url }}">&#104;ttps&#58;//example.com</a>',
        '<a href="{{ url }}"><img alt="https://x"></a>',
        '<a href="mailto:{{ email }}">jane@example.com</a>',
        "<a href={{ url }}>x</a>",
        "<a href='{{ url }}'>x</a>",
        '<a href="{{ url }}">never closed',
        "<{{ tag }}>x",
        "AT&{{ x }}",
        "&#{{ x }}",
        "{% if x %}<p>a</p>{% endif %}",
        "&#123;&#123; {{ x }} }}",
        "wpslot0qz {{ x }}",
    ],
)
def test_markup_whose_text_depends_on_values_is_derived_per_message(markup: str) -> None:
    assert derived_text(markup) is None


def test_ordinary_markup_is_derived_once() -> None:
    text = derived_text('<p>Hello {{ name }}</p><p><a href="{{ url }}">Open</a></p>')
    assert text == "Hello {{ name }}\n\nOpen ({{ url|web_address }})\n"


@pytest.mark.parametrize("value", ["", " a", "a ", "a  b", "a\nb", "a\u00a0b", "a\u200bb\x07", "x" * 1001])
def test_values_that_the_derivation_would_change_are_noticed(value: str) -> None:
    quoter = CalmQuoter()
    quoter(value)
    assert quoter.met_oddity
