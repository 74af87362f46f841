"""Markdown: what authors write with tags in it becomes what they meant."""

from typing import Any

import pytest


def inner(html: str) -> str:
    """The body, without the page around it and without line breaks."""
    start = html.index('margin:0 auto">') + len('margin:0 auto">')
    return html[start : html.rindex("</div></body>")].replace("\n", "")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# Hi {{ name }}", "<h1>Hi &lt;Jo&gt;</h1>"),
        ("**{{ name }}** _{{ n }}_", "<p><strong>&lt;Jo&gt;</strong> <em>7</em></p>"),
        ("{{ n * n }}", "<p>49</p>"),
        ("[go]({{ url }})", '<p><a href="https:&#x2f;&#x2f;x?a&amp;b">go</a></p>'),
        ("`{{ name }}`", "<p><code>&lt;Jo&gt;</code></p>"),
        ("![{{ name }}]({{ url }})", '<p><img src="https:&#x2f;&#x2f;x?a&amp;b" alt="&lt;Jo&gt;"></p>'),
        ("a {% if yes %}**b**{% else %}_c_{% endif %} d", "<p>a <strong>b</strong> d</p>"),
        ("a {% if no %}**b**{% else %}_c_{% endif %} d", "<p>a <em>c</em> d</p>"),
        ("{% if yes %}\npara\n{% endif %}\nnext", "<p>para</p><p>next</p>"),
        ("{% if no %}\npara\n{% endif %}\nnext", "<p>next</p>"),
        ("{% for i in items %}\n- {{ i }}\n{% endfor %}", "<ul><li>a</li><li>b</li></ul>"),
        ("{% for i in items %}\n1. {{ i }}\n{% endfor %}", "<ol><li>a</li><li>b</li></ol>"),
        ("- x\n- {% for i in items %}{{ i }};{% endfor %}", "<ul><li>x</li><li>a;b;</li></ul>"),
        (
            "| a |\n|---|\n{% for i in items %}\n| {{ i }} |\n{% endfor %}\n",
            "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>a</td></tr><tr><td>b</td></tr></tbody></table>",
        ),
        (
            "{% for i in items %}\n| h |\n|---|\n| {{ i }} |\n{% endfor %}\nend",
            "<table><thead><tr><th>h</th></tr></thead><tbody><tr><td>a</td></tr></tbody></table>"
            "<table><thead><tr><th>h</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table><p>end</p>",
        ),
        ("{# a secret note #}x{% raw %}{{ y }}{% endraw %}", "<p>x{{ y }}</p>"),
        ("<div class=\"{{ name }}\">raw</div>", '<div class="&lt;Jo&gt;">raw</div>'),
        ("~~old~~ \\{\\{", "<p><s>old</s> &#123;{</p>"),
    ],
)  # fmt: skip
def test_it_means_what_it_says(source: str, expected: str, compiled: Any) -> None:
    made = compiled(source, "markdown")
    html = inner(made.html(name="<Jo>", n=7, url="https://x?a&b", items=["a", "b"], yes=True, no=False))
    assert html == expected


@pytest.mark.parametrize(
    "source",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<iframe src='http://x'></iframe>",
        "[x](javascript:alert(1))",
        "<a href='javascript:alert(1)'>x</a>",
        "<a href='data:text/html,x'>x</a>",
        "<form action=x><input></form>",
        "<style>@import 'http://x'</style>",
        "<link rel=stylesheet href='http://x'>",
        "<svg onload=x>",
    ],
)
def test_nothing_runs_or_reaches_out(source: str, compiled: Any) -> None:
    html = inner(compiled(source, "markdown").html()).lower()
    for word in (
        "<script",
        "onerror",
        "<iframe",
        'href="javascript:',
        'href="data:',
        "<form",
        "<style",
        "<link",
        "onload",
    ):
        assert word not in html


def test_a_page_is_made_with_language_direction_and_preheader(compiled: Any) -> None:
    made = compiled("hello", "markdown", locale="he", direction="rtl", preheader="For {{ name }} & <all>")
    html = made.html(name="<Jo>")
    assert html.startswith('<!DOCTYPE html><html lang="he" dir="rtl">')
    _, _, body = html.partition("<body")
    assert body.index("For &lt;Jo&gt; &amp; &lt;all&gt;") < body.index("hello")
    assert "display:none" in body[: body.index("For")]
    assert made.render(name="<Jo>").text == "hello\n"
    assert made.render(name="<Jo>").preheader == "For <Jo> & <all>"


def test_a_text_part_of_its_own_is_kept(compiled: Any) -> None:
    made = compiled("**hi** {{ name }}", "markdown", text="Hi {{ name }}")
    assert made.render(name="<Jo>").text == "Hi <Jo>"


def test_a_tag_that_would_be_lost_is_refused(compiled: Any) -> None:
    made = compiled("see <{{ url }}>", "markdown")
    assert made.faults == (("/body", "tag_misplaced"),)
    assert "`{{ url }}`" in made.messages


def test_depth_and_size_have_ends(compiled: Any) -> None:
    assert compiled("> " * 3000 + "x", "markdown").content is not None
    assert compiled("x" * 270_000, "markdown").faults == (("/body", "template_refused"),)
    assert compiled("<div>\n\n" * 300, "markdown").faults == (("/body", "template_refused"),)
