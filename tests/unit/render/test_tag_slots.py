"""Tags are hidden and put back exactly."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from waypost.adapters.render.tag_slots import Slots
from waypost.templates.model import Profile

TAGS = {
    Profile.JINJA: (
        "{{ a }}", "{{ a|replace('}}', \"{%\") }}", "{% if a == '%}' %}", "{%- else -%}",
        "{% raw %}{{ <b> }}{% endraw %}",
        "{{ {'a': 1}['a'] }}", '{{ "it\\"s" }}',
    ),
    Profile.LIQUID: ("{{ a | append: 'x' }}", "{%- if a -%}", "{% raw %}{{ {% endraw %}", "{{ a }}"),
}  # fmt: skip
pieces = st.lists(st.tuples(st.text("ab<>\"'/= \n&;-!{}", max_size=8), st.integers(0, 6)), max_size=12)


@given(pieces, st.sampled_from(list(Profile)))
@example([("", 0), ('=""', 0)], Profile.JINJA)
@settings(max_examples=300, deadline=None)
def test_what_is_hidden_comes_back(pairs: list[tuple[str, int]], profile: Profile) -> None:
    tags = TAGS[profile]
    source = "".join(text.replace("{", "(") + tags[number % len(tags)] for text, number in pairs)
    slots = Slots(profile)
    hidden = slots.hide(source)
    assert "{" not in hidden
    assert slots.restore(hidden) == source
    assert slots.restore(slots.word.sub(lambda found: f"<!--{found[0]}-->", hidden)) == source


def test_comments_are_left_out_and_verbs_known() -> None:
    slots = Slots(Profile.JINJA)
    hidden = slots.hide("a{# b {{ c }} #}{%- for x in y %}{{ x }}{% endfor %}")
    assert slots.restore(hidden) == "a{%- for x in y %}{{ x }}{% endfor %}"
    assert [slots.verb(word) for word in slots.steering(hidden)] == ["for", "endfor"]


def test_nobody_can_write_a_word() -> None:
    first, second = Slots(Profile.JINJA), Slots(Profile.JINJA)
    word = first.hide("{{ a }}")
    assert second.hide(word) == word
    assert second.restore(word) == word


def test_long_sources_full_of_openings_take_no_time() -> None:
    for profile in Profile:
        for bomb in ("{{" * 50_000, '{{ "' * 20_000, "{% raw %}" * 5_000, "{#" * 50_000, "{{ '" * 20_000 + "}}"):
            assert Slots(profile).hide(bomb) is not None
