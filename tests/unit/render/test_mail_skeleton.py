"""A message filled into its skeleton is what a whole rendering makes of it; what cannot be filled is made whole."""

from email import message_from_bytes
from email.policy import SMTP
from typing import Any

import minijinja
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.plain_jobs import HEAD, job_of

from waypost.adapters.render import wire
from waypost.adapters.render.engine import JinjaDialect, make_environment
from waypost.adapters.render.errand import ComposeMail
from waypost.adapters.render.frames import Frames
from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.mail_compose import compile_mail
from waypost.adapters.render.plain_book import PlainBook
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.render.skeleton import LARGEST, Frame, Skeleton, Untrue
from waypost.adapters.render.wire import Parts
from waypost.channels.rules import is_wire_safe
from waypost.templates.ports import RenderFailure

LITERALS = st.text(
    st.characters(exclude_characters="{}\x00", exclude_categories=["Cs"]), max_size=90
) | st.sampled_from(
    [".", "\n.", "..\n", "=", "\r\n", " \n", "x" * 75, "x" * 76, ".\r", "a=", "--=_waypost_alternative"]
)
VALUES = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=90) | st.sampled_from(
    ["", ".", "\r", "\n", "a\n", "\n.", "x" * 80, "=", "é" * 40, " ", "a ", "<b>&\"'/"]
)
PRINTS = st.sampled_from(["{{ name }}", "{{city}}", "{{ person.first }}", "{{ count }}", "{# - #}"])
STEERING = st.sampled_from(
    [
        "{% for one in names %}{{ one }}, {% endfor %}",
        "{%- if name -%} {{ name|upper }} {%- else -%} none {%- endif -%}",
        "{% raw %}{{ name }}{% endraw %}",
        "{% macro twice(it) %}{{ it }}{{ it }}{% endmacro %}{{ twice(name) }}",
        "{% set said = name %}{{ said }}",
        "{{ name ~ city }}",
        "{{ missing }}",
        "{{ missing.deep }}",
        "{{ names }}",
        "{{ rate }}",
        "{{ nothing }}",
        "{{ name|safe }}",
        "{{ loop }}",
    ]
)
PLAIN = st.lists(LITERALS | PRINTS, max_size=8).map("".join)
ANY = PLAIN | st.lists(LITERALS | PRINTS | STEERING, max_size=6).map("".join)


def context_of(name: str, first: str) -> dict[str, Any]:
    person = {"first": first}
    return {
        "name": name,
        "city": "Łódź",
        "person": person,
        "count": -7,
        "names": ["a", name],
        "rate": 1.5,
        "nothing": None,
    }


def decoded(message: bytes) -> list[bytes]:
    assert is_wire_safe(message)
    assert max(map(len, message.split(b"\r\n"))) <= 78
    assert message.count(b"\n") == message.count(b"\r\n") == message.count(b"\r")
    read = message_from_bytes(message, policy=SMTP)
    parts = list(read.iter_parts()) if read.is_multipart() else [read]  # type: ignore[union-attr]
    return [part.get_payload(decode=True) for part in parts]  # type: ignore[misc]


def rendered(source: str, part: str, context: dict[str, Any]) -> bytes:
    engine = make_environment()
    engine.add_template(part, source)
    text = engine.render_template(part, **context)
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n").encode()


@example("\r{# #}\n", "\r{{ name }}", "\n", "")
@given(ANY, ANY, VALUES, VALUES)
def test_every_message_reads_as_the_engine_renders_it(text: str, html: str, name: str, first: str) -> None:
    context = context_of(name, first)
    try:
        expected = [rendered(text, "text", context), rendered(html, "html", context)]
    except minijinja.TemplateError:
        expected = None
    try:
        mail = compile_mail(JinjaDialect(), Parts("Hello", html, text))
        message = mail.compose(context, HEAD)
    except RenderRefused:
        assert expected is None
        return
    assert expected is not None
    assert decoded(message) == expected
    assert mail.whole(context, HEAD) == message


@given(PLAIN, VALUES, VALUES)
def test_so_does_a_text_alone(text: str, name: str, first: str) -> None:
    context = context_of(name, first)
    mail = compile_mail(JinjaDialect(), Parts("Hello", None, text))
    message = mail.compose(context, HEAD)
    assert mail.whole(context, HEAD) == message
    [body] = decoded(message)
    expected = rendered(text, "text", context)
    assert body in (expected, expected + b"\r\n")


