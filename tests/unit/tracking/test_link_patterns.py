"""Links that differ by words: a pattern and words that fit it lead where the pattern says, and nothing else does."""

import hmac
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.vault.keyring import OpenTenantKey
from waypost.kernel.spelling import spell
from waypost.tracking.link_pattern import LONGEST_WORD, MOST_WORDS, WordPen, is_pattern, set_of
from waypost.tracking.link_token import LinkClaim, LinkPen, link_key_of, read_link
from waypost.tracking.model import MOST_LINKS
from waypost.tracking.targets import LONGEST, is_target

KEY, OTHER = OpenTenantKey(b"a" * 32), OpenTenantKey(b"b" * 32)
VERSION = UUID(int=7)
NAMES = ("reader", "order.id")
PATTERN = "https://shop.example.com/o/{1}?reader={0}&again={0}"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
WORDS = st.text(alphabet=LETTERS, min_size=1, max_size=LONGEST_WORD)


def pattern(text: str = PATTERN, link: int = 3, version: UUID = VERSION, names: tuple[str, ...] = NAMES) -> str:
    return LinkPen(link_key_of(KEY, version), version.bytes).write_pattern(link, text, set_of(names))


def words(*said: str, names: tuple[str, ...] = NAMES, version: UUID = VERSION, key: OpenTenantKey = KEY) -> str:
    return WordPen(link_key_of(key, version), set_of(names)).write(said)


def genuine(claim: LinkClaim | None) -> bool:
    return claim is not None and claim.is_genuine(link_key_of(KEY, claim.version_id))


@given(WORDS, WORDS, st.sampled_from([1, MOST_LINKS]))
def test_a_pattern_with_its_words_leads_where_both_say(one: str, two: str, link: int) -> None:
    claim = read_link(f"{pattern(link=link)}.{words(one, two)}")
    assert claim is not None
    assert genuine(claim)
    assert (claim.version_id, claim.link, claim.is_personal) == (VERSION, link, True)
    assert claim.url == f"https://shop.example.com/o/{two}?reader={one}&again={one}"
    assert is_target(claim.url)


def test_words_that_were_sent_out_signed_in_the_old_way_lead_on() -> None:
    link_key, of_set = link_key_of(KEY, VERSION), set_of(NAMES)
    old_key = hmac.digest(link_key, b"words" + of_set, "sha256")
    old = spell(hmac.digest(old_key, b"r17,4711", "sha256")[:16] + b"r17,4711")
    assert genuine(read_link(f"{pattern()}.{old}"))
    forged = spell(hmac.digest(link_key, b"r17,4711", "sha256")[:16] + b"r17,4711")
    assert not genuine(read_link(f"{pattern()}.{forged}"))


@pytest.mark.parametrize(
    "foreign",
    [
        words("x", "y", names=("reader", "name")),
        words("x", "y", names=("order.id", "reader")),
        words("x", "y", version=uuid4()),
        words("x", "y", key=OTHER),
    ],
    ids=["another set", "another order", "another version", "another tenant"],
)
def test_words_of_anything_else_do_not_fit(foreign: str) -> None:
    assert not genuine(read_link(f"{pattern()}.{foreign}"))


@given(st.data())
def test_no_letter_can_be_altered(data: st.DataObject) -> None:
    text = f"{pattern()}.{words('r17', '4711')}"
    place = data.draw(st.integers(0, len(text) - 1))
    altered = text[:place] + data.draw(st.sampled_from(LETTERS + ".")) + text[place + 1 :]
    assert altered == text or not genuine(read_link(altered))


def test_neither_half_is_anything_alone_and_a_plain_link_takes_no_words() -> None:
    plain = LinkPen(link_key_of(KEY, VERSION), VERSION.bytes).write(3, "https://a.example/", is_personal=True)
    for text in (pattern(), f"{pattern()}.", words("x", "y"), f"{plain}.{words('x', 'y')}", f"{plain}."):
        assert read_link(text) is None
    assert genuine(read_link(plain))


def test_words_that_are_wanting_or_none_at_all_lead_nowhere() -> None:
    assert read_link(f"{pattern()}.{words('x')}") is None
    for odd in ("", "a b", "a/b", "x" * (LONGEST_WORD + 1), "..", "%2e"):
        assert read_link(f"{pattern()}.{words(odd, 'y')}") is None
    assert read_link(f"{pattern()}.{words(*['x'] * (MOST_WORDS + 1))}") is None


@pytest.mark.parametrize(
    "text",
    [
        "{0}",
        "https://{0}/",
        "https://{0}.example.com/",
        "https://shop.example.com{0}",
        "https://shop.example.com",
        "https://shop.example.com/",
        "//shop.example.com/{0}",
        "javascript:alert({0})",
        "https://shop.example.com/" + "x" * LONGEST + "{0}",
    ],
)
def test_no_word_decides_the_host(text: str) -> None:
    assert not is_pattern(text)
    assert read_link(f"{pattern(text)}.{words('evil', 'y')}") is None
