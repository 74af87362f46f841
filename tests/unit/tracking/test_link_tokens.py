"""What a click's address carries: signed, in one spelling, good for one tenant and version, and large enough."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.vault.keyring import OpenTenantKey
from waypost.kernel import tokens
from waypost.kernel.tokens import Purpose, Stamp, Token
from waypost.tracking.link_token import LONGEST_TOKEN, link_key_of, read_link, write_link
from waypost.tracking.model import MOST_LINKS
from waypost.tracking.targets import LONGEST

KEY = OpenTenantKey(b"a" * 32)
OTHER = OpenTenantKey(b"b" * 32)
VERSION = UUID(int=7)
URL = "https://shop.example.com/a?x=1&y=2#part"


def written(url: str = URL, link: int = 3, version: UUID = VERSION, *, is_personal: bool = False) -> str:
    return write_link(link_key_of(KEY, version), version.bytes, link, url, is_personal=is_personal)


@pytest.mark.parametrize("is_personal", [True, False])
@pytest.mark.parametrize("link", [1, MOST_LINKS])
def test_a_link_says_what_was_signed(link: int, is_personal: bool) -> None:
    claim = read_link(written(link=link, is_personal=is_personal))
    assert claim is not None
    assert (claim.version_id, claim.link, claim.is_personal, claim.url) == (VERSION, link, is_personal, URL)
    assert claim.is_genuine(link_key_of(KEY, VERSION))


def test_the_key_of_another_tenant_or_version_proves_nothing() -> None:
    claim = read_link(written())
    assert claim is not None
    assert not claim.is_genuine(link_key_of(OTHER, VERSION))
    assert not claim.is_genuine(link_key_of(KEY, uuid4()))


def test_an_address_of_two_thousand_characters_fits() -> None:
    url = "https://shop.example.com/" + "x" * (LONGEST - 25)
    assert len(url) == LONGEST >= 2_000
    text = written(url)
    assert len(text) <= LONGEST_TOKEN
    claim = read_link(text)
    assert claim is not None
    assert claim.url == url


@given(st.data())
def test_no_letter_can_be_altered(data: st.DataObject) -> None:
    text = written()
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"))
    altered = text[:place] + letter + text[place + 1 :]
    claim = read_link(altered)
    assert altered == text or claim is None or not claim.is_genuine(link_key_of(KEY, claim.version_id))


@given(st.text(max_size=200))
def test_whatever_else_it_is_it_is_no_link(text: str) -> None:
    claim = read_link(text)
    assert claim is None or not claim.is_genuine(link_key_of(KEY, claim.version_id))


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "https://user@evil.example/",
        "https://good.example\r\nSet-Cookie: a=b",
        "https://good.example\\@evil.example/",
        "//evil.example/",
        "ftp://evil.example/",
        "https://",
        "",
    ],
)
def test_what_may_not_be_followed_is_no_link_however_well_it_is_signed(url: str) -> None:
    assert read_link(written(url)) is None


def test_a_stamp_writes_what_a_token_is() -> None:
    notification = uuid4().bytes
    for purpose in (Purpose.MESSAGE, Purpose.UNSUBSCRIBE):
        stamped = Stamp(purpose, "acme", KEY)(notification)
        assert stamped == tokens.write(Token(purpose=purpose, tenant_id="acme", subject=notification), KEY)
        claim = tokens.read(stamped)
        assert claim is not None
        assert claim.is_genuine(KEY)
        assert not claim.is_genuine(OTHER)
