"""The second template language: what people know of it works, and nothing they know breaks us."""

import pytest

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.liquid_engine import LiquidDialect
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.render.speech import Speech
from waypost.adapters.render.wire import Parts
from waypost.templates.model import Profile
from waypost.templates.ports import RenderedParts


def render(html: str | None = None, text: str | None = None, **context: object) -> RenderedParts:
    parts = Parts("", html, text, profile=Profile.LIQUID, locale="de")
    return Rendition(parts, RenderLimits()).render(context, "de-AT", "Europe/Vienna")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ name | upcase }}", "A&amp;B"),
        ("{% if gone %}x{% else %}y{% endif %}", "y"),
        ("{{ gone | default: 'nobody' }}", "nobody"),
        ("{{ user.gone.deep | default: 'nobody' }}", "nobody"),
        ("{% for i in items limit: 2 %}{{ i }}{% unless forloop.last %}, {% endunless %}{% endfor %}", "1, 2"),
        ("{% assign x = items | size %}{{ x }}", "3"),
        ("{{ items | join: '-' }}", "1-2-3"),
        ("{{ when | date: '%d.%m.%Y' }}", "16.11.2026"),
        ("{{ when | date: 'long' }}", "16. November 2026"),
        ("{{ 5 | money: 'EUR' }}", "€\xa05,00"),
        ("{{ 2 | plural: one: '# Tag', other: '# Tage' }}", "2 Tage"),
        ("{{ items | listed }}", "1, 2 und 3"),
        ("{{ 'war and peace' | title }}", "War And Peace"),
        ("{{ 'a b&c' | urlencode }}", "a+b%26c"),
        ("{{ 'a b&c' | url_encode }}", "a+b%26c"),
        ("{{ 'a very long text' | truncate: 10 }}", "a very ..."),
        ("{% comment %}{{ gone }}{% endcomment %}{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("{%- liquid\nassign a = 1\necho a -%}", "1"),
    ],
)
def test_what_people_know_works(source: str, expected: str) -> None:
    context = {"name": "a&b", "items": [1, 2, 3], "when": "2026-11-15T23:30:00Z", "user": {"name": "Jo"}}
    assert render(source, **context).html == expected


def test_html_is_escaped_and_text_is_not() -> None:
    made = render("<p title='{{ x }}'>{{ x }}</p>", "{{ x }}", x="<b>'\"")
    assert made.html == "<p title='&lt;b&gt;&#39;&#34;'>&lt;b&gt;&#39;&#34;</p>"
    assert made.text == "<b>'\""


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("{{ gone }}", "missing_variable", "`gone`"),
        ("{{ user.gone }}", "missing_variable", "user"),
        ("\n\n{{ gone | date }}", "missing_variable", "Line 3"),
        ("{{ now }}", "missing_variable", "`now`"),
        ("{{ today | date }}", "missing_variable", "`today`"),
        ("{{ 'now' | date: '%Y' }}", "render_failed", "present time"),
        ("\n{% if %}", "template_syntax", "Line 2"),
        ("{% nope %}", "template_syntax", "nope"),
        ("{{ x | nope }}", "render_failed", "filter"),
        ("{{ x | date: 'long', 'b', 'c' }}", "render_failed", "arguments"),
        ("{{ x | divided_by: 0 }}", "render_failed", "filter"),
        ("{% include 'x' %}", "template_refused", "include"),
        ("{% render 'x' %}", "template_refused", "render"),
        ("{% liquid\ninclude 'x' %}", "template_syntax", "include"),
    ],
)
def test_what_does_not_work_is_told_without_values(source: str, code: str, words: str) -> None:
    with pytest.raises(RenderRefused) as refused:
        render(source, x="secret@example.com", user={"name": "secret"})
    assert refused.value.code == code
    assert words in refused.value.message
    assert "secret" not in refused.value.message


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ a.b.c }}{% for x in rows %}{{ x.y }}{{ z }}{% endfor %}", {"a", "rows", "z"}),
        ("{% assign a = b %}{{ a }}{{ forloop }}", {"b", "forloop"}),
        ("{{ recipient.name }}{{ recipient.attributes.a.b }}", {"recipient.name", "recipient.attributes.a"}),
        ("{{ recipient[key] }}{{ tenant.name }}", {"recipient", "key", "tenant.name"}),
        ("{{ x | date }}", {"x", "recipient.locale", "recipient.timezone"}),
    ],
)  # fmt: skip
def test_what_is_read_is_known_beforehand(source: str, expected: set[str]) -> None:
    assert LiquidDialect(Speech()).names("html", source) == expected
