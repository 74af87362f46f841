"""Choices merge field by field; two people who become one keep the stricter wish; machines are told from people."""

from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.vocabulary import Category, Channel
from waypost.preferences.joining import stricter
from waypost.preferences.link_subject import LinkSubject, unpack
from waypost.preferences.model import ChannelChoice, Policy
from waypost.preferences.rules import ChannelWish, TopicFacts, merge_choice, objection, read_time
from waypost.preferences.scanner import is_machine

KEYS = ["news", "offers", "billing"]
choices = st.builds(
    ChannelChoice,
    enabled=st.none() | st.booleans(),
    categories=st.dictionaries(st.sampled_from(Category), st.booleans()),
    topics=st.dictionaries(st.sampled_from(KEYS), st.booleans()),
)
BROWSER = {
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "accept": "text/html,application/xhtml+xml",
    "accept-language": "de-AT,de;q=0.9",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
}


@given(choices)
def test_saying_nothing_keeps_everything_and_null_removes_it(choice: ChannelChoice) -> None:
    assert merge_choice(choice, ChannelWish()) == choice
    assert merge_choice(choice, None).is_blank
    assert merge_choice(choice, ChannelWish(enabled=None, categories=None, topics=None)).is_blank


@given(choices, st.sampled_from(KEYS), st.none() | st.booleans())
def test_one_topic_changes_and_the_rest_stays(choice: ChannelChoice, key: str, on: bool | None) -> None:
    merged = merge_choice(choice, ChannelWish(topics={key: on}))
    assert merged.topics.get(key) is on
    assert {name: value for name, value in merged.topics.items() if name != key} == {
        name: value for name, value in choice.topics.items() if name != key
    }
    assert (merged.enabled, merged.categories) == (choice.enabled, choice.categories)


@given(choices, choices, st.sampled_from(Category), st.none() | st.sampled_from(KEYS))
def test_what_either_had_turned_off_stays_off(
    one: ChannelChoice, other: ChannelChoice, category: Category, key: str | None
) -> None:
    topic = key and TopicFacts(key=key, mandatory=False, on_by_default=True)
    both = stricter(one, other)
    assert stricter(other, one) == both
    for choice in (one, other):
        if choice.enabled is False:
            assert both.enabled is False
        assert all(not both.topics[name] for name, on in choice.topics.items() if not on)
    can_be_turned_off = objection(Policy(), Channel.EMAIL, category, None, ChannelChoice(categories={category: False}))
    if can_be_turned_off and objection(Policy(), Channel.EMAIL, category, topic or None, both) is None:
        assert both.topics.get(key or "", True)


def test_a_link_names_person_channel_topic_and_address() -> None:
    subject = LinkSubject(recipient_id=uuid4(), channel=Channel.EMAIL, topic="news", address_id=uuid4(), n=7)
    assert unpack(subject.pack()) == subject
    assert unpack(LinkSubject(recipient_id=subject.recipient_id, channel=Channel.SMS).pack()) is not None


@given(st.binary(max_size=160))
def test_any_subject_may_be_read(raw: bytes) -> None:
    found = unpack(raw)
    assert found is None or found.pack() == raw


def test_times_have_one_spelling() -> None:
    assert read_time("22:00") == 1320
    assert [read_time(text) for text in ("24:00", "7:00", "07:60", "07:00:00", "", "٠٧:٠٠")] == [None] * 6


def test_a_browser_is_a_person_and_the_rest_are_not() -> None:
    assert not is_machine(BROWSER)
    for change in (
        {"user-agent": "curl/8.5.0"},
        {"user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"},
        {"user-agent": "Mozilla/5.0 BarracudaCentral scanner"},
        {"user-agent": ""},
        {"sec-purpose": "prefetch;prerender"},
        {"purpose": "prefetch"},
        {"accept": "*/*"},
        {"sec-fetch-mode": "no-cors"},
    ):
        assert is_machine({**BROWSER, **change}), change
    assert is_machine({name: value for name, value in BROWSER.items() if name != "accept-language"})
