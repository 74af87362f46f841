"""The JSON format: values are JSON where they stand, and what comes out always is."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.render.wire import Parts
from waypost.templates.model import JsonValue, Profile

INSIDE = {
    Profile.JINJA: '{"title": "Hi {{ value }}!", "alone": {{ value }}, "list": [{% for i in range(2) %}"{{ value }}",'
    "{% endfor %}0]}",
    Profile.LIQUID: '{"title": "Hi {{ value }}!", "alone": {{ value }}, "list": [{% for i in (1..2) %}"{{ value }}",'
    "{% endfor %}0]}",
}

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


def render(source: str, profile: Profile = Profile.JINJA, **context: JsonValue) -> object:
    made = Rendition(Parts("", json=source, profile=profile), RenderLimits()).render(context).json
    assert made is not None
    return json.loads(made)


@pytest.mark.parametrize("profile", list(Profile))
@given(
    value=st.one_of(plain, st.lists(st.sampled_from(['"', "\\", "{{", "}}", ",", "}", "\n", "\ue000"])).map("".join))
)
@settings(max_examples=200, deadline=None)
def test_a_value_stays_what_it_is_and_where_it_is(profile: Profile, value: JsonValue) -> None:
    made = render(INSIDE[profile], profile, value=value)
    words = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert made == {"title": f"Hi {words}!", "alone": value, "list": [words, words, 0]}


def test_what_a_macro_or_block_printed_is_text() -> None:
    source = (
        '{% set t %}<{{ a }}>{% endset %}{% macro m(x) %}[{{ x }}]{% endmacro %}{"t": "{{ t }}", "m": "{{ m(a) }}"}'
    )
    assert render(source, a='"x"') == {"t": '<"x">', "m": '["x"]'}


def test_the_habit_of_tojson_does_no_harm() -> None:
    assert render('{"a": {{ x|tojson }}, "b": {{ y|tojson }}}', x='"', y={"k": [1]}) == {"a": '"', "b": {"k": [1]}}


@pytest.mark.parametrize("source", ['{"a": ', "{{ x }} {{ x }}", '{"a": "{{ x }}}', "", "nothing", '{"a": {{ x }}x}'])
def test_what_is_no_json_is_refused(source: str) -> None:
    with pytest.raises(RenderRefused) as refused:
        render(source, x="secret@example.com")
    assert (refused.value.code, refused.value.pointer) == ("invalid_json", "/json")
    assert "secret" not in refused.value.message


def test_a_missing_value_is_named() -> None:
    for profile in Profile:
        with pytest.raises(RenderRefused) as refused:
            render('{"a": "{{ nobody }}"}', profile)
        assert refused.value.code == "missing_variable"
        assert "`nobody`" in refused.value.message


def test_tags_that_print_without_being_escaped_do_not_exist_in_liquid_json() -> None:
    for tag in ('{% cycle x, "b" %}', "{% increment x %}", "{% tablerow i in (1..2) %}{{ x }}{% endtablerow %}"):
        with pytest.raises(RenderRefused) as refused:
            render(f'["{tag}"]', Profile.LIQUID, x='"')
        assert refused.value.code == "template_syntax"
    assert render('["{% echo x %}"]', Profile.LIQUID, x='"') == ['"']
