"""What the pool promises beside surviving: right answers, clear refusals, clean ends."""

import asyncio
import os
import signal
from collections.abc import Callable
from email import message_from_bytes, policy
from uuid import uuid4

import psutil
import pytest

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.pool import RenderPool
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Unavailable
from waypost.templates.model import Content, JsonObject
from waypost.templates.ports import RenderedParts, RenderFailure, RenderJob

Make = Callable[..., RenderJob]


def children() -> set[int]:
    """The render processes that this one has started."""
    return {
        process.pid
        for process in psutil.process_iter(["ppid", "status", "cmdline"])
        if process.info["ppid"] == os.getpid()
        and process.info["status"] != psutil.STATUS_ZOMBIE
        and "waypost.adapters.render.child" in (process.info["cmdline"] or ())
    }


async def test_parts_are_rendered_and_text_is_derived(pool: RenderPool, job: Make) -> None:
    answers = await pool.render(
        [
            job("<p>Hi {{ name }}</p>", subject="For {{ name }}", name="Jane <3"),
            job("<p>{{ name }}</p>", text="Text for {{ name }}", name="Jane"),
            job(text="Only {{ name }}", name="<b>"),
        ]
    )
    assert answers == [
        RenderedParts(subject="For Jane <3", html="<p>Hi Jane &lt;3</p>", text="Hi Jane <3\n"),
        RenderedParts(subject="Hello", html="<p>Jane</p>", text="Text for Jane"),
        RenderedParts(subject="Hello", html=None, text="Only <b>"),
    ]


async def test_a_child_that_nobody_wants_leaves_and_comes_back(job: Make, clock: VirtualClock) -> None:
    pool, stays = RenderPool(clock=clock, linger_seconds=0.01), RenderPool(clock=clock)
    await stays.warm()
    (other,) = children()
    for _ in range(2):
        (answer,) = await pool.render([job("<p>{% for one in names %}{{ one }}{% endfor %}</p>", names=["Jane"])])
        assert isinstance(answer, RenderedParts)
        assert answer.html == "<p>Jane</p>"
        async with asyncio.timeout(60):
            while children() != {other}:  # noqa: ASYNC110 — a process takes its time to end
                await asyncio.sleep(0.01)
    await pool.close()
    await stays.close()


async def test_a_message_is_composed(pool: RenderPool, job: Make) -> None:
    (raw,) = await pool.compose([job("<p>Hé {{ name }}</p>", subject="Für {{ name }}", name="Jane")])
    assert isinstance(raw, bytes)
    message = message_from_bytes(raw, policy=policy.default)
    assert message["Subject"] == "Für Jane"
    assert message["To"] == "jane@example.com"
    html = message.get_body(("html",))
    assert html is not None
    assert html.get_content().strip() == "<p>Hé Jane</p>"


@pytest.mark.parametrize(
    ("html", "subject", "code", "pointer", "words"),
    [
        (
            "<p>\n{{ nobody }}</p>",
            "s",
            "missing_variable",
            "/html",
            "Line 2 of html uses `nobody`, which was not given.",
        ),
        ("x", "{{ order.total }}", "missing_variable", "/subject", "`order.total`"),
        ("{{ nobody|upper }}", "s", "missing_variable", "/html", "`nobody`"),
        ("{% if %}", "s", "template_syntax", "/html", "Line 1 of html has a syntax error"),
        ("{{ secret|nofilter }}", "s", "render_failed", "/html", "a filter that does not exist"),
        ("{{ secret + 1 }}", "s", "render_failed", "/html", "Line 1 of html"),
        ("{{ secret|int }}", "s", "render_failed", "/html", "Line 1 of html"),
        ("{{ secret.x.y }}", "s", "missing_variable", "/html", "`secret.x"),
        ("x", "a{{ breaks }}b", "header_refused", "/subject", "line break"),
        ("{% include secret %}", "s", "template_refused", "/html", "`include`"),
    ],
)
async def test_a_refusal_names_part_line_and_kind_but_no_value(
    html: str, subject: str, code: str, pointer: str, words: str, pool: RenderPool, job: Make
) -> None:
    secret = "jane@example.com"
    asked = job(html, subject=subject, secret=secret, order={"id": secret}, breaks="\r\nBcc: jane@example.com")
    for answer in (*await pool.render([asked]), *await pool.compose([asked])):
        assert isinstance(answer, RenderFailure)
        assert answer.code == code
        assert answer.pointer == pointer
        assert words in answer.message
        assert "jane" not in answer.message


