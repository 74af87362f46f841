"""Which account a message goes out by. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from waypost.kernel.vocabulary import Category
from waypost.senders.capacity import remaining
from waypost.senders.connection import AccountKind
from waypost.senders.health import troubled
from waypost.senders.model import Account, AccountStatus, Standing


class Wish(NamedTuple):
    """What a message says about who sends it."""

    category: Category
    sender: str | None = None
    """The address in its From; None where it names none."""


def rank(standings: Sequence[Standing], wish: Wish) -> list[Standing]:
    """The accounts it may leave by, best first. None at all: it goes the installation's own way.

    An account with the very address that a message is from is the only one, whatever it is for. Otherwise: meant for
    the category; of the sender's domain, or where none is, not Gmail's, which writes over a sender it does not know. Of
    these, who can send now goes first, then who is for this category alone, then least trouble, then most room."""
    named = [one for one in standings if wish.sender is not None and one.account.from_address == wish.sender]
    if named:
        return sorted(named, key=_order)
    meant = [one for one in standings if _is_meant(one.account, wish.category)]
    if wish.sender is not None:
        domain = wish.sender.rpartition("@")[2]
        own = [one for one in meant if one.account.domain == domain]
        meant = own or [one for one in meant if one.account.kind is not AccountKind.GMAIL]
    return sorted(meant, key=_order)


def _is_meant(account: Account, category: Category) -> bool:
    return account.categories is None or category in account.categories


def _order(one: Standing) -> tuple[bool, bool, float, float, str]:
    left = remaining(one.account, one.today)
    able = one.account.status is AccountStatus.ACTIVE and left != 0
    room = float("inf") if left is None else left
    # Trouble counts in steps of a twentieth, so that one bad reply does not move everything elsewhere.
    return not able, one.account.categories is None, troubled(one.today) // 0.05, -room, one.account.id.hex
