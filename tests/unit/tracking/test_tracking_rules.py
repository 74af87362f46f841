"""What is noticed, by whose word, and who seems to have asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.tracking import Client, Tracking, pack_number, unpack_number
from waypost.kernel.vocabulary import Category
from waypost.tracking.model import MOST_LINKS
from waypost.tracking.rules import CLICKS, OPENS, client_of, noticed

ON, OFF = Tracking(opens=True, clicks=True), Tracking(opens=False, clicks=False)
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


@pytest.mark.parametrize("category", list(Category))
def test_without_a_word_marketing_is_tracked_and_nothing_else(category: Category) -> None:
    assert noticed(category) == (OPENS | CLICKS if category is Category.MARKETING else 0)


def test_the_nearer_word_counts_and_each_half_on_its_own() -> None:
    transactional, marketing = Category.TRANSACTIONAL, Category.MARKETING
    assert noticed(transactional, call=ON) == OPENS | CLICKS
    assert noticed(marketing, call=OFF, version=ON, tenant=ON) == 0
    assert noticed(transactional, version=ON, tenant=OFF) == OPENS | CLICKS
    assert noticed(marketing, tenant=OFF) == 0
    assert noticed(marketing, call=Tracking(opens=False)) == CLICKS
    assert noticed(transactional, call=Tracking(clicks=True), version=Tracking(opens=True)) == OPENS | CLICKS


def test_a_recipient_s_no_stands_above_all() -> None:
    assert noticed(Category.MARKETING, call=ON, version=ON, tenant=ON, recipient=False) == 0
    assert noticed(Category.TRANSACTIONAL, recipient=True) == 0


@pytest.mark.parametrize(
    ("headers", "client"),
    [
        ({"user-agent": FIREFOX}, Client.BROWSER),
        ({"user-agent": FIREFOX, "sec-purpose": "prefetch;prerender"}, Client.PREFETCH),
        ({"user-agent": FIREFOX, "purpose": "Prefetch"}, Client.PREFETCH),
        ({"user-agent": "Mozilla/5.0"}, Client.PROXY),
        ({"user-agent": "Mozilla/5.0 (via ggpht.com GoogleImageProxy)"}, Client.PROXY),
        ({"user-agent": "YahooMailProxy; https://help.yahoo.com"}, Client.PROXY),
        ({"user-agent": "curl/8.0"}, Client.SCANNER),
        ({"user-agent": "Mozilla/5.0 (compatible; Barracuda Sentinel)"}, Client.SCANNER),
        ({}, Client.UNKNOWN),
    ],
)
def test_who_seems_to_have_asked(headers: dict[str, str], client: Client) -> None:
    assert client_of(headers) is client


@given(st.integers(0, MOST_LINKS), st.sampled_from(Client))
def test_link_and_client_fit_into_a_small_number(link: int, client: Client) -> None:
    number = pack_number(link, client)
    assert 0 <= number <= 32_767
    assert unpack_number(number) == (link, client)
