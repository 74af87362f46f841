"""Rules about templates: names, shapes, transitions, and which locale is chosen."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.errors import Conflict, Refused
from waypost.kernel.vocabulary import Channel
from waypost.templates.model import Content, Format, LocaleSource, TemplateKind, VersionState, Written
from waypost.templates.rules import (
    check_inline,
    check_transition,
    check_written,
    choose_locale,
    read_key,
    read_name,
    spell_locales,
    write_only_names,
)

TAGS = st.sampled_from(["en", "en-GB", "de", "de-AT", "de-CH", "pt-BR", "zh-Hans", "zh-Hant", "zh-Hant-TW", "ar", "fr"])
SOURCE = LocaleSource(subject="s", body="b", format=Format.HTML)


@pytest.mark.parametrize("key", ["welcome", "order.paid", "a", "0-1_2", "a" * 100])
def test_keys(key: str) -> None:
    assert read_key(key, "/key") == key


@pytest.mark.parametrize("key", ["", "Welcome", ".a", "a/b", "a b", "ä", "a" * 101, "a\n"])
def test_what_is_no_key(key: str) -> None:
    with pytest.raises(Refused):
        read_key(key, "/key")


@pytest.mark.parametrize("name", ["", " ", "a" * 201, "a\nb", "a\x00"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(Refused):
        read_name(name, "/name")


@given(
    available=st.sets(TAGS, min_size=1),
    recipient=st.none() | TAGS,
    chain=st.lists(TAGS, unique=True, max_size=3),
    tenant=st.none() | TAGS,
    default=TAGS,
)
def test_everyone_gets_something_and_the_nearest_that_there_is(
    available: set[str], recipient: str | None, chain: list[str], tenant: str | None, default: str
) -> None:
    chosen = choose_locale(available, recipient=recipient, chain=chain, tenant=tenant, default=default)
    assert chosen in available
    if recipient in available:
        assert chosen == recipient
    wanted = [tag for tag in (recipient, *chain, tenant, default) if tag is not None]
    languages = [tag.partition("-")[0] for tag in wanted]
    served = {tag.partition("-")[0] for tag in available} - {"zh"}
    first = next((language for language in languages if language in served), None)
    if "zh" not in languages and first is not None:
        assert chosen.partition("-")[0] == first, "an earlier wish is never passed over for a later one"


@given(available=st.sets(TAGS, min_size=1), recipient=TAGS, default=TAGS)
def test_another_locale_to_choose_from_never_makes_it_worse(available: set[str], recipient: str, default: str) -> None:
    before = choose_locale(available, recipient=recipient, chain=(), tenant=None, default=default)
    after = choose_locale({*available, recipient}, recipient=recipient, chain=(), tenant=None, default=default)
    assert after == recipient
    assert before in available


@pytest.mark.parametrize(
    ("recipient", "chain", "tenant", "chosen"),
    [
        ("de-AT", (), None, "de"),
        ("de", (), None, "de"),
        ("pt", (), None, "pt-BR"),
        ("pt-PT", (), None, "pt-BR"),
        ("zh-TW", (), None, "en"),
        ("zh-Hant-HK", (), None, "zh-Hant"),
        ("ja", ("de",), "pt-BR", "de"),
        ("ja", (), "pt-PT", "pt-BR"),
        ("ja", (), "ko", "en"),
        (None, (), None, "en"),
    ],
)
def test_the_order_of_wishes(recipient: str | None, chain: tuple[str, ...], tenant: str | None, chosen: str) -> None:
    available = {"en", "de", "pt-BR", "zh-Hant"}
    assert choose_locale(available, recipient=recipient, chain=chain, tenant=tenant, default="en") == chosen


def faults(written: Written, **about: Any) -> list[tuple[str, str]]:
    given_about: dict[str, Any] = {"channel": Channel.EMAIL, "kind": TemplateKind.MESSAGE, "default_locale": "en"}
    try:
        check_written(written, **(given_about | about))
    except Refused as refused:
        return [(error.pointer, error.code) for error in refused.errors]
    return []


def test_every_fault_is_named_at_once() -> None:
    bad = Written(
        locales={"de": LocaleSource(subject=" ", body=" ", format=Format.JSON)}, fallback_chain=("de", "fr", "de")
    )
    assert faults(bad) == [
        ("/fallback_chain/1", "unknown_locale"),
        ("/fallback_chain/2", "fallback_loop"),
        ("/locales/de/body", "required"),
        ("/locales/de/subject", "required"),
        ("/locales/de/format", "wrong_format"),
        ("/locales", "missing_default_locale"),
    ]


def test_what_a_channel_and_a_kind_allow() -> None:
    html = Written(locales={"en": SOURCE})
    assert faults(html) == []
    assert faults(html, channel=Channel.SMS) == [("/locales/en/format", "wrong_format")]
    assert faults(html, kind=TemplateKind.PARTIAL) == [("/locales/en/subject", "unknown_field")]
    bare = Written(locales={"en": LocaleSource(body="b", format=Format.HTML)})
    assert faults(bare, kind=TemplateKind.PARTIAL) == []
    push = Written(locales={"en": LocaleSource(body="{}", format=Format.JSON)})
    assert faults(push, channel=Channel.PUSH) == []


def test_locales_have_one_spelling() -> None:
    assert list(spell_locales({"de-at": SOURCE, "EN": SOURCE}, "/locales")) == ["de-AT", "en"]
    for bad in ({}, {"xx": SOURCE}, {"en": SOURCE, "EN": SOURCE}, {f"en-{n:03}": SOURCE for n in range(61)}):
        with pytest.raises(Refused):
            spell_locales(bad, "/locales")


def test_the_content_of_a_call() -> None:
    check_inline(Content(subject="s", text="t"), Channel.EMAIL, "/content")
    for content, channel in (
        (Content(subject="s"), Channel.EMAIL),
        (Content(subject=" ", text="t"), Channel.EMAIL),
        (Content(subject="", html="h"), Channel.SMS),
    ):
        with pytest.raises(Refused):
            check_inline(content, channel, "/content")


@pytest.mark.parametrize(
    ("now", "wanted", "allowed"),
    [
        (VersionState.DRAFT, VersionState.ACTIVE, True),
        (VersionState.DRAFT, VersionState.ARCHIVED, True),
        (VersionState.ACTIVE, VersionState.ARCHIVED, True),
        (VersionState.ARCHIVED, VersionState.ACTIVE, True),
        (VersionState.ACTIVE, VersionState.ACTIVE, False),
        (VersionState.ARCHIVED, VersionState.DRAFT, False),
        (VersionState.INLINE, VersionState.ACTIVE, False),
    ],
)
def test_transitions(now: VersionState, wanted: VersionState, *, allowed: bool) -> None:
    if allowed:
        check_transition(now, wanted)
        return
    with pytest.raises(Conflict):
        check_transition(now, wanted)


def test_write_only_names() -> None:
    schema: Any = {"properties": {"code": {"writeOnly": True}, "name": {}, "odd": True}}
    assert write_only_names(schema) == {"code"}
    assert write_only_names(None) == write_only_names({"properties": 1}) == frozenset()
