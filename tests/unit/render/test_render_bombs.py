"""Content that kills its process costs itself, in little time, and nobody else."""

import time
from collections.abc import Callable
from uuid import uuid4

import pytest

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.pool import RenderPool
from waypost.kernel.clock import VirtualClock
from waypost.templates.model import Content, JsonObject
from waypost.templates.ports import RenderedParts, RenderFailure, RenderJob

Make = Callable[..., RenderJob]

# Without a limit each of them takes minutes, or for ever.
IN_TIME = 30

BOMBS = {
    "namespace that holds itself": "{% set ns=namespace() %}{% set ns.a=ns %}{{ ns }}",
    "minus chain": "{{ " + "-" * 20_000 + "1 }}",
    "minus chain over lines": "{{ " + "- \n" * 20_000 + "1 }}",
    "filter chain": "{{ a" + "|upper" * 40_000 + " }}",
    "elif chain": "{% if a %}" + "{% elif a %}" * 10_000 + "{% endif %}",
    "attribute chain": "{{ a" + ".a" * 50_000 + " }}",
    "tilde chain": "{{ a" + "~a" * 50_000 + " }}",
    "nested blocks": "{% if a %}" * 5_000 + "{% endif %}" * 5_000,
    "doubling string": "{% set a='xxxxxxxxxxxxxxxx' %}" + "{% set a=a~a %}" * 28 + "{{ a }}",
    "batch": "{{ [1]|batch(1000000000)|list }}",
    "replace": "{{ ('x'*100000)|replace('x','y'*100000) }}",
    "format width": '{{ "%2000000000d"|format(1) }}',
    "sort in a loop": "{% set s=range(50000)|list %}{% for i in range(10000) %}{{ s|sort|length }}{% endfor %}",
    "loop in a loop": "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    "endless range": "{% for i in range(1000000000) %}x{% endfor %}",
    "long multiplication": "{{ 'x'*1000000000 }}",
    "macro that calls itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "include of itself": "{% include 'html' %}",
    "extends itself": "{% extends 'html' %}",
    "doubling list": "{% set l=[1] %}" + "{% set l=[l,l] %}" * 60 + "{{ l }}",
    "minus chain behind a string that hides it": '{{ "}}" ~ ' + "-" * 20_000 + "1 }}",
    "much output": "{% for i in range(10000) %}{{ 'x'*100000 }}{% endfor %}",
    "indent": "{{ ('a\n'*100000)|indent(100000) }}",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
async def test_a_bomb_is_refused_in_time_and_others_are_served(bomb: str, pool: RenderPool, job: Make) -> None:
    assert isinstance((await pool.render([job("<p>warm</p>", tenant="calm")]))[0], RenderedParts)
    began = time.monotonic()
    report = await pool.check("attacker", Content(subject="s", html=bomb))
    checked = time.monotonic()
    (answer,) = await pool.render([job(bomb, tenant="attacker", a="x")])
    rendered = time.monotonic()

    assert isinstance(answer, RenderFailure)
    assert checked - began < IN_TIME
    assert rendered - checked < IN_TIME
    assert all(error.pointer == "/html" for error in report.errors)
    (other,) = await pool.render([job("<p>{{ name }}</p>", tenant="calm", name="Jo")])
    assert isinstance(other, RenderedParts)
    assert other.html == "<p>Jo</p>"


async def test_a_crash_of_the_compiler_is_a_refusal_of_that_part(pool: RenderPool) -> None:
    bomb = '{{ "}}" ~ ' + "-" * 20_000 + "1 }}"
    for content, pointer in (
        (Content(subject=bomb, html="x"), "/subject"),
        (Content(subject="s", html=bomb), "/html"),
        (Content(subject="s", html="x", text=bomb), "/text"),
    ):
        report = await pool.check("attacker", content)
        assert [(error.pointer, error.code) for error in report.errors] == [(pointer, "template_crashed")]


async def test_slow_content_is_served_apart_and_completely(pool: RenderPool, job: Make) -> None:
    """Under the limit that kills, above what anybody else should wait for."""
    slow = "{% set s=range(40000)|list %}{% for i in range(n) %}{{ s|sort|first }}{% endfor %}"
    version = uuid4()
    (first,) = await pool.render([job(slow, tenant="slow", version=version, n=45)])
    assert isinstance(first, RenderedParts)
    answers = await pool.render([job(slow, tenant="slow", version=version, n=45) for _ in range(12)])
    assert all(isinstance(answer, RenderedParts) for answer in answers)
    assert pool._suspicion.doubts(("slow", version))  # pyright: ignore[reportPrivateUsage]
    assert not pool._suspicion.doubts(("calm", version))  # pyright: ignore[reportPrivateUsage]


async def test_one_of_five_hundred_fails_and_the_others_go(pool: RenderPool, job: Make) -> None:
    """Harmless when published, a bomb for one value."""
    version = uuid4()
    html = "<p>{{ name }}</p>{% set s=range(size)|list %}{% for i in range(size) %}{{ s|sort|first }}{% endfor %}"
    jobs = [job(html, version=version, name=f"n{i}", size=60_000 if i == 217 else 1) for i in range(500)]

    answers = await pool.render(jobs)

    failed = [i for i, answer in enumerate(answers) if isinstance(answer, RenderFailure)]
    assert failed == [217]
    assert answers[217] == RenderFailure(code="render_timeout", message="The content takes too long to render.")
    assert [a.html for a in answers if isinstance(a, RenderedParts)] == [
        f"<p>n{i}</p>0" for i in range(500) if i != 217
    ]


async def test_several_culprits_among_several_tenants(pool: RenderPool, job: Make) -> None:
    good, bad, memory = uuid4(), uuid4(), uuid4()
    jobs = []
    for i in range(300):
        jobs.append(job("<p>{{ i }}</p>", tenant="calm", version=good, i=i))
        if i % 100 == 50:
            jobs.append(job('{{ "%2000000000d"|format(1) }}', tenant="noisy", version=bad))
            jobs.append(job("{{ ('x'*n)|replace('x','y'*n) }}", tenant="other", version=memory, n=100_000))
            jobs.append(job("{{ ('x'*n)|replace('x','y'*n) }}", tenant="other", version=memory, n=1))

    answers = await pool.render(jobs)

    for asked, answer in zip(jobs, answers, strict=True):
        if asked.tenant_id == "calm":
            assert isinstance(answer, RenderedParts)
        elif asked.version_id == bad or asked.context["n"] == 100_000:
            assert isinstance(answer, RenderFailure)
            # Whether memory or time runs out first depends on the machine.
            assert answer.code in ("render_failed", "render_timeout")
        else:
            assert isinstance(answer, RenderedParts)
            assert answer.html == "y"


async def test_what_is_left_of_a_tenant_that_only_kills_is_given_up(clock: VirtualClock, job: Make) -> None:
    pool = RenderPool(clock=clock, limits=RenderLimits(doubtful_cpu_seconds=0.8))
    bombs = [job('{{ "%2000000000d"|format(1) }}', tenant="noisy") for _ in range(30)]
    answers = await pool.render([*bombs, *(job("<p>fine</p>", tenant="calm") for _ in range(30))])
    await pool.close()

    assert all(isinstance(answer, RenderFailure) for answer in answers[:30])
    assert sum("too much time went into content" in str(answer) for answer in answers) == 27
    assert all(isinstance(answer, RenderedParts) for answer in answers[30:])


async def test_a_suspected_tenant_recovers(pool: RenderPool, job: Make, clock: VirtualClock) -> None:
    await pool.render([job('{{ "%2000000000d"|format(1) }}', tenant="noisy")])
    (meanwhile,) = await pool.render([job("<p>fine</p>", tenant="noisy")])
    await clock.advance(3600)
    (later,) = await pool.render([job("<p>fine</p>", tenant="noisy")])
    assert isinstance(meanwhile, RenderedParts)
    assert isinstance(later, RenderedParts)


async def test_data_that_cannot_travel_fails_alone(pool: RenderPool, job: Make) -> None:
    deep: JsonObject = {}
    for _ in range(5_000):
        deep = {"a": deep}
    jobs = [
        job("<p>1</p>"),
        job("<p>2</p>", n=2**70),
        job("<p>3</p>", s="\ud800"),
        job("<p>4</p>", d=deep),
        job("<p>5</p>", big="x" * 9_000_000),
        job("<p>6</p>"),
    ]
    answers = await pool.render(jobs)
    assert [isinstance(answer, RenderedParts) for answer in answers] == [True, False, False, False, False, True]


async def test_a_message_beyond_the_limit_is_refused_and_many_large_ones_come_through(
    pool: RenderPool, job: Make
) -> None:
    (huge,) = await pool.render([job("{{ 'x' * 2500000 }}")])
    assert isinstance(huge, RenderFailure)
    assert huge.code == "render_too_large"

    version = uuid4()
    answers = await pool.render([job("{{ 'x' * 900000 }}{{ i }}", text="t", version=version, i=i) for i in range(60)])
    assert [a.html[900_000:] for a in answers if isinstance(a, RenderedParts) and a.html] == [str(i) for i in range(60)]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    ],
)
async def test_schema_that_refers_to_itself(schema: JsonObject, pool: RenderPool) -> None:
    began = time.monotonic()
    await pool.check_schema(schema)
    await pool.validate(schema, {"a": 1})
    assert time.monotonic() - began < 2 * IN_TIME


async def test_schema_whose_branches_multiply_is_refused(pool: RenderPool) -> None:
    schema: JsonObject = {"$defs": {"d0": {"type": "object"}}, "$ref": "#/$defs/d40"}
    for level in range(1, 41):
        refer: JsonObject = {"$ref": f"#/$defs/d{level - 1}"}
        schema["$defs"][f"d{level}"] = {"allOf": [refer, refer]}  # type: ignore[index,call-overload]
    began = time.monotonic()
    refused = await pool.check_schema(schema)
    validated = await pool.validate(schema, {})
    assert [error.code for error in refused] == ["schema_timeout"]
    assert [error.code for error in validated] == ["schema_timeout"]
    assert time.monotonic() - began < 2 * IN_TIME
    assert await pool.validate({"type": "object"}, {}) == ()
