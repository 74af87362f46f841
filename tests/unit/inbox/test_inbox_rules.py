"""What a post may say, how long it stays, and what an act makes of the facts."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from waypost.inbox.changes import Cursor, read_cursor
from waypost.inbox.model import Act, Facts, InboxSettings, PostContent
from waypost.inbox.rules import (
    apply,
    check_key,
    clean_content,
    content_from_road,
    expiry,
    inbox_from_road,
    is_link,
    next_id,
    plain_text,
    read_visible_since,
    show_visible_since,
)
from waypost.kernel.errors import Refused
from waypost.kernel.ids import mint_at

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


@example("<<?")
@example("<<script></scripta")
@given(st.text(alphabet="<>/ab script!?=\"'", max_size=200))
def test_plain_text_opens_no_tag(text: str) -> None:
    found = plain_text(text)
    assert not any(f"<{mark}" in found for mark in "abscriptABSCRIPT/!?")
    assert plain_text(found) == found


def test_plain_text_keeps_what_is_text() -> None:
    assert plain_text("5 < 6 and 7 > 3") == "5 < 6 and 7 > 3"
    assert plain_text("one\ntwo\u202e\x00") == "one\ntwo"


@pytest.mark.parametrize("key", ["", "a#b", "*", "$public", "A", "-a", "x" * 65, "a b"])
def test_reserved_characters_and_names_are_refused(key: str) -> None:
    with pytest.raises(Refused):
        check_key(key, "/inbox")


@pytest.mark.parametrize(
    ("own", "topic", "inbox", "days"),
    [
        ("7d", "billing", {"billing": "90d"}, 7),
        (None, "billing", {"billing": "90d", "default": "10d"}, 90),
        (None, "news", {"billing": "90d", "default": "10d"}, 10),
        (None, "", {"billing": "90d"}, 60),
    ],
)
def test_the_nearest_says_how_long_a_message_stays(
    own: str | None, topic: str, inbox: dict[str, str], days: int
) -> None:
    found = expiry(NOW, own=own, topic=topic, inbox=inbox, settings=InboxSettings(ttl="60d"))
    assert found == NOW + timedelta(days=days)


@pytest.mark.parametrize("text", ["0d", "731d", "5", "d", "1w", "-1d", "1d2h", "1" * 12 + "s"])
def test_a_time_to_live_is_a_number_and_a_unit(text: str) -> None:
    with pytest.raises(Refused):
        expiry(NOW, own=text, topic="", inbox={}, settings=InboxSettings())


@pytest.mark.parametrize(
    ("word", "shown"), [("always", "always"), ("joined", "joined"), ("30d", "30d"), ("12h", "12h")]
)
def test_visible_since_is_shown_as_it_was_said(word: str, shown: str) -> None:
    assert show_visible_since(read_visible_since(word, "/x")) == shown


@given(st.lists(st.sampled_from(list(Act)), max_size=12))
def test_the_first_time_of_a_fact_stays_until_it_is_taken_back(acts: list[Act]) -> None:
    facts, first = Facts(), None
    for step, act in enumerate(acts):
        facts = apply(act, facts, NOW + timedelta(seconds=step), NOW + timedelta(days=1))
        if act is Act.UNREAD:
            first = None
        elif act is Act.READ and first is None:
            first = NOW + timedelta(seconds=step)
        assert facts.read_at == first
        assert facts.read_at is None or facts.seen_at is not None


@pytest.mark.parametrize("url", ["https://example.com/a?b=c", "http://x", "/inside/here", "HTTPS://EXAMPLE.COM"])
def test_links_that_are_fine(url: str) -> None:
    assert is_link(url)


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "//evil.example", "/\\evil", "data:text/html,x", "https://a b", "", "x", 'https://a"b'],
)
def test_links_that_are_not(url: str) -> None:
    assert not is_link(url)


def test_everything_that_is_wrong_with_a_message_is_named_at_once() -> None:
    with pytest.raises(Refused) as refused:
        clean_content(PostContent(title="", body="x" * 10_001, cta_url="javascript:x", sender=""))
    assert [error.pointer for error in refused.value.errors] == ["/title", "/body", "/sender", "/cta_url"]


def test_what_comes_by_the_road_is_cut_to_size_and_never_refused() -> None:
    found = content_from_road(
        "<b>" + "x" * 500,
        {
            "body": "y" * 20_000,
            "cta_url": "javascript:x",
            "actions": [
                {"label": "Go", "url": "/go"},
                {"label": "", "url": "/x"},
                {"label": "Bad", "url": "data:x"},
                7,
            ],
            "data": {"a": 1},
        },
    )
    assert (len(found.title), len(found.body), found.cta_url) == (200, 10_000, None)
    assert [action.label for action in found.actions] == ["Go"]
    assert found.data == {"a": 1}


def test_ids_of_posts_for_everyone_only_grow() -> None:
    last = mint_at(NOW)
    earlier = mint_at(NOW - timedelta(hours=1))
    assert next_id(earlier, last) > last
    assert next_id(mint_at(NOW + timedelta(seconds=1)), last) > last
    assert next_id(UUID(int=5), UUID(int=0)) == UUID(int=5)


def test_a_cursor_is_read_as_it_was_written() -> None:
    assert read_cursor(str(Cursor(own=3, public=17))) == Cursor(own=3, public=17)
    for text in ("", "3", "3-", "-1-2", "a-b", "1-2-3"):
        with pytest.raises(Refused):
            read_cursor(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<script>alert(1)</script>Hi <b>Ada</b>", "Hi Ada"),
        ("a<STYLE type='x'>p{}</style >b<Script src=x>1</SCRIPT>c", "abc"),
        ("<script>never closed", "never closed"),
        ("<script>a<script>b</script>c", "c"),
        ("1 < 2 and a <scripted> b", "1 < 2 and a  b"),
    ],
)
def test_scripts_and_styles_go_with_their_words(text: str, left: str) -> None:
    assert plain_text(text) == left


@pytest.mark.parametrize(
    ("said", "inbox"),
    [({"inbox": "billing"}, "billing"), ({}, "main"), ({"inbox": 7}, "main"), ({"inbox": "No such name"}, "main")],
)
def test_a_notification_names_its_inbox_and_goes_to_the_main_one_otherwise(said: Any, inbox: str) -> None:
    assert inbox_from_road(said) == inbox
