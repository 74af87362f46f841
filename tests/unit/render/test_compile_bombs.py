"""What an author can write to stop us, in each format and language: refused in time, and nobody else waits."""

import time
from collections.abc import Callable

import pytest

from waypost.adapters.render.pool import RenderPool
from waypost.templates.model import Content, Format, LocaleSource, Profile
from waypost.templates.ports import RenderedParts, RenderFailure, RenderJob

Make = Callable[..., RenderJob]

# Without a limit each of them takes minutes, or for ever.
IN_TIME = 30


def mjml(inner: str) -> str:
    return f"<mjml><mj-body>{inner}</mj-body></mjml>"


SECTION = "<mj-section><mj-column><mj-text>x</mj-text></mj-column></mj-section>"
SOURCES = {
    "mjml, elements in text": ("mjml", mjml("<mj-section><mj-column><mj-text>" + "<b>" * 10_000)),
    "mjml, sections in sections": ("mjml", mjml("<mj-wrapper>" * 10_000)),
    "mjml, deep behind a comment": ("mjml", mjml("<mj-raw><!-- --" + "<b>" * 10_000)),
    "mjml, many sections": ("mjml", mjml(SECTION * 3_500)),
    "mjml, entities": ("mjml", "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>" + mjml("<mj-raw>&b;</mj-raw>")),
    "css, rules times elements": ("html", "<style>" + "p{b:c}" * 2_000 + "</style>" + "<p>x</p>" * 5_000),
    "css, deep elements": ("html", "<style>p{a:b}</style>" + "<b>" * 30_000),
    "css, deep behind quotes": ("html", "<style>p{a:b}</style>" + "<b \">" * 30_000),
    "css, deep behind a comment": ("html", "<style>p{a:b}</style><!--[if x]>-->" + "<b>" * 30_000),
    "html, comments": ("html", "<style>p{a:b}</style>" + "<!--" * 50_000),
    "html, conditions": ("html", "<style>p{a:b}</style>" + "<!--[if x]>-->" * 17_000),
    "html, style sheets": ("html", "<style>" * 30_000),
    "markdown, images": ("markdown", "![[]()" * 40_000),
    "markdown, much of it": ("markdown", "word *em* `code` [l](u)\n\n" * 10_000),
    "markdown, a wide table": ("markdown", "|a" * 10_000 + "|\n" + "|-" * 10_000 + "|\n" + "|x|\n" * 5_000),
    "liquid, openings": ("liquid", "{{" * 5_000),
    "liquid, spaces": ("liquid", "{{" + " " * 200_000 + "}}"),
    "liquid, blocks": ("liquid", "{% if a %}" * 5_000 + "{% endif %}" * 5_000),
    "liquid, filters": ("liquid", "{{ a" + " | upcase" * 20_000 + " }}"),
    "liquid, raw": ("liquid", "{% raw %}" * 20_000),
    "liquid, brackets": ("liquid", "{{ a" + "[a" * 2_000 + "]" * 2_000 + " }}"),
    "liquid, branches": ("liquid", "{% if a %}" + "{% elsif a %}" * 10_000 + "{% endif %}"),
    "json, lists": ("json", "[" * 100_000),
    "text, too much": ("text", "x" * 262_145),
}  # fmt: skip
# Harmless to compile, and not to render.
LIQUID = {
    "a long range": "{% for i in (1..2000000000) %}x{% endfor %}",
    "a range joined": "{{ (1..20000000) | join }}",
    "a range sorted": "{{ (1..20000000) | reverse | join }}",
    "a doubling string": "{% assign a = 'xxxxxxxxxxxxxxxx' %}" + "{% assign a = a | append: a %}" * 28 + "{{ a }}",
    "a doubling capture": "{% assign a = 'xxxx' %}" + "{% capture a %}{{ a }}{{ a }}{% endcapture %}" * 30 + "{{ a }}",
    "loops in loops": "{% for i in (1..9999) %}" * 4 + "x" + "{% endfor %}" * 4,
    "a replace": "{{ 'x' | append: a | replace: '', a | replace: '', a | replace: '', a }}",
    "a table": "{% tablerow i in (1..9999999) cols: 1 %}x{% endtablerow %}",
    "much output": "{% for i in (1..99999) %}{{ a }}{% endfor %}",
    "a sum of many": "{{ (1..90000000) | sum }}",
}


@pytest.mark.parametrize(("form", "body"), SOURCES.values(), ids=SOURCES.keys())
async def test_a_source_is_refused_in_time(form: str, body: str, pool: RenderPool, job: Make) -> None:
    profile = Profile.LIQUID if form == "liquid" else Profile.JINJA
    source = LocaleSource(subject="s", body=body, format=Format.HTML if form == "liquid" else Format(form))
    began = time.monotonic()
    report = await pool.compile("attacker", source, profile=profile)
    assert time.monotonic() - began < IN_TIME
    assert report.errors
    assert report.content is None
    assert {error.pointer for error in report.errors} <= {"/body", "/text"}
    (other,) = await pool.render([job("<p>{{ name }}</p>", tenant="calm", name="Jo")])
    assert isinstance(other, RenderedParts)
    again = await pool.compile("calm", LocaleSource(subject="s", body="*hi*", format=Format.MARKDOWN))
    assert again.content is not None


@pytest.mark.parametrize("bomb", LIQUID.values(), ids=LIQUID.keys())
async def test_liquid_is_stopped_in_time(bomb: str, pool: RenderPool, job: Make) -> None:
    content = Content(subject="s", html=bomb, profile=Profile.LIQUID)
    await pool.check("attacker", content)
    began = time.monotonic()
    (answer,) = await pool.render([_of(job, content, "attacker", a="x" * 10_000)])
    assert time.monotonic() - began < IN_TIME
    assert isinstance(answer, RenderFailure)
    (other,) = await pool.render([job("<p>{{ name }}</p>", tenant="calm", name="Jo")])
    assert isinstance(other, RenderedParts)


async def test_a_source_at_its_limits_is_served(pool: RenderPool, job: Make) -> None:
    deep = "<div>" * 150 + "{{ name }}" + "</div>" * 150
    wide = "<table>" + "<tr><td>{{ name }}</td></tr>" * 2_000 + "</table>"
    for body in (deep, wide):
        source = LocaleSource(subject="s", body=f"<style>td{{color:red}}</style>{body}", format=Format.HTML)
        report = await pool.compile("acme", source)
        assert report.errors == ()
        assert report.content is not None
        (answer,) = await pool.render([_of(job, report.content, "acme", name="Jo")])
        assert isinstance(answer, RenderedParts)


def _of(job: Make, content: Content, tenant: str, **context: object) -> RenderJob:
    made = job("x", tenant=tenant, **context)
    return RenderJob(tenant_id=tenant, version_id=made.version_id, content=content, context=made.context)
