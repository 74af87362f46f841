"""The cheap look at a template."""

import time

import pytest

from waypost.adapters.render.source_scan import find_trouble


@pytest.mark.parametrize(
    "source",
    [
        "plain",
        "{{ a.b|upper }}{% if a %}{% for x in y %}{{ x }}{% endfor %}{% elif b %}{% else %}{% endif %}",
        "{% raw %}{% include 'x' %}{{ " + "- " * 600 + "{% endraw %}{{ a }}",
        "{% if a %}{% endif %}" * 1_000,
        "{% set a = 1 %}" * 500,
        "{# " + "- " * 900 + " #}",
        "{{ unfinished",
    ],
)
def test_ordinary_templates_pass(source: str) -> None:
    assert find_trouble(source) is None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("é" * 131_073, "at most 256 KB"),
        ("\n\n{{ " + "-" * 501 + "1 }}", "line 3"),
        ("{% for x in y %}" * 201, "more than 200 blocks"),
        ("{% set x %}" * 201, "more than 200 blocks"),
        ("{% if a %}" + "{% elif a %}" * 501, "`elif`"),
        ("{%- include 'x' %}", "`include`"),
        ("{% from 'x' import y %}", "`from`"),
    ],
)
def test_excess_is_named(source: str, words: str) -> None:
    found = find_trouble(source)
    assert found is not None
    assert words in found


@pytest.mark.parametrize("piece", ["{{", "{%", "{#", "{% raw %}", "{% if ", "}}{{"])
def test_it_is_linear(piece: str) -> None:
    began = time.process_time()
    find_trouble(piece * (250_000 // len(piece)))
    assert time.process_time() - began < 2
