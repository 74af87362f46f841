"""Slots print exactly what the engine prints, or leave it to the engine."""

import quopri
from typing import Any

import minijinja
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.render.engine import make_environment
from waypost.adapters.render.mail_quoted import SOFT_BREAK, ValueQuoter
from waypost.adapters.render.mail_slots import SlottedTemplate

LITERALS = st.text(st.characters(exclude_characters="{}\r\x00", exclude_categories=["Cs"]), max_size=90)
PRINTS = st.sampled_from(
    ["{{ name }}", "{{city}}", "{{ person.first }}", "{{ person.deep.er }}", "{{ count }}", "{# - #}"]
)
WORDS = st.text(st.characters(exclude_characters="\r\x00", exclude_categories=["Cs"]), max_size=90)
SOURCES = st.lists(LITERALS | PRINTS, max_size=12).map("".join)


def filled(source: str, context: dict[str, Any], *, markup: bool = False) -> str | None:
    slots = SlottedTemplate.of(source)
    assert slots is not None
    body = slots.fill(context, ValueQuoter(markup=markup))
    return None if body is None else quopri.decodestring(body.removesuffix(SOFT_BREAK).encode()).decode()


@given(source=SOURCES, name=WORDS, first=WORDS, markup=st.booleans(), count=st.integers(-(2**63), 2**63 - 1))
def test_what_is_filled_reads_like_what_the_engine_renders(
    source: str, name: str, first: str, markup: bool, count: int
) -> None:
    context = {"name": name, "city": "Łódź", "person": {"first": first, "deep": {"er": "."}}, "count": count}
    engine = make_environment()
    part = "html" if markup else "text"
    engine.add_template(part, source)
    expected = engine.render_template(part, **context).replace("\n", "\r\n")
    assert filled(source, context, markup=markup) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{% if name %}x{% endif %}",
        "{{ name | upper }}",
        "{{ name[0] }}",
        "{{ 'name' }}",
        "{{ 5 }}",
        "{{ true }}",
        "{{ None }}",
        "{{- name }}",
        "{{ name ~ name }}",
        "{% for one in names %}{{ one }}{% endfor %}",
        "{{ self.name }}",
    ],
)
def test_a_template_that_does_more_is_left_to_the_engine(source: str) -> None:
    assert SlottedTemplate.of(source) is None


@pytest.mark.parametrize(
    "context",
    [
        {},
        {"name": {}},
        {"name": None},
        {"name": "Jane"},
        {"name": {"first": None}},
        {"name": {"first": True}},
        {"name": {"first": 1.5}},
        {"name": {"first": ["x"]}},
        {"name": {"first": "half of a line end\r"}},
    ],
)
def test_a_value_that_is_missing_or_odd_is_left_to_the_engine(context: dict[str, Any]) -> None:
    assert filled("Hello {{ name.first }}", context) is None


def test_names_of_the_engine_do_not_hide_what_the_context_says() -> None:
    engine = minijinja.Environment()
    engine.add_template("text", "{{ range }} {{ items }}")
    context = {"range": "north", "items": "three"}
    assert filled("{{ range }} {{ items }}", context) == engine.render_template("text", **context)
