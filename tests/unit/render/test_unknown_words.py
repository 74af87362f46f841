"""A filter, test or function that does not exist is told to the author, not to the first reader."""

import pytest

from waypost.adapters.render.content_check import check_content
from waypost.adapters.render.limits import MAX_SOURCE_BYTES
from waypost.adapters.render.speech import Speech
from waypost.adapters.render.wire import Fault, Parts
from waypost.templates.model import Profile


def faults(html: str, profile: Profile = Profile.JINJA) -> list[Fault]:
    content = Parts("Hello", html, None, profile=profile, locale="en")
    found, _ = check_content(content, lambda _: None, Speech(), MAX_SOURCE_BYTES)
    return found


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("<p>\n{{ name|uper }}</p>", "Line 2 of html uses a filter that does not exist: `uper`."),
        ("{{ 'x' | upper | nope(1) }}", "filter that does not exist: `nope`"),
        ("{% filter shout %}x{% endfilter %}", "filter that does not exist: `shout`"),
        ("{% if a is evn %}x{% endif %}", "test that does not exist: `evn`"),
        ("{% if a is not evn %}x{% endif %}", "test that does not exist: `evn`"),
        ("\n\n{{ now() }}", "Line 3 of html calls a function that does not exist: `now`."),
        ("{% for x in lipsum(3) %}{{ x }}{% endfor %}", "function that does not exist: `lipsum`"),
        ("{{ name|pprint }}", "filter that does not exist: `pprint`"),
    ],
)
def test_the_unknown_word_is_named_with_its_line(source: str, words: str) -> None:
    [fault] = faults(source)
    assert fault.code == "template_syntax"
    assert words in fault.message


@pytest.mark.parametrize(
    "source",
    [
        "{{ name|upper }} {{ total|money('EUR') }} {{ paid_at|date }} {{ name|truncate(8) }}",
        "{{ tags|map('upper')|list }}",
        "{% if a is defined and b is divisibleby(3) and c is not none and d is in [1, 2] %}x{% endif %}",
        "{% macro row(x) %}{{ x }}{{ caller() }}{% endmacro %}{% call row(1) %}y{% endcall %}",
        "{% for x in tree recursive %}{{ loop(x.inner) }}{% endfor %}{% for i in range(3) %}{{ i }}{% endfor %}",
        "{# {{ x|nope }} #}{% raw %}{{ x|nope }} is nope now(){% endraw %} this is text|with bars (and more)",
        """{{ "a|nope now() is nope" }}{{ 'it\\'s |nope' }}{{ "{{ x|nope }}" }}{% set now = dict(a=1) %}{{ now.a }}""",
        "{{ name|default('x')|e }}{% set f = joiner(', ') %}{{ f() }}",
    ],
)
def test_what_is_there_passes(source: str) -> None:
    assert faults(source) == []


def test_filters_of_liquid_are_known_too() -> None:
    [fault] = faults("a\n{{ name | uper }}", Profile.LIQUID)
    assert (fault.code, fault.pointer) == ("template_syntax", "/html")
    assert "Line 2 of html uses a filter that does not exist: `uper`." in fault.message
    assert faults("{{ name | upcase | money: 'EUR' }}{{ x | date }}{{ y | urlencode | title }}", Profile.LIQUID) == []
