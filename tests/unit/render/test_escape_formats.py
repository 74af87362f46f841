"""13. In every format and both languages, a value is text: it adds no element, no attribute, and is never evaluated."""

import itertools
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.render.wire import Parts

PIECES = (
    "<", ">", '"', "'", "&", "/", "=", "{{", "}}", "{%", "%}", "{#", "#}", "script", " onload=x ", "<img src=x>", "\\",
    "{{ 7*7 }}", "{{ 7 | times: 7 }}", "{% raw %}", "-->", "<!--", "&lt;", "]]>", "`", "*", "_", "#", "](x)", "| a |",
    "\n\n", "\n- ", "</style>", "</td>", "javascript:", "</mj-text>", "é", "\u202e", "<!--wp",
)  # fmt: skip
nasty = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=40),
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
)
LOOP = {"jinja": "{% for item in [value, value] %}", "liquid": "{% for i in (1..2) %}{% assign item = value %}"}
SOURCES = {
    "html": '<style>p{{color:red}}</style><p class="{{{{ value }}}}" title=\'{{{{ value }}}}\'>{{{{ value }}}}</p>'
    '<table>{loop}<tr><td bgcolor="{{{{ item }}}}">{{{{ item }}}}</td></tr>{{% endfor %}}</table>',
    "markdown": "# {{{{ value }}}}\n\n**{{{{ value }}}}** [x]({{{{ value }}}}) `{{{{ value }}}}`\n\n"
    "{loop}\n- {{{{ item }}}}\n{{% endfor %}}\n\n| h |\n|---|\n{loop}\n| {{{{ item }}}} |\n{{% endfor %}}\n",
    "mjml": "<mjml><mj-head><mj-title>{{{{ value }}}}</mj-title><mj-preview>{{{{ value }}}}</mj-preview></mj-head>"
    "<mj-body>"
    '{loop}<mj-section><mj-column><mj-text>{{{{ item }}}}</mj-text><mj-button href="{{{{ item }}}}">{{{{ item }}}}'
    '</mj-button><mj-image src="x" alt="{{{{ value }}}}" /></mj-column></mj-section>{{% endfor %}}</mj-body></mjml>',
}  # fmt: skip


class Shape(HTMLParser):
    """The elements and attribute names of some markup. Comments count as elements, whatever they hold."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", ()))


@pytest.mark.parametrize(("form", "profile"), list(itertools.product(SOURCES, LOOP)))
def test_a_value_adds_nothing_but_text(form: str, profile: str, compiled: Any) -> None:
    source = SOURCES[form].format(loop=LOOP[profile])
    made = compiled(source, form, profile=profile, preheader="{{ value }}", text="{{ value }}")
    rendition = Rendition(Parts.of(made.content), RenderLimits())
    expected = Shape(rendition.render({"value": "calm"}).html or "").elements
    assert len(expected) > 5

    @given(nasty)
    @settings(max_examples=120, deadline=None)
    def render(value: str) -> None:
        rendered = rendition.render({"value": value})
        assert Shape(rendered.html or "").elements == expected
        assert "49" in value or "49" not in (rendered.html or "").replace("&#8249;", "")
        assert rendered.text == value
        assert rendered.preheader == value

    render()


@given(nasty)
@settings(max_examples=150, deadline=None)
def test_the_text_format_is_left_alone(value: str) -> None:
    for profile in ("jinja", "liquid"):
        parts = Parts("", text="a {{ value }} b", profile=profile)  # type: ignore[arg-type]
        assert Rendition(parts, RenderLimits()).render({"value": value}).text == f"a {value} b"
