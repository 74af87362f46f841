"""What `explain` is told of room on sender accounts: the rules of dispatch, and nothing taken."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tests.plain_account import PLAIN_ACCOUNT

from waypost.kernel.clock import VirtualClock
from waypost.kernel.vocabulary import Category
from waypost.senders.capacity import Rule
from waypost.senders.forecast import Forecast
from waypost.senders.model import Account, AccountState, AccountStatus, Day, Standing

TX: Any = None


class Book:
    def __init__(self, clock: VirtualClock, **reserved: int) -> None:
        self._accounts = [
            replace(PLAIN_ACCOUNT, id=UUID(int=number), name=name, daily_limit=10)
            for number, name in enumerate(reserved, 1)
        ]
        self._reserved = reserved
        self._clock = clock

    def change(self, name: str, **facts: Any) -> None:
        self._accounts = [replace(one, **facts) if one.name == name else one for one in self._accounts]

    async def live(self, tx: Any) -> Sequence[Account]:
        return self._accounts

    async def standings(self, tx: Any, accounts: Sequence[Account], now: datetime) -> Sequence[Standing]:
        today = self._clock.now().date()
        return [
            Standing(account=one, state=AccountState(), today=Day(day=today, reserved=self._reserved[one.name]))
            for one in accounts
        ]


def forecast(book: Any, clock: VirtualClock) -> Forecast:
    return Forecast(accounts=book, clock=clock)


async def test_who_has_no_account_goes_the_installation_s_way() -> None:
    clock = VirtualClock()
    assert await forecast(Book(clock), clock)(TX, Category.MARKETING, clock.now()) is None


async def test_a_full_day_puts_off_to_the_next_and_another_day_has_room() -> None:
    clock = VirtualClock()
    room = forecast(Book(clock, only=10), clock)
    full = await room(TX, Category.MARKETING, clock.now())
    assert full is not None
    assert full.rule is Rule.LIMIT
    assert full.until == datetime.combine(
        clock.now().date() + timedelta(days=1), datetime.min.time(), clock.now().tzinfo
    )
    assert await room(TX, Category.MARKETING, clock.now() + timedelta(days=1)) is None


async def test_one_account_with_room_is_enough_and_categories_count() -> None:
    clock = VirtualClock()
    book = Book(clock, full=10, free=9)
    room = forecast(book, clock)
    assert await room(TX, Category.MARKETING, clock.now()) is None
    book.change("free", categories=frozenset({Category.SECURITY}))
    full = await room(TX, Category.MARKETING, clock.now())
    assert full is not None
    assert full.account_id == UUID(int=1)
    book.change("free", categories=None, status=AccountStatus.PAUSED)
    assert await room(TX, Category.MARKETING, clock.now()) is not None
