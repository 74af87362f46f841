"""Whatever a variable holds, it is text: it adds no markup and is never read as a template."""

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.render.wire import Parts

HTML = (
    '<table><tr><td class="{{ value }}">{{ value }}</td></tr></table>'
    '<a href="https://x.example/?q={{ value }}">{{ value|upper }}</a>'
    "{% for item in [value, value] %}<li title='{{ item }}'>{{ item ~ item }}</li>{% endfor %}"
)
CALM = Rendition(Parts("s", HTML, "{{ value }}"), RenderLimits())

nasty = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(
        st.sampled_from(
            ["<", ">", '"', "'", "&", "/", "=", "{{", "}}", "{%", "%}", "{#", "script", " onload=x ", "<img src=x>",
             "{{ 7*7 }}", "{% raw %}", "-->", "&lt;", "\n", "\u2028", "]]>", "`", "\0"]
        ),
        max_size=12,
    ).map("".join),
)  # fmt: skip


class Shape(HTMLParser):
    """The elements and attribute names of some markup."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", ()))


EXPECTED = Shape(HTML.replace("{% for item in [value, value] %}", "").replace("{% endfor %}", "")).elements
EXPECTED = [*EXPECTED, EXPECTED[-1]]


@given(nasty)
@settings(max_examples=300, deadline=None)
def test_a_value_adds_no_element_and_no_attribute(value: str) -> None:
    rendered = CALM.render({"value": value})
    assert rendered.html is not None
    assert Shape(rendered.html).elements == EXPECTED


@given(nasty)
@settings(max_examples=300, deadline=None)
def test_a_value_is_never_evaluated(value: str) -> None:
    rendered = CALM.render({"value": value})
    assert rendered.text == value
    if "49" not in value:
        assert "49" not in (rendered.html or "")


@given(nasty)
@settings(max_examples=200, deadline=None)
def test_a_subject_is_the_value_or_refused(value: str) -> None:
    content = Rendition(Parts("Re: {{ value }}", None, "t"), RenderLimits())
    if len(f"{value}x".splitlines()) > 1 or any(
        (ord(sign) < 32 and sign != "\t") or 127 <= ord(sign) < 160 for sign in value
    ):
        with pytest.raises(RenderRefused) as refused:
            content.render({"value": value})
        assert (refused.value.code, refused.value.pointer) == ("header_refused", "/subject")
    else:
        assert content.render({"value": value}).subject == f"Re: {value}"
