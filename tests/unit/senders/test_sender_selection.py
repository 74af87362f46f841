"""Which account a message leaves by."""

from typing import Any

from waypost.kernel.vocabulary import Category
from waypost.senders.connection import AccountConnection, AccountKind
from waypost.senders.model import AccountStatus
from waypost.senders.providers import provider_of
from waypost.senders.selection import Wish, rank

MARKETING = Wish(Category.MARKETING)
GMAIL = AccountConnection(kind=AccountKind.GMAIL, subject="post@acme.example")


def names(found: Any) -> list[str]:
    return [one.account.name for one in found]


def test_no_account_is_for_it(standing: Any) -> None:
    only = standing(categories=frozenset({Category.SECURITY}))
    assert rank([only], MARKETING) == []
    assert rank([], MARKETING) == []


def test_one_for_this_category_goes_before_one_for_all(standing: Any) -> None:
    own = standing(name="own", categories=frozenset({Category.MARKETING}), daily_limit=10)
    assert names(rank([standing(name="any"), own], MARKETING)) == ["own", "any"]


def test_a_full_or_paused_one_comes_last(standing: Any) -> None:
    full = standing(name="full", categories=frozenset({Category.MARKETING}), daily_limit=5, reserved=5)
    paused = standing(name="paused", categories=frozenset({Category.MARKETING}), status=AccountStatus.PAUSED)
    assert names(rank([full, paused, standing(name="any")], MARKETING))[0] == "any"


def test_most_room_then_least_trouble(standing: Any) -> None:
    roomy = standing(name="roomy", daily_limit=100, reserved=10)
    narrow = standing(name="narrow", daily_limit=100, reserved=90)
    troubled = standing(name="troubled", daily_limit=1_000, reserved=100, sent=90, errors=10)
    assert names(rank([narrow, troubled, roomy], MARKETING)) == ["roomy", "narrow", "troubled"]


def test_the_very_address_is_the_only_one(standing: Any) -> None:
    wish = Wish(Category.MARKETING, "news@acme.example")
    named = standing(name="named", from_address="news@acme.example", categories=frozenset({Category.SYSTEM}))
    paused = standing(name="also", from_address="news@acme.example", status=AccountStatus.PAUSED)
    assert names(rank([standing(name="other"), paused, named], wish)) == ["named", "also"]


def test_the_sender_s_domain_goes_before_others_and_gmail_takes_no_stranger(standing: Any) -> None:
    wish = Wish(Category.MARKETING, "anyone@acme.example")
    here, there = standing(name="here"), standing(name="there", from_address="a@other.example")
    assert names(rank([there, here], wish)) == ["here"]
    assert names(rank([there], wish)) == ["there"]
    assert rank([standing(connection=GMAIL, from_address="a@other.example")], wish) == []
    assert names(rank([standing(name="google", connection=GMAIL)], wish)) == ["google"]


def test_mailboxes_are_known_by_who_runs_them() -> None:
    assert {provider_of(f"a@{domain}") for domain in ("gmail.com", "googlemail.com")} == {"gmail"}
    assert provider_of("a@hotmail.co.uk") == provider_of("live.com") == "microsoft"
    assert provider_of("a@ymail.com") == provider_of("a@yahoo.co.uk") == "yahoo"
    assert provider_of("a@me.com") == "icloud"
    assert provider_of("a@b@acme.example") == "acme.example"
