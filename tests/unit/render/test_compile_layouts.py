"""Layouts and partials: only what was handed in, worked in once, in any format and either language."""

from typing import Any

import pytest


def test_a_layout_stands_around_the_body(compiled: Any, fragment: Any) -> None:
    fragments = {"base": fragment("<html><body>{{ content }}<i>{{ who }}</i></body></html>")}
    made = compiled("<p>{{ x }}</p>", layout="base", fragments=fragments)
    assert made.html(x="<", who=">") == '<html dir="ltr"><body><p>&lt;</p><i>&gt;</i></body></html>'


@pytest.mark.parametrize(
    "slot", ["{{content}}", "{{- content -}}", "{{ content_for_layout }}", "{% block content %}x{% endblock %}"]
)
def test_the_place_of_the_body_has_a_few_spellings(slot: str, compiled: Any, fragment: Any) -> None:
    assert compiled("B", layout="base", fragments={"base": fragment(f"<{slot}>")}).content.html == "<B>"


def test_layouts_nest_and_markdown_fits_into_html_and_mjml(compiled: Any, fragment: Any) -> None:
    inner = "<mj-section><mj-column><mj-text>{{ content }}</mj-text></mj-column></mj-section>"
    mjml = f"<mjml><mj-body>{inner}</mj-body></mjml>"
    fragments = {
        "inner": fragment("## Inner\n\n{{ content }}", "markdown", layout="outer"),
        "outer": fragment(mjml, "mjml"),
        "page": fragment("<main>{{ content }}</main>"),
    }
    html = compiled("**{{ x }}**", "markdown", layout="inner", fragments=fragments).html(x="<")
    assert "<h2>Inner</h2>" in html
    assert "<strong>&lt;</strong>" in html
    assert (
        compiled("*a*", "markdown", layout="page", fragments=fragments).content.html
        == "<main><p><em>a</em></p>\n</main>"
    )


def test_partials_read_as_if_they_stood_there(compiled: Any, fragment: Any) -> None:
    fragments = {
        "row": fragment("<tr><td>{{ item }}</td></tr>"),
        "rows": fragment("{% for item in items %}{% include 'row' %}{% endfor %}"),
        "marks": fragment("{% macro mark(x) %}<b>{{ x }}</b>{% endmacro %}"),
    }
    source = (
        "{% include 'marks' %}<table>{% include \"rows\" %}</table> {%- include 'row' ignore missing with context -%}"
        "  {{ mark(item) }}"
    )
    made = compiled(source, fragments=fragments)
    assert made.html(items=["<"], item=2) == ("<table><tr><td>&lt;</td></tr></table><tr><td>2</td></tr><b>2</b>")
    assert compiled("a{% include 'nobody' ignore missing %}z").content.html == "az"


def test_liquid_passes_arguments(compiled: Any, fragment: Any) -> None:
    fragments = {
        "row": fragment("({{ a }}{{ b }})", profile="liquid"),
        "the/item": fragment("<{{ item }}>", profile="liquid"),
        "one-thing": fragment("[{{ one_thing }}]", profile="liquid"),
    }
    source = (
        "{% render 'row', a: x, b: 'q, r' %}{% include 'the/item' for items as item %}"
        "{% render 'the/item' with x as item %}{% include 'one-thing' with x %}"
    )
    made = compiled(source, profile="liquid", fragments=fragments)
    assert made.html(x=1, items=[2, 3]) == "(1q, r)<2><3><1>[1]"


@pytest.mark.parametrize("name", ["nobody", "../base", "/etc/passwd", "base/../base", "BASE", "base ", "html", "body"])
def test_nothing_else_has_a_name(name: str, compiled: Any, fragment: Any) -> None:
    fragments = {"base": fragment("{{ content }} secret")}
    assert compiled(f"{{% include '{name}' %}}", fragments=fragments).faults == (("/body", "unknown_partial"),)
    assert compiled("x", layout=name, fragments=fragments).faults == (("/layout", "unknown_layout"),)
    assert compiled("x", subject=f"{{% include '{name}' %}}", fragments=fragments).faults == (
        ("/subject", "unknown_partial"),
    )


@pytest.mark.parametrize(
    ("body", "layout", "pieces", "pointer"),
    [
        ("{% include 'a' %}", None, {"a": "{% include 'a' %}"}, "/body"),
        ("{% include 'a' %}", None, {"a": "{% include 'b' %}", "b": "{% include 'a' %}"}, "/body"),
        ("x", "a", {"a": "{{ content }}{% include 'b' %}", "b": "{% include 'b' %}"}, "/layout"),
    ],
)  # fmt: skip
def test_a_circle_is_refused(
    body: str, layout: str | None, pieces: Any, pointer: str, compiled: Any, fragment: Any
) -> None:
    fragments = {name: fragment(text) for name, text in pieces.items()}
    made = compiled(body, layout=layout, fragments=fragments)
    assert made.faults == ((pointer, "cyclic_layout"),)
    assert "`a`" in made.messages or "`b`" in made.messages


def test_layouts_in_a_circle_are_refused(compiled: Any, fragment: Any) -> None:
    fragments = {"a": fragment("{{ content }}", layout="b"), "b": fragment("{{ content }}", layout="a")}
    made = compiled("x", layout="a", fragments=fragments)
    assert made.faults == (("/layout", "cyclic_layout"),)
    assert "`a` → `b` → `a`" in made.messages


def test_partials_that_multiply_are_refused_quickly(compiled: Any, fragment: Any) -> None:
    fragments = {f"p{n}": fragment(f"{{% include 'p{n + 1}' %}}" * 10) for n in range(30)}
    fragments["p30"] = fragment("x" * 100)
    assert compiled("{% include 'p0' %}", fragments=fragments).faults == (("/body", "too_large"),)
    fragments["p30"] = fragment("")
    assert compiled("a{% include 'p0' %}", fragments=fragments).content.html == "a"


@pytest.mark.parametrize(
    ("body_format", "layout_format", "fits"),
    [
        ("html", "html", True),
        ("markdown", "html", True),
        ("mjml", "html", False),
        ("text", "html", False),
        ("html", "text", False),
        ("text", "text", True),
        ("json", "json", True),
        ("json", "text", False),
    ],
)
def test_formats_that_do_not_fit(
    body_format: str, layout_format: str, fits: bool, compiled: Any, fragment: Any
) -> None:
    made = compiled('"x"', body_format, layout="base", fragments={"base": fragment("[{{ content }}]", layout_format)})
    assert made.faults == (() if fits else (("/layout", "wrong_format"),))


def test_a_layout_without_a_place_or_of_another_language_is_refused(compiled: Any, fragment: Any) -> None:
    assert compiled("x", layout="a", fragments={"a": fragment("none")}).faults == (("/layout", "no_content_slot"),)
    other = {"a": fragment("{{ content }}", profile="liquid")}
    assert compiled("x", layout="a", fragments=other).faults == (("/layout", "wrong_profile"),)


def test_a_fault_in_a_partial_is_told_with_its_name(compiled: Any, fragment: Any) -> None:
    made = compiled("x{% include 'foot' %}", fragments={"foot": fragment("\n{% if %}")})
    assert made.faults == (("/body", "template_syntax"),)
    assert "Line 2 of fragment `foot`" in made.messages


def test_what_the_body_holds_is_never_taken_for_a_layout(compiled: Any, fragment: Any) -> None:
    """The body may print a variable called `content`; only a layout has a place for the body."""
    made = compiled("<p>{{ content }}</p>", layout="a", fragments={"a": fragment("[{{ content }}]")})
    assert made.html(content="mine") == "[<p>mine</p>]"
