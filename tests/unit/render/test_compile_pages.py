"""HTML: style sheets written into elements, language, direction and preheader, and every tag where it was."""

from typing import Any

import pytest

PAGE = "<html><head><style>{css}</style></head><body>{body}</body></html>"


def styled(css: str, body: str) -> str:
    return PAGE.format(css=css, body=body)


def test_what_has_no_style_sheet_is_not_touched(compiled: Any) -> None:
    source = "<p>Hi {{ name }}<td>\n<br/>&nbsp;{% if a %}</p>{% endif %}<P CLASS=x>"
    assert compiled(source).content.html == source


def test_style_sheets_go_into_elements(compiled: Any) -> None:
    css = "p { color: {{ color }}; margin: {{ m }}px } a:hover { color: red } @media (max-width: 1px) { p { top: 0 } }"
    html = compiled(styled(css, "<p>x</p><a href='{{ url }}'>y</a>")).html(color="teal", m=3, url="https://x?a&b")
    assert '<p style="color: teal;margin: 3px;">x</p>' in html
    assert "a:hover" in html
    assert "@media (max-width: 1px)" in html
    assert 'href="https:&#x2f;&#x2f;x?a&amp;b"' in html


def test_a_style_sheet_that_is_steered_stays_as_it_is(compiled: Any) -> None:
    source = styled("p{color:red}", "<p>x</p>").replace(
        "</head>", "<style>{% if d %}p{top:0}{% endif %}</style></head>"
    )
    made = compiled(source)
    assert "<style>p{top:0}</style>" in made.html(d=True)
    assert "<style></style>" in made.html(d=False)
    assert '<p style="color: red;">' in made.html(d=False)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "<table>{% for r in rows %}<tr><td>{{ r }}</td></tr>{% endfor %}</table>",
            "<table><tbody><tr><td>1</td></tr><tr><td>2</td></tr></tbody></table>",
        ),
        (
            "<table>{% for r in rows %}<tbody><tr><td>{{ r }}</td></tr></tbody>{% endfor %}</table>",
            "<table><tbody><tr><td>1</td></tr></tbody><tbody><tr><td>2</td></tr></tbody></table>",
        ),
        (
            "<table><tr><th>h</th></tr>{% for r in rows %}<tr><td>{{ r }}</td></tr>{% endfor %}</table>",
            "<table><tbody><tr><th>h</th></tr><tr><td>1</td></tr><tr><td>2</td></tr></tbody></table>",
        ),
        ("<i {% if yes %}class='a'{% else %}class='b'{% endif %} id=c>x</i>", "<i class='a' id=\"c\">x</i>"),
        ('<i class="a {% if yes %}b{% endif %}">x</i>', '<i class="a b">x</i>'),
        ("<select>{% for r in rows %}<option>{{ r }}{% endfor %}", "<select><option>1<option>2</option></select>"),
        ('<i title="{{ q|replace("x", \'"\') }}">x</i>', '<i title="a&quot;b">x</i>'),
        ("<!--[if mso]><tr>{% if yes %}<td>{% endif %}<![endif]-->x", "<!--[if mso]><tr><td><![endif]-->x"),
        ("{# gone #}{% raw %}{{ kept }}{% endraw %}", "{{ kept }}"),
        ("&#123;&#123; q }} &#123;% if", "&#123;{ q }} &#123;% if"),
        ("<i data-{{ q }}='{{ q }}'>x</i>", '<i data-axb="axb">x</i>'),
    ],
)  # fmt: skip
def test_tags_keep_their_places(body: str, expected: str, compiled: Any) -> None:
    html = compiled(styled(".none{x:y}", body)).html(rows=[1, 2], yes=True, q="axb")
    assert html.partition("<body>")[2].removesuffix("</body></html>") == expected


@pytest.mark.parametrize(
    ("source", "locale", "direction", "expected"),
    [
        ("<p>x</p>", "de", "ltr", "<p>x</p>"),
        ("<p>x</p>", "ar", "rtl", '<div dir="rtl" lang="ar"><p>x</p></div>'),
        ("<html><body>x</body></html>", "de-AT", "ltr", '<html lang="de-AT" dir="ltr"><body>x</body></html>'),
        ("<!doctype html><HTML class='>'>x", "he", "rtl", '<!doctype html><html class=\'>\' lang="he" dir="rtl">x'),
        ('<html lang="fr" dir="auto">x', "de", "rtl", '<html lang="fr" dir="rtl">x'),
        ('<html xml:lang="fr">x', "de", "ltr", '<html xml:lang="fr" lang="de" dir="ltr">x'),
    ],
)
def test_language_and_direction(source: str, locale: str, direction: str, expected: str, compiled: Any) -> None:
    assert compiled(source, locale=locale, direction=direction).content.html == expected


def test_the_preheader_comes_first_and_is_not_seen(compiled: Any) -> None:
    made = compiled('<html><body class="a>b"><p>Body</p></body></html>', preheader="For {{ name }}: <b>")
    html = made.html(name="<Jo>")
    _, _, after = html.partition('<body class="a>b">')
    assert after.startswith('<div style="display:none;')
    assert after.index("For &lt;Jo&gt;: &lt;b&gt;") < after.index("Body")
    assert made.render(name="<Jo>").text == "Body\n"
    assert compiled("<p>x</p>", preheader=" ").content.html == "<p>x</p>"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("<b>" * 250, "template_refused"),
        (styled("a{b:c}", "<h{{ n }}>x</h{{ n }}>"), "tag_misplaced"),
        ("<table><tr><td>" * 100, "template_refused"),
        (styled("a{b:c}" * 2000, "<p>x</p>" * 5000), "template_refused"),
        ("x" * 262_145, "template_refused"),
        ("{% if a %}" * 201 + "{% endif %}" * 201, "template_refused"),
        ("{% if a %}", "template_syntax"),
        ("{% extends 'x' %}", "template_refused"),
        ("{% include x %}", "template_refused"),
    ],
)
def test_what_is_refused(source: str, code: str, compiled: Any) -> None:
    assert compiled(source).faults == (("/body", code),)


def test_every_field_is_looked_at_and_told_in_its_own_lines(compiled: Any) -> None:
    made = compiled("\n\n{{ x", subject="{% if %}", preheader="{{ }}", text="a\n{% nope %}")
    assert [pointer for pointer, _ in made.faults] == ["/subject", "/preheader", "/body", "/text"]
    assert "Line 3 of body" in made.messages
    assert "Line 2 of text" in made.messages
    assert compiled("x", subject="a\nb").faults == (("/subject", "header_refused"),)


def test_unclosed_elements_that_html_allows_are_not_deep(compiled: Any) -> None:
    assert compiled("<p>x" * 1000 + "<ul>" + "<li>y" * 1000 + "</ul>" + "<br><img src=x>" * 500).content is not None


@pytest.mark.parametrize("form", ["text", "json"])
def test_text_and_json_are_kept_as_they_are(form: str, compiled: Any) -> None:
    made = compiled('{"a": "{{ x }}"}', form, subject="")
    assert made.content.html is None
    rendered = made.render(x='<"')
    assert (rendered.text, rendered.json) == (('{"a": "<""}', None) if form == "text" else ("", '{"a":"<\\""}'))


def test_json_that_cannot_be_is_refused_at_once(compiled: Any) -> None:
    for source in ('{"a": ', '{"a": {{ x }}, }', "{{ x }}{{ y }}", '["{{ x }}]'):
        assert compiled(source, "json").faults == (("/body", "invalid_json"),)
    assert compiled("[{% for x in y %}{{ x }},{% endfor %}0]", "json").content is not None
