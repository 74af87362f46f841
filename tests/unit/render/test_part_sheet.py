"""Parts filled into their sheet are what the engine renders; what cannot be filled is rendered whole."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.plain_jobs import job_of

from waypost.adapters.render import wire
from waypost.adapters.render.errand import RenderParts
from waypost.adapters.render.frames import Frames
from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.plain_book import PlainBook
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.render.sheet import FillableSheet, Sheet, SheetPart
from waypost.adapters.render.skeleton import LARGEST, Untrue
from waypost.adapters.render.wire import Parts
from waypost.templates.model import Profile
from waypost.templates.ports import RenderedParts, RenderFailure

LITERALS = st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs"]), max_size=40) | st.sampled_from(
    ["\n", "\r\n", "\r", "\n\n", "\0", "<p>", "&amp;"]
)
VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(
    ["", "\r", "\n", "\0", "<b>&\"'/", "é", "{{ city }}"]
)
TAGS = st.sampled_from(
    [
        "{{ name }}",
        "{{city}}",
        "{{ person.first }}",
        "{{ count }}",
        "{{ rate }}",
        "{{ sure }}",
        "{{ missing }}",
        "{{ name|upper }}",
        "{# said to nobody #}",
        "{% if sure %}yes{% endif %}",
    ]
)
SOURCES = st.lists(LITERALS | TAGS, max_size=8).map("".join)
PRINTING = Parts("{{ name }}", "<b>{{ name }}</b> & {{ name }}", "{{ name }}!", preheader="{{ count }}")


def context_of(name: str, first: str) -> dict[str, Any]:
    return {"name": name, "city": "Łódź", "person": {"first": first}, "count": -7, "rate": 1.5, "sure": True}


def crossed(rendition: Rendition, context: dict[str, Any], frames: Frames) -> RenderedParts | RenderFailure:
    """As it is when it has gone from the child to whoever asked."""
    told = wire.encoder.encode([rendition.tell(context, None, None)])
    return RenderParts(PlainBook(10_000), 10_000).read_part(memoryview(told), [(3, job_of(context))], frames)[0]


def outcome(render: Callable[[], RenderedParts | RenderFailure]) -> object:
    try:
        return render()
    except RenderRefused as refused:
        return refused.code, refused.message, refused.pointer


@given(
    subject=SOURCES, html=st.none() | SOURCES, text=SOURCES, preheader=st.none() | SOURCES, name=VALUES, first=VALUES
)
@example(subject="s", html="{{ name }}\n", text="{{ name }}\n\n", preheader=None, name="\n", first="")
def test_what_is_told_and_filled_is_what_the_engine_renders(
    subject: str, html: str | None, text: str, preheader: str | None, name: str, first: str
) -> None:
    content = Parts(subject, html, text, preheader=preheader)
    told, rendered, frames = Rendition(content, RenderLimits()), Rendition(content, RenderLimits()), Frames()
    for context in (context_of(name, first), context_of(first, name)):
        expected = outcome(partial(rendered.render, context))
        assert outcome(partial(crossed, told, context, frames)) == expected


def test_only_the_first_message_of_a_content_carries_its_sheet() -> None:
    rendition = Rendition(PRINTING, RenderLimits())
    first = rendition.tell(context_of("Ada", ""), None, None)
    second = rendition.tell(context_of("Bo", ""), None, None)
    assert isinstance(first, wire.Told)
    assert isinstance(second, wire.Told)
    assert first.sheet is not None
    assert second.sheet is None


@pytest.mark.parametrize(
    "content",
    [
        Parts("s", "<p>{{ name }}</p>"),
        Parts("s", None, "{{ name }}", json='{"a": "{{ name }}"}'),
        Parts("s", None, "{{ name | upper }}"),
        Parts("s", None, "{{ name }}", profile=Profile.LIQUID),
    ],
)
def test_text_read_out_of_markup_json_steering_and_liquid_are_rendered_whole(content: Parts) -> None:
    assert isinstance(Rendition(content, RenderLimits()).tell(context_of("Ada", ""), None, None), RenderedParts)


def test_parts_that_grow_too_large_are_refused_as_ever() -> None:
    rendition = Rendition(Parts("s", None, "{{ name }}" * 100), RenderLimits(message_bytes=5_000))
    assert isinstance(rendition.tell(context_of("x" * 20, ""), None, None), wire.Told)
    assert isinstance(rendition.tell(context_of("x" * 49, ""), None, None), RenderedParts)
    with pytest.raises(RenderRefused, match="larger than"):
        rendition.tell(context_of("x" * 51, ""), None, None)


@pytest.mark.parametrize(
    "sheet",
    [
        Sheet(1, None, SheetPart(["a"], [0]), None),
        Sheet(1, None, SheetPart(["a", "b"], [1]), None),
        Sheet(1, None, SheetPart(["a", "b"], [-1]), None),
        Sheet(1, SheetPart([], []), SheetPart(["a"], []), None),
    ],
)
def test_a_sheet_that_does_not_fit_together_is_no_sheet(sheet: Sheet) -> None:
    with pytest.raises(Untrue):
        FillableSheet(sheet)


def test_what_a_child_says_without_truth_is_a_failure_of_that_message_alone() -> None:
    sheet = Sheet(1, None, SheetPart(["a", "b"], [0]), None)
    told = [
        wire.Told("no sheet yet", ["x"]),
        wire.Told("one", ["x"], sheet),
        wire.Told("too many", ["x", "y"]),
        wire.Told("too large", ["x" * LARGEST]),
        wire.Told("one more", ["z"]),
    ]
    answers = RenderParts(PlainBook(10_000), 10_000).read_part(
        memoryview(msgspec.msgpack.encode(told)), [(1, job_of({}))] * 5, Frames()
    )
    assert [answer.text if isinstance(answer, RenderedParts) else None for answer in answers] == [
        None,
        "axb",
        None,
        None,
        "azb",
    ]
