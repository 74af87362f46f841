"""Messages of a content that only prints values are made without a child, and are what a child would have made."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.plain_jobs import HEAD, job_of
from tests.tracked_markup import MARKS, instrument

from waypost.adapters.render import wire
from waypost.adapters.render.errand import ComposeMail, RenderParts
from waypost.adapters.render.frames import Frames
from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.plain_book import PlainBook
from waypost.adapters.render.plain_mail import PlainMail
from waypost.adapters.render.plain_parts import PlainParts
from waypost.adapters.render.pool import RenderPool
from waypost.adapters.render.process import RenderProcess
from waypost.adapters.render.recipes import MailRecipe, PartsRecipe, PlainTemplate
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.render.sheet import Sheet, SheetPart
from waypost.adapters.render.skeleton import Skeleton
from waypost.kernel.clock import SystemClock
from waypost.templates.model import Content
from waypost.templates.ports import RenderedParts, RenderFailure, RenderJob

VALUES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=90),
    st.sampled_from(["", ".", "\r", "\n", "a\n", "\n.", "x" * 80, "=", "é" * 40, " ", "a ", "<b>&\"'/", "\0", "\x85"]),
    st.integers(),
    st.sampled_from([None, True, 1.5, ["x"], {"first": "x"}]),
)
PIECES = st.sampled_from(
    [
        "{{ name }}",
        "{{city}}",
        "{{ person.first }}",
        "{{ count }}",
        ".",
        "\n.",
        "é",
        " and\n",
        '<a href="https://example.com/{{ name }}">x</a>',
        '<a href="https://example.com/{{ city }}?a={{ count }}" data-no-track>y</a>',
        "<p>",
    ]
)
SOURCES = st.lists(PIECES, max_size=8).map("".join)
FIRST = {"name": "Ada", "city": "Oslo", "person": {"first": "A"}, "count": 3, **MARKS}


def context_of(name: object, first: object) -> dict[str, Any]:
    return {"name": name, "city": "Łódź", "person": {"first": first}, "count": -7, **MARKS}


def learned(parts: wire.Parts, job: RenderJob) -> PlainMail | None:
    """What is known after a child has made a first message."""
    said = Rendition(parts, RenderLimits(), None, job.instrument).say(FIRST, None, None, HEAD)
    book = PlainBook[PlainMail](100_000)
    [made] = ComposeMail(book).read_part(memoryview(wire.encoder.encode([said])), [(0, job)], Frames())
    assert isinstance(made, bytes)
    return book.of(job)


@given(SOURCES, st.none() | SOURCES, SOURCES, VALUES, VALUES, st.booleans())
@example("{{ name }}", "<p>{{ name }}", "{{ name }}", "Łukasz", "", True)
@example("s", '<a href="https://example.com/{{ name }}">x</a>', "x", "no word", "", True)
def test_a_message_is_made_as_a_child_makes_it_or_not_at_all(
    subject: str, html: str | None, text: str, name: object, first: object, is_tracked: bool
) -> None:
    subject, how = subject.replace("\n", " "), instrument() if is_tracked and html is not None else None
    parts, job = wire.Parts(subject, html, text), job_of(context_of(name, first), instrument=how)
    maker = learned(parts, job)
    made = None if maker is None else maker.made(job)
    try:
        expected = Rendition(parts, RenderLimits(), None, how).compose(job.context, None, None, HEAD)
    except RenderRefused:
        expected = None
    assert made is None or made == expected


@pytest.mark.parametrize(
    ("content", "is_plain"),
    [
        (wire.Parts("For {{ name }}", "<p>{{ name }}</p>", "{{ name }}"), True),
        (wire.Parts("s", None, "{{ person.first }}!"), True),
        (wire.Parts("s", '<a href="https://example.com/{{ name }}">x</a>', "x"), True),
        (wire.Parts("For {{ name|upper }}", "<p>{{ name }}</p>", "{{ name }}"), False),
        (wire.Parts("s", "{% if name %}<p>{% endif %}", "x"), False),
        (wire.Parts("s", "<p>{{ name }}</p>"), False),
        (wire.Parts("s", '<a href="{{ name }}">x</a>', "x"), False),
    ],
)
def test_only_what_prints_and_nothing_else_is_made_without_a_child(content: wire.Parts, is_plain: bool) -> None:
    job = job_of(context_of("Bo", "B"), instrument=None if content.html is None else instrument())
    if '"{{ name }}"' in (content.html or ""):
        assert Rendition(content, RenderLimits(), None, job.instrument).compose(FIRST, None, None, HEAD)
        return
    said = Rendition(content, RenderLimits(), None, job.instrument).say(FIRST, None, None, HEAD)
    assert (isinstance(said, wire.Said) and said.recipe is not None) == is_plain
    if is_plain:
        maker = learned(content, job)
        assert maker is not None
        assert maker.made(job) == Rendition(content, RenderLimits(), None, job.instrument).compose(
            job.context, None, None, HEAD
        )
        for files in ({"has_files": True}, {"has_images": True}):
            assert maker.made(job_of(job.context, head=msgspec.structs.replace(HEAD, **files))) is None
        assert maker.made(job_of({}, instrument=job.instrument)) is None


SKELETON = Skeleton([b"", b"A", b"\r\n"], [0, 1], 3)
SUBJECT = PlainTemplate(["s"], [])


@pytest.mark.parametrize(
    "recipe",
    [
        MailRecipe(SUBJECT, [], [], []),
        MailRecipe(SUBJECT, [("a",), ("b",)], [], []),
        MailRecipe(SUBJECT, [("a",)], [1], []),
        MailRecipe(PlainTemplate(["s"], [("a",)]), [("a",)], [], []),
        MailRecipe(PlainTemplate(["s", ""], [()]), [("a",)], [], []),
    ],
)
def test_a_recipe_that_does_not_fit_its_skeleton_is_no_recipe(recipe: MailRecipe) -> None:
    book = PlainBook[PlainMail](100_000)
    told = memoryview(wire.encoder.encode([wire.Said(b"one\0two\0three", SKELETON, recipe), b"a\r\n"]))
    failed, fine = ComposeMail(book).read_part(told, [(0, job_of({}))] * 2, Frames())
    assert isinstance(failed, RenderFailure)
    assert fine == b"a\r\n"
    assert book.of(job_of({})) is None


def test_so_it_is_with_parts() -> None:
    book = PlainBook[PlainParts](100_000)
    sheet, recipe = Sheet(2, None, SheetPart(["a", "b"], [0]), None), PartsRecipe(SUBJECT, [("a",), ("b",)])
    told = memoryview(wire.encoder.encode([wire.Told("s", ["x", "y"], sheet, recipe)]))
    [failed] = RenderParts(book, 1_000).read_part(told, [(0, job_of({}))], Frames())
    assert isinstance(failed, RenderFailure)
    assert book.of(job_of({})) is None


def test_what_the_book_has_no_room_for_is_told_by_the_child_again() -> None:
    one, two = wire.Parts("s", None, "{{ name }}" + "x" * 3_000), wire.Parts("s", None, "{{ name }}" + "y" * 3_000)
    book, frames = PlainBook[PlainMail](10_000), Frames()
    errand = ComposeMail(book)
    renditions = [Rendition(parts, RenderLimits()) for parts in (one, two)]

    def ask(which: int) -> None:
        said = wire.encoder.encode([renditions[which].say(FIRST, None, None, HEAD)])
        errand.read_part(memoryview(said), [(which, job_of({}, which))], frames)

    ask(0)
    assert book.of(job_of({}, 0)) is not None
    ask(1)
    assert (book.of(job_of({}, 0)), book.of(job_of({}, 1)) is not None) == (None, True)
    ask(0)
    assert book.of(job_of({}, 0)) is not None


@pytest.fixture
async def pool() -> AsyncIterator[RenderPool]:
    pool = RenderPool(clock=SystemClock())
    yield pool
    await pool.close()


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes a child was asked in, each time."""
    asked, ask = list[int](), RenderProcess.ask

    def counted(self: RenderProcess, request: bytearray, *rest: Any) -> Any:
        asked.append(len(request))
        return ask(self, request, *rest)

    monkeypatch.setattr(RenderProcess, "ask", counted)
    return asked


