"""What an author is told, and that nobody can make the telling slow."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from waypost.kernel.vocabulary import Category, Channel
from waypost.templates.compiling import Compiled
from waypost.templates.diff import diff_versions, unified
from waypost.templates.lint import Level, lint
from waypost.templates.lint_markup import broken_links, has_words, images_without_alt
from waypost.templates.model import Content, Format, JsonObject, LocaleSource, Template, TemplateKind, Written

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEMPLATE = Template(
    id=UUID(int=1), owner="acme", key="k", channel=Channel.EMAIL, kind=TemplateKind.MESSAGE,
    category=Category.TRANSACTIONAL, topic=None, default_locale="en", name="n", revision=1, created_at=NOW,
    updated_at=NOW, published_at=None, archived_at=None,
)  # fmt: skip


def found(html: str, *, subject: str = "Hello", mentioned: frozenset[str] = frozenset(), **options: Any) -> set[str]:
    schema: JsonObject | None = options.pop("schema", None)
    source = LocaleSource(subject=subject, body=html, format=Format.HTML)
    written = Written(locales={"en": source}, variables_schema=schema)
    compiled = Compiled(content=Content(subject=subject, html=html), mentioned=mentioned, warnings=())
    findings = lint(replace(TEMPLATE, **options), written, {"en": compiled})
    return {("!" if each.level is Level.ERROR else "") + each.code for each in findings}


@pytest.mark.parametrize(
    ("html", "codes"),
    [
        ("<p>Two words</p>", set()),
        ('<p>Two words <a href="https://shop.test/{{ order }}">go</a></p>', set()),
        ('<p>Two words <a href="{{ url }}">go</a> <a href="#top">up</a> <a href="mailto:a@b.test">m</a></p>', set()),
        ('<p>Two words <a href="">go</a></p>', {"!empty_link"}),
        ('<p>Two words <a href="#">go</a></p>', {"!empty_link"}),
        ("<p>Two words <a href='javascript:alert(1)'>go</a></p>", {"!forbidden_link"}),
        ("<p>Two words <a href=JaVaScRiPt:x>go</a></p>", {"!forbidden_link"}),
        ('<p>Two words <a href="shop.test/x">go</a></p>', {"!broken_link"}),
        ('<p>Two words <a href="https:///x">go</a></p>', {"!broken_link"}),
        ('<p>Two words <a href="https://a b/">go</a></p>', {"!broken_link"}),
        ('<p>Two words <a href="https://example.com/">go</a></p>', {"placeholder_link"}),
        ('<p>Two words <a href="http://localhost:80/">go</a></p>', {"placeholder_link"}),
        ("<p>Two words <img src='x'></p>", {"missing_alt"}),
        ("<p>Two words <img src='x' alt=''></p>", set()),
        ("<img src='x' alt='picture'>", {"missing_text"}),
        ("<style>a lot of words</style><img src='x' alt=''>", {"missing_text"}),
        ("<p>Two words" + "x" * 110_000 + "</p>", {"over_102_kb"}),
    ],
)
def test_markup(html: str, codes: set[str]) -> None:
    assert found(html) == codes


def test_marketing_needs_a_way_out() -> None:
    marketing = {"category": Category.MARKETING}
    assert found("<p>Two words</p>", **marketing) == {"!missing_unsubscribe"}
    assert found("<p>Two words</p>", mentioned=frozenset({"unsubscribe_url"}), **marketing) == set()
    assert found("<p>Two words</p>", mentioned=frozenset({"preferences_url"}), **marketing) == set()
    assert found('<p>Two words <a href="https://shop.test/unsubscribe">x</a></p>', **marketing) == set()
    assert found("<p>Two words</p>", channel=Channel.SMS, **marketing) == set()


@pytest.mark.parametrize(
    ("subject", "codes"),
    [
        ("Your order is paid", set()),
        ("{{ NAME_IN_CAPITALS }}", set()),
        ("BUY THIS NOW", {"spam_mark"}),
        ("Wow!!", {"spam_mark"}),
        ("Make money at home", {"spam_mark"}),
        ("Re: your order", {"spam_mark"}),
        ("x" * 79, {"long_subject"}),
    ],
)
def test_subjects(subject: str, codes: set[str]) -> None:
    assert found("<p>Two words</p>", subject=subject) == codes


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("<p>Your order is PAID! It leaves today!</p>", set()),
        ("<style>a:after{content:'!!!'}</style><p>Two words</p>", set()),
        ("<p>THE TERMS OF SERVICE</p><p>in short words that nobody shouts at anybody, twelve times over</p>", set()),
        ("<p>Hurry up!!!</p>", {"spam_mark"}),
        ("<p>Make <b>money</b> at home</p>", {"spam_mark"}),
        ("<p>Save $$$ now</p>", {"spam_mark"}),
        ("<p>" + "BUY THIS THING NOW " * 5 + "</p>", {"spam_mark"}),
    ],
)
def test_bodies(body: str, codes: set[str]) -> None:
    assert found(body) == codes
    assert found(body, channel=Channel.SMS) == set()


def test_variables_against_the_schema() -> None:
    schema: JsonObject = {"properties": {"order": {}, "unused": {}}}
    mentioned = frozenset({"order", "city", "recipient.locale", "tenant.name", "unsubscribe_url"})
    assert found("<p>Two words</p>", mentioned=mentioned, schema=schema) == {"undefined_variable", "unused_variable"}
    assert found("<p>Two words</p>", mentioned=frozenset({"order", "unused"}), schema=schema) == set()
    assert found("<p>Two words</p>", mentioned=mentioned) == set()


@pytest.mark.parametrize(
    "bomb", ["<a " * 90_000, "<a href=" * 30_000, "{{" * 130_000, "<img" * 60_000, "<style" * 40_000, "<" * 250_000,
             '<a href="' * 28_000, "<a" + " " * 250_000, "&" * 250_000, "<a href" + " " * 250_000],
)  # fmt: skip
def test_no_text_makes_it_slow(bomb: str) -> None:
    began = time.process_time()
    list(broken_links(bomb))
    images_without_alt(bomb)
    has_words(bomb)
    assert time.process_time() - began < 2


def test_what_differs_is_told_by_field_and_as_text() -> None:
    before = Written(locales={"en": LocaleSource(subject="One", body="a\nb\nc", format=Format.HTML)})
    after = Written(
        locales={"en": LocaleSource(subject="One", body="a\nB\nc", format=Format.HTML)}, fallback_chain=("en",)
    )
    changes = {change.pointer: change for change in diff_versions(before, after)}
    assert set(changes) == {"/locales/en/body", "/fallback_chain"}
    assert "-b\n+B\n" in (changes["/locales/en/body"].unified or "")
    assert changes["/fallback_chain"].after == ["en"]
    assert unified(before, after).count("--- before") == 2
    assert diff_versions(after, after) == []
