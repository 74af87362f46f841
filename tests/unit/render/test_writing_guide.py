"""Every example of the writing guide renders, and the filters read as it says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from waypost.adapters.render.limits import MAX_COMPILED_BYTES, MAX_DERIVED_BYTES, MAX_SOURCE_BYTES, RenderLimits
from waypost.adapters.render.source_scan import MAX_NESTING, MAX_TOKENS_IN_A_TAG
from waypost.adapters.render.speech import FILTERS

GUIDE = (Path(__file__).parents[3] / "docs" / "writing-templates.md").read_text()
CONTEXT = json.loads(re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)[0])
BLOCKS = re.findall(r"```(mjml|markdown|html|json-template)\n(.*?)```", GUIDE, re.DOTALL)
_CELL = re.compile(r"(?<!\\)\|")


def rows(heading: str) -> list[list[str]]:
    section = GUIDE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().replace("\\|", "|") for cell in _CELL.split(line)[1:-1]] for line in lines]


def code(cell: str) -> str:
    assert cell.startswith("`")
    assert cell.endswith("`")
    return cell[1:-1]


FILTER_ROWS = rows("Filters")


def read(compiled: Any, source: str, profile: str) -> str:
    made = compiled(source, "text", profile=profile, locale="en")
    text: str = made.render("de-AT", "Europe/Vienna", **CONTEXT).text
    return text.replace("\xa0", " ").replace("\u202f", " ")


@pytest.mark.parametrize(("jinja", "liquid", "expected"), FILTER_ROWS, ids=[row[0] for row in FILTER_ROWS])
def test_a_filter_reads_as_the_guide_says(jinja: str, liquid: str, expected: str, compiled: Any) -> None:
    first, _, second = expected.partition(" or ")
    assert read(compiled, code(jinja), "jinja") == first
    assert read(compiled, code(liquid), "liquid") == (second or first)


def test_the_guide_tells_of_every_filter_and_every_limit() -> None:
    shown = " ".join(row[0] for row in FILTER_ROWS)
    assert all(f"|{name}" in shown for name in FILTERS)
    limits = dict(row[:2] for row in rows("Limits"))
    assert limits["a source, with its partials"] == f"{MAX_SOURCE_BYTES // 1024} KB"
    assert limits["the finished HTML"] == f"{MAX_COMPILED_BYTES // 1024} KB"
    assert limits["blocks or elements inside each other"] == str(MAX_NESTING)
    assert limits["words and signs in one tag"] == str(MAX_TOKENS_IN_A_TAG)
    assert limits["making a version"].startswith(str(RenderLimits().compile_cpu_seconds))
    assert limits["making one message"].startswith(str(RenderLimits().item_cpu_seconds))
    assert f"above {MAX_DERIVED_BYTES // 1024} KB" in GUIDE


def test_the_two_languages_say_the_same(compiled: Any) -> None:
    for _, jinja, liquid in rows("Two languages"):
        assert read(compiled, code(jinja), "jinja") == read(compiled, code(liquid), "liquid")


@pytest.mark.parametrize(("form", "source"), BLOCKS, ids=[block[0] for block in BLOCKS])
def test_a_block_renders(form: str, source: str, compiled: Any) -> None:
    made = compiled(source, form.removesuffix("-template"), locale="en")
    rendered = made.render("de-AT", "Europe/Vienna", **CONTEXT)
    if form == "json-template":
        shown = json.loads(rendered.json)
        assert shown == {"title": "Thank you, Ada <3", "badge": 3, "tags": CONTEXT["tags"], "url": CONTEXT["url"]}
        return
    assert "Ada &lt;3" in rendered.html
    assert "https:&#x2f;&#x2f;example.com&#x2f;o?a=1&amp;b=2" in rendered.html
    assert "{%" not in rendered.html
    assert "https://example.com/o?a=1&b=2" in rendered.text
    if form != "html":
        assert rendered.html.count("Tea") == rendered.html.count("Cups") == 1
        assert "12,00" in rendered.text
    if form != "markdown":
        assert "color: #1a5fb4" in rendered.html


def test_what_is_not_given_can_be_allowed_for(compiled: Any) -> None:
    assert read(compiled, "{{ nickname|default(name) }}", "jinja") == "Ada <3"
    assert read(compiled, "{% if nickname is defined %}x{% else %}y{% endif %}", "jinja") == "y"
    assert read(compiled, "{% if nickname %}x{% else %}y{% endif %}", "liquid") == "y"