CONTENT = Content(subject="For {{ name }}", html="<p>{{ name }}, {{ number }}</p>", text="{{ name }}: {{ number }}")


async def test_a_child_is_asked_about_the_first_message_and_about_odd_ones(
    pool: RenderPool, questions: list[int]
) -> None:
    def jobs(*names: Any) -> list[RenderJob]:
        return [job_of({"name": name, "number": 5}, content=CONTENT) for name in names]

    await pool.compose(jobs("Ada"))
    first = len(questions)
    made = await pool.compose(jobs("Bo", "Łukasz", "a.b"))
    assert len(questions) == first
    assert [isinstance(one, bytes) and one.count(b"Bo") for one in made] == [3, 0, 0]
    mixed = await pool.compose([*jobs("Cy", 1.5, "two\nlines", "Di"), job_of({"name": "x"}, content=CONTENT)])
    assert len(questions) == first + 1
    assert [one.code if isinstance(one, RenderFailure) else one.count(b"Cy") for one in mixed] == [
        3,
        0,
        "header_refused",
        0,
        "missing_variable",
    ]


ODD: list[tuple[dict[str, Any], str]] = [
    ({"name": "x"}, "missing_variable"),
    ({"name": "x", "number": None}, "fine"),
    ({"name": "x\ny", "number": 1}, "header_refused"),
    ({"name": "x", "number": 1 << 70}, "render_failed"),
    ({"name": "x", "number": "\ud800"}, "render_failed"),
    ({"name": "\ud800", "number": 1}, "render_failed"),
    ({"name": 1 << 70, "number": 1}, "render_failed"),
]


