"""Everything about senders that a surface calls."""

from dataclasses import dataclass

from waypost.senders.accounts import Accounts
from waypost.senders.ways import Ways


@dataclass(frozen=True, kw_only=True, slots=True)
class Senders:
    accounts: Accounts
    ways: Ways