def test_what_only_prints_is_said_and_the_rest_is_made_whole() -> None:
    said = compile_mail(JinjaDialect(), Parts("s", "<p>{{ name }}</p>", "{{ name }} {{ name }}"))
    answer = said.say({"name": "Ada"}, HEAD)
    assert answer is not None
    assert len(answer) < 250
    for files in ({"has_files": True}, {"has_images": True}):
        assert said.say({"name": "Ada"}, msgspec.structs.replace(HEAD, **files)) is None
    assert said.say({}, HEAD) is None
    odds: list[Any] = [None, True, 1.5, ["x"], {"x": 1}, "a\rb", "x" * LARGEST]
    for odd in odds:
        assert said.say({"name": odd}, HEAD) is None
    steered = compile_mail(JinjaDialect(), Parts("s", "{% if name %}<p>{{ name }}</p>{% endif %}", "x"))
    assert steered.say({"name": "Ada"}, HEAD) is None


def test_the_skeleton_travels_once_and_is_good_for_its_slot_only() -> None:
    parts = Parts("For {{ name }}", "<p>{{ name }}</p>", "Hello {{ name }}.")
    rendition = Rendition(parts, RenderLimits())
    answers = [rendition.say({"name": name}, None, None, HEAD) for name in ("Ada", "Björn", "a.b")]
    assert [isinstance(one, wire.Said) and one.skeleton is not None for one in answers] == [True, False, False]
    frames = Frames()
    errand, asked = ComposeMail(PlainBook(10_000)), [(4, job_of({}))]
    read = [bytes(wire.part([one])[wire.LENGTH_BYTES + 1 :]) for one in answers]
    first = errand.read_part(memoryview(read[0]), asked, frames)
    rest = [
        *errand.read_part(memoryview(read[1]), asked, frames),
        *errand.read_part(memoryview(read[2]), asked, frames),
    ]
    whole = Rendition(parts, RenderLimits())
    assert [*first, *rest] == [whole.compose({"name": name}, None, None, HEAD) for name in ("Ada", "Björn", "a.b")]
    assert isinstance(errand.read_part(memoryview(read[1]), [(5, job_of({}))], frames)[0], RenderFailure)


SKELETON = Skeleton([b"", b"\r\nA", b"\r\n"], [0, 1], 2)


@pytest.mark.parametrize(
    "said",
    [b"", b"one", b"one\0two\0three", b".one\0two", b"one\0.two", b"one\r\n.\r\n\0two", b"one\n.\0x", b"one\r.\0x"],
)
def test_what_could_end_early_or_does_not_fit_is_no_message(said: bytes) -> None:
    with pytest.raises(Untrue):
        Frame(SKELETON).filled(said)
    parts = memoryview(bytes(wire.part([wire.Said(said, SKELETON), b"a\r\n.\r\nb\r\n", b"a\r\n"])[5:]))
    failed, unsafe, fine = ComposeMail(PlainBook(10_000)).read_part(parts, [(0, job_of({}))] * 3, Frames())
    assert isinstance(failed, RenderFailure)
    assert isinstance(unsafe, RenderFailure)
    assert fine == b"a\r\n"


@pytest.mark.parametrize(
    "skeleton",
    [
        Skeleton([], [], 0),
        Skeleton([b"\r\n"], [], 1),
        Skeleton([b"", b"\r\n"], [1], 1),
        Skeleton([b"", b"\r\n"], [-1], 1),
        Skeleton([b"", b"x", b"\r\n"], [0], 1),
        Skeleton([b"", b"no end"], [0], 1),
        Skeleton([b"", b".\r\n"], [0], 1),
        Skeleton([b"a\r\n.b", b"\r\n"], [0], 1),
    ],
)
def test_what_is_no_skeleton_is_not_filled(skeleton: Skeleton) -> None:
    with pytest.raises(Untrue):
        Frame(skeleton)


def test_little_that_is_said_often_does_not_become_large() -> None:
    frame = Frame(Skeleton([b"x"] * 20_000 + [b"\r\n"], [0] * 20_000, 1))
    assert frame.filled(b"short").endswith(b"shortxshort\r\n")
    with pytest.raises(Untrue):
        frame.filled(b"x" * (LARGEST // 20_000))
