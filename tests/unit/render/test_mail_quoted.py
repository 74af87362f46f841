"""Quoted-printable, and the proof that a quoted template means what its plain source means."""

import quopri

import minijinja
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.render.engine import make_environment
from waypost.adapters.render.mail_quoted import ValueQuoter, quoted, quoted_template

NASTY = [
    "=",
    "==\n",
    ".",
    ".\n.",
    "é",
    "\U0001f600",
    " \n",
    "\t\n",
    "\n",
    "<",
    "&",
    "'\"/",
    "%",
    "{",
    "}",
    "x" * 80,
    "a b ",
    "." * 90,
    "y" * 74 + "..",
]

bodies = st.text(max_size=300) | st.lists(st.sampled_from(NASTY), max_size=30).map("".join)
literals = bodies.filter(
    lambda text: not any(mark in text for mark in ("{{", "{%", "{#", "\x00")) and not text.endswith("{")
)


def decoded(text: str) -> str:
    return quopri.decodestring(text.encode("ascii")).decode().replace("\r\n", "\n")


def assert_lines_fit(encoded: str) -> None:
    assert encoded.isascii()
    for line in encoded.split("\r\n"):
        assert len(line) <= 76
        assert "\r" not in line
        assert "\n" not in line
        assert not line.endswith((" ", "\t"))
        assert not line.startswith(".")


@given(bodies)
def test_any_text_survives(text: str) -> None:
    encoded = quoted(text)
    assert_lines_fit(encoded)
    assert decoded(encoded) == text.replace("\r\n", "\n").replace("\r", "\n")


@st.composite
def templates(draw: st.DrawFn, depth: int = 2) -> str:
    pieces = list[str]()
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.integers(0, 5 if depth else 3))
        if kind == 0:
            pieces.append(draw(literals))
        elif kind <= 2:
            operand = draw(st.sampled_from(["a", "b", "n", "deep.x", "deep['x']", "list[0]", '"lit <é>"', "7"]))
            operand += draw(st.sampled_from(["", "", "|upper", "|default('none')", " | trim", "|title|lower"]))
            pieces.append("{{" + draw(st.sampled_from(["", " ", "\n"])) + operand + " }}")
        elif kind == 3:
            pieces.append("{# a note " + draw(st.sampled_from(["", "{{ a }}", "{% if %}", "#"])) + " #}")
        elif kind == 4:
            condition = draw(st.sampled_from(["a", "not b", "a == b", "n > 3 and a", "flag is defined", "'x' in a"]))
            inner, other = draw(templates(depth=depth - 1)), draw(templates(depth=depth - 1))
            pieces.append(f"{{% if {condition} %}}{inner}{{% else %}}{other}{{% endif %}}")
        else:
            inner = draw(templates(depth=depth - 1))
            pieces.append(f"{{% for item in list %}}{inner}{{{{ item }}}}{{{{ loop.index }}}}{{% endfor %}}")
    return "".join(pieces)


values = st.text(st.characters(exclude_characters="\r\x00", exclude_categories=("Cs",)), max_size=120) | bodies.map(
    lambda text: text.replace("\r", "")
)


@pytest.mark.parametrize("part", ["html", "text"])
@given(source=templates(), a=values, b=values, items=st.lists(values, max_size=3))
def test_a_quoted_template_decodes_to_what_the_plain_one_renders(
    part: str, source: str, a: str, b: str, items: list[str]
) -> None:
    context = {"a": a, "b": b, "n": len(a), "deep": {"x": b}, "list": [a, *items]}
    plain = make_environment()
    plain.add_template(part, source.replace("\r\n", "\n").replace("\r", "\n"))
    template = quoted_template(source)
    assert (template is None) == ("\r{" in source)
    if template is None:
        return
    quoter = ValueQuoter(markup=part == "html")
    fast = make_environment()
    fast.keep_trailing_newline = True
    fast.finalizer = quoter
    fast.add_template("quoted", template)
    expected = plain.render_template(part, **context)
    encoded = fast.render_template("quoted", **context)
    assert not quoter.met_oddity
    assert_lines_fit(encoded)
    assert decoded(encoded) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{{- a }}",
        "{{ a -}}",
        "{%- if a %}x{% endif %}",
        "{% if a -%}x{% endif %}",
        "{% if a +%}x{% endif %}",
        "{#- c #}",
        "{# c -#}",
        "{% raw %}{{ a }}{% endraw %}",
        "{% set x = 1 %}{{ x }}",
        "{% set x %}y{% endset %}{{ x }}",
        "{% macro m() %}y{% endmacro %}{{ m() }}",
        "{% filter upper %}y{% endfilter %}",
        "{% autoescape false %}{{ a }}{% endautoescape %}",
        "{% for x in y recursive %}{{ loop(x) }}{% endfor %}",
        "{% with x = 1 %}{{ x }}{% endwith %}",
        "{% include 'x' %}",
        "{{ a|safe }}",
        "{{ a|tojson }}",
        "{{ a|join(',') }}",
        "{{ a ~ b }}",
        "{{ range(3) }}",
        "{{ {'a': 1} }}",
        '{{ "a\\n" }}',
        '{{ "}}" }}',
    ],
)
def test_what_is_not_certain_is_left_to_the_plain_way(source: str) -> None:
    assert quoted_template(source) is None


@pytest.mark.parametrize(
    "tag",
    [
        "{% if a" + " is not b" * 150 + " ( %}",
        "{% if " + "not " * 450 + "( %}",
        "{% if a" + " and not in" * 150 + "( %}",
        "{{ a" + "|d" * 240 + "( }}",
        "{{ a" + " " * 200_000 + "( }}",
        "{% for a in b" + " if a" * 200 + "( %}",
        "{{ a" + ".a" * 250 + "( }}",
        "{#" + "-#" * 100_000,
    ],
)
@pytest.mark.timeout(5)
def test_hostile_tags_are_read_in_linear_time(tag: str) -> None:
    assert quoted_template(tag) is None


@pytest.mark.parametrize("value", [None, True, 1.5, [1], {"a": 1}, "half\r", minijinja.safe("<b>")])
def test_values_that_only_the_engine_can_print_are_not_guessed(value: object) -> None:
    quoter = ValueQuoter(markup=True)
    quoter(value)
    assert quoter.met_oddity


def test_calm_values_stay_readable() -> None:
    quoter = ValueQuoter(markup=True)
    assert quoter("Jane") == "Jane=\r\n"
    assert quoter("a<b") == "a&lt;b=\r\n"
    assert quoter(42) == "42=\r\n"
    assert quoter("") == ""
    assert not quoter.met_oddity
