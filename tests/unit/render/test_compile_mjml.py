"""MJML: template tags come through wherever they stand, and what cannot be kept is refused."""

from typing import Any

import pytest


def page(inner: str, head: str = "") -> str:
    return f"<mjml><mj-head>{head}</mj-head><mj-body>{inner}</mj-body></mjml>"


def section(inner: str) -> str:
    return f"<mj-section><mj-column>{inner}</mj-column></mj-section>"


def test_tags_stand_anywhere(compiled: Any) -> None:
    source = page(
        "{% if vip %}" + section("<mj-text>VIP {{ name }}</mj-text>") + "{% endif %}"
        "{% for s in parts %}"
        + section(
            "{% if s.title %}<mj-text>{{ s.title|upper }}</mj-text>{% endif %}"
            '<mj-button href="{{ s.url }}?a=1&amp;b=2">{{ s.label|default("Go") }}</mj-button>'
            "<mj-table>{% for row in s.rows %}<tr><td>{{ row }}</td></tr>{% endfor %}</mj-table>"
        )
        + "{% endfor %}<mj-wrapper>{% for s in parts %}" + section("<mj-text>w-{{ s.title }}</mj-text>")
        + "{% endfor %}</mj-wrapper><mj-raw>{% if vip %}<hr>{% endif %}</mj-raw>",
        head="<mj-title>{{ name }}</mj-title><mj-preview>Look, {{ name }}</mj-preview>"
        "<mj-style>.c { color: {{ color }}; }</mj-style>",
    )  # fmt: skip
    made = compiled(source, "mjml")
    parts = [{"title": "one", "url": "https://x", "label": "L", "rows": [1, 2]}, {"title": "", "url": "", "rows": []}]
    html = made.html(vip=True, name="<Jo>", color="red", parts=[{**part, "label": "L"} for part in parts])
    assert "VIP &lt;Jo&gt;" in html
    assert html.count("ONE") == 1
    assert html.count("w-one") == 1
    assert html.count("w-</div>") == 1
    assert html.index("VIP") < html.index("ONE") < html.index("w-one") < html.index("<hr>")
    assert html.count("<tr><td") - html.count("<tr><td", 0) == 0
    assert "Look, &lt;Jo&gt;" in html
    assert "?a=1&amp;b=2" in html
    assert "<Jo>" not in html
    without = made.html(vip=False, name="Jo", color="red", parts=[])
    assert "VIP" not in without
    assert "<hr>" not in without
    for text in (html, without):
        assert "{%" not in text
        assert "{{" not in text


def test_each_loop_wraps_what_it_wrapped(compiled: Any) -> None:
    made = compiled(
        page(section("<mj-table>{% for r in rows %}<tr><td>{{ r }}</td></tr>{% endfor %}</mj-table>")), "mjml"
    )
    html = made.html(rows=["a", "b", "c"])
    start = html.index("<tbody", html.index("table-layout"))
    table = html[start : html.index("</table>", start)]
    assert table.count("<tbody") == 1
    assert [table.count(f">{each}</td>") for each in "abc"] == [1, 1, 1]


def test_css_is_inlined_with_values_in_it(compiled: Any) -> None:
    source = page(
        section('<mj-text><p class="c">x</p></mj-text>'),
        head="<mj-style>.c { color: {{ color }}; } @media (max-width: 9px) { .c { color: blue } }</mj-style>",
    )
    html = compiled(source, "mjml").html(color="teal")
    assert "color: teal" in html.split("<body")[1]
    assert "@media (max-width: 9px)" in html


def test_language_and_direction(compiled: Any) -> None:
    source = page(section("<mj-text>x</mj-text>"))
    html = compiled(source, "mjml", locale="ar-EG", direction="rtl").html()
    assert '<html lang="ar-EG" dir="rtl"' in html
    assert 'lang="und"' not in compiled(source, "mjml").html()
    own = source.replace("<mjml>", '<mjml lang="he" dir="rtl">')
    assert '<html lang="he" dir="rtl"' in compiled(own, "mjml", locale="en").html()


def test_nobody_is_called_for_a_font(compiled: Any) -> None:
    assert "://" not in compiled(page(section("<mj-text>x</mj-text>")), "mjml").html().replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        (page("<mj-buton/>"), "invalid_mjml", "`mj-buton`"),
        ("<mjml><mj-body>\n<mj-section>", "invalid_mjml", "closed"),
        ("<p>x</p>", "invalid_mjml", ""),
        ("", "invalid_mjml", ""),
        (page('<mj-include path="/etc/passwd" />'), "invalid_mjml", "line 1"),
        (page('<mj-include path="http://127.0.0.1/x" />'), "invalid_mjml", "line 1"),
        (page(section('<mj-image src="x" width="{{ w }}px" />')), "tag_misplaced", "`{{ w }}`"),
        (page(section("<mj-text {% if x %}color='red'{% endif %}>x</mj-text>")), "tag_misplaced", "MJML"),
        (page(section("<mj-text>" + "<b>" * 250 + "</mj-text>")), "template_refused", "200"),
        (page("{% for x in y %}"), "template_syntax", "Line 1"),
        (page(section("<mj-text>x</mj-text>") + "x" * 270_000), "template_refused", "256 KB"),
    ],
)
def test_what_is_refused(source: str, code: str, words: str, compiled: Any) -> None:
    made = compiled(source, "mjml")
    assert made.content is None
    assert made.faults == (("/body", code),)
    assert words in made.messages