async def test_a_check_points_at_every_bad_part_and_names_what_is_read(pool: RenderPool) -> None:
    content = Content(
        subject="{{ a", html="{% for x in order.items %}{{ x.name ~ first_name }}{% endfor %}", text="{% nope %}"
    )
    report = await pool.check("acme", content)
    assert [(error.pointer, error.code) for error in report.errors] == [
        ("/subject", "template_syntax"),
        ("/text", "template_syntax"),
    ]
    good = await pool.check("acme", Content(subject="{{ range(3) }}{% set q = 1 %}{{ q }}", html=content.html))
    assert good.errors == ()
    assert good.mentioned == {"order", "first_name"}


async def test_sources_beyond_the_limit_are_refused(pool: RenderPool) -> None:
    report = await pool.check("acme", Content(subject="s", html="x" * 300_000))
    assert [(error.pointer, error.code) for error in report.errors] == [("/html", "template_refused")]
    report = await pool.check("acme", Content(subject="s", html="x" * 9_000_000))
    assert [error.code for error in report.errors] == ["too_large"]


async def test_contents_are_replaced_when_the_shelf_is_full(clock: VirtualClock, job: Make) -> None:
    pool = RenderPool(clock=clock, limits=RenderLimits(shelf_bytes=8_000))
    versions = [uuid4() for _ in range(20)]
    for _ in range(3):
        jobs = [job(f"<p>{i} {{{{ x }}}}</p>", text="t", version=version, x=i) for i, version in enumerate(versions)]
        for part in (jobs[:7], jobs[7:], jobs[::3], jobs):
            answers = await pool.render(part)
            assert [a.html for a in answers if isinstance(a, RenderedParts)] == [
                f"<p>{j.context['x']} {j.context['x']}</p>" for j in part
            ]
    await pool.close()


async def test_a_worn_child_is_replaced(clock: VirtualClock, job: Make) -> None:
    pool = RenderPool(clock=clock, limits=RenderLimits(worn_items=3))
    await pool.render([job("1")])
    (before,) = children()
    await pool.render([job("2"), job("3"), job("4"), job("5")])
    assert children() == set()
    assert isinstance((await pool.render([job("6")]))[0], RenderedParts)
    assert before not in children()
    await pool.close()


async def test_a_child_that_is_killed_from_outside_blames_nobody(pool: RenderPool, job: Make) -> None:
    await pool.render([job("1")])
    (child,) = children()
    os.kill(child, signal.SIGKILL)
    answers = await pool.render([job("<p>{{ i }}</p>", i=i) for i in range(50)])
    assert all(isinstance(answer, RenderedParts) for answer in answers)


async def test_a_child_that_stands_still_is_killed_and_its_work_done_again(clock: VirtualClock, job: Make) -> None:
    pool = RenderPool(clock=clock, limits=RenderLimits(wall_seconds=0.3))
    await pool.render([job("1")])
    (child,) = children()
    os.kill(child, signal.SIGSTOP)
    answers = await pool.render([job("<p>{{ i }}</p>", i=i) for i in range(10)])
    assert all(isinstance(answer, RenderedParts) for answer in answers)
    assert child not in children()
    await pool.close()


