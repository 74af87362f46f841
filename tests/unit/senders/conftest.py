"""Accounts to think about."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from tests.plain_account import PLAIN_ACCOUNT

from waypost.senders.model import Account, AccountState, Day, Standing

NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)


@pytest.fixture
def account() -> Callable[..., Account]:
    def make(**fields: Any) -> Account:
        return replace(PLAIN_ACCOUNT, id=uuid4(), **fields)

    return make


@pytest.fixture
def standing(account: Callable[..., Account]) -> Callable[..., Standing]:
    def make(
        *, reserved: int = 0, sent: int = 0, errors: int = 0, next_at: datetime | None = None, **fields: Any
    ) -> Standing:
        today = Day(day=NOON.date(), reserved=reserved, sent=sent, errors=errors)
        return Standing(account=account(**fields), state=AccountState(next_at=next_at), today=today)

    return make