@pytest.mark.parametrize("is_known", [False, True])
async def test_what_is_refused_is_refused_whether_the_content_is_known_or_not(pool: RenderPool, is_known: bool) -> None:
    fine = job_of({"name": "Ada", "number": 1}, content=CONTENT)
    calls: list[Callable[[list[RenderJob]], Any]] = [pool.try_out, pool.render, pool.compose]
    if is_known:
        for call in calls[1:]:
            await call([fine])
    jobs = [fine, *(job_of(context, content=CONTENT) for context, _ in ODD)]
    for call in calls:
        answers = await call(jobs)
        codes = [one.code if isinstance(one, RenderFailure) else "fine" for one in answers]
        assert codes == ["fine", *(code for _, code in ODD)]


@given(SOURCES, st.none() | SOURCES, SOURCES, VALUES, VALUES, st.sampled_from([60, 400, 10_000]))
@example("{{ name }}{{ name }}", None, "x", "y" * 40, "", 60)
def test_parts_are_made_as_a_child_makes_them_and_only_those_will_do(
    subject: str, html: str | None, text: str, name: object, first: object, most: int
) -> None:
    parts, limits = wire.Parts(subject.replace("\n", " "), html, text), RenderLimits(message_bytes=most)
    try:
        told = Rendition(parts, limits).tell(FIRST, None, None)
    except RenderRefused:
        return
    book, job = PlainBook[PlainParts](100_000), job_of(context_of(name, first))
    RenderParts(book, most).read_part(memoryview(wire.encoder.encode([told])), [(0, job)], Frames())
    maker = book.of(job)
    made, will_do = (None, None) if maker is None else (maker.made(job), maker.will_do(job))
    try:
        expected = Rendition(parts, limits).render(job.context, None, None)
    except RenderRefused:
        expected = None
    assert made is None or made == expected
    assert will_do is None or expected is not None


async def test_parts_that_grow_too_large_are_refused_as_ever(pool: RenderPool) -> None:
    await pool.render([job_of({"name": "Ada", "number": 1}, content=CONTENT)])
    large = job_of({"name": "x", "number": "x" * 1_100_000}, content=CONTENT)
    for answers in (await pool.try_out([large]), await pool.render([large])):
        assert [one.code for one in answers if isinstance(one, RenderFailure)] == ["render_too_large"]


async def test_parts_are_made_without_a_child_too(pool: RenderPool, questions: list[int]) -> None:
    [first] = await pool.render([job_of({"name": "Ada", "number": 1}, content=CONTENT)])
    asked = len(questions)
    job = job_of({"name": "<Bo>", "number": 1}, content=CONTENT)
    [second] = await pool.render([job])
    assert await pool.try_out([job]) == [None]
    assert len(questions) == asked
    assert isinstance(first, RenderedParts)
    assert isinstance(second, RenderedParts)
    assert (second.subject, second.html, second.text) == ("For <Bo>", "<p>&lt;Bo&gt;, 1</p>", "<Bo>: 1")