async def test_a_caller_who_leaves_does_not_disturb_the_next(pool: RenderPool, job: Make) -> None:
    await pool.render([job("1")])
    (child,) = children()
    version = uuid4()
    leaving = asyncio.create_task(pool.render([job("<p>{{ i }}</p>", version=version, i=i) for i in range(400)]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    answers = await pool.render([job("<p>next</p>")])
    assert answers == [RenderedParts(subject="Hello", html="<p>next</p>", text="next\n")]
    assert children() == {child}


async def test_concurrent_callers_get_their_own_answers(clock: VirtualClock, job: Make) -> None:
    pool = RenderPool(clock=clock, size=2)
    calls = [pool.render([job("<p>{{ c }}-{{ i }}</p>", text="t", c=c, i=i) for i in range(7)]) for c in range(40)]
    for c, answers in enumerate(await asyncio.gather(*calls)):
        assert [a.html for a in answers if isinstance(a, RenderedParts)] == [f"<p>{c}-{i}</p>" for i in range(7)]
    assert len(children()) <= 2
    await pool.close()


async def test_close_ends_the_children_and_refuses_further_work(pool: RenderPool, job: Make) -> None:
    await pool.render([job("1")])
    assert len(children()) == 1
    await pool.close()
    assert children() == set()
    with pytest.raises(Unavailable):
        await pool.render([job("1")])


async def test_a_child_can_be_started_ahead(pool: RenderPool, job: Make) -> None:
    await pool.warm()
    (child,) = children()
    await pool.render([job("1")])
    assert children() == {child}


async def test_an_empty_call_starts_nothing(pool: RenderPool) -> None:
    assert list(await pool.render([])) == []
    assert children() == set()


async def test_variables_are_checked_by_pointer_without_values(pool: RenderPool) -> None:
    schema: JsonObject = {
        "type": "object",
        "required": ["name", "order"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "email": {"type": "string", "format": "email"},
            "plan": {"enum": ["free", "paid"]},
            "order": {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}},
        },
    }
    assert await pool.check_schema(schema) == ()
    assert await pool.validate(schema, {"name": "Jane", "order": {"total": 1.5}}) == ()
    faults = await pool.validate(
        schema, {"name": "j", "email": "jane@", "plan": "jane-plan", "order": {}, "a/b": "jane-value"}
    )
    assert {(fault.pointer, fault.code) for fault in faults} == {
        ("/name", "too_short"),
        ("/email", "wrong_format"),
        ("/plan", "not_allowed"),
        ("/order/total", "required"),
        ("/a~1b", "unknown_field"),
    }
    assert not any("jane" in fault.message for fault in faults)
    assert [(f.pointer, f.message) for f in await pool.validate(schema, {"name": 7, "order": {"total": 1}})] == [
        ("/name", "must be a string")
    ]


async def test_the_variables_of_many_messages_are_judged_at_once_and_each_for_itself(pool: RenderPool) -> None:
    schema: JsonObject = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "maximum": 590}}}
    judged = await pool.validate_many(schema, [{"n": number} for number in range(600)] + [{}])
    assert [place for place, faults in enumerate(judged) if faults] == [*range(591, 600), 600]
    assert [fault.pointer for fault in judged[600]] == ["/n"]
    # One that cannot be sent at all costs the others nothing.
    judged = await pool.validate_many(schema, [{"n": 1}, {"n": 2**70}, {"n": 2}])
    assert [[fault.code for fault in faults] for faults in judged] == [[], ["too_large"], []]


async def test_a_child_of_a_large_process_is_not_worn_from_birth(pool: RenderPool, job: Make) -> None:
    # On Linux a process inherits the greatest size its parent ever had, as what `getrusage` answers.
    ballast = bytearray(RenderLimits().worn_rss_bytes + 16 * 1024 * 1024)
    ballast[::4096] = b"x" * len(ballast[::4096])
    await pool.render([job("1")])
    (child,) = children()
    await pool.render([job("2")])
    assert children() == {child}
