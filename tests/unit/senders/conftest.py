"""Accounts to think about."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from waypost.senders.connection import AccountConnection, AccountKind
from waypost.senders.model import Account, AccountState, AccountStatus, Day, Standing

NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)


@pytest.fixture
def account() -> Callable[..., Account]:
    def make(**fields: Any) -> Account:
        return replace(_PLAIN, id=uuid4(), **fields)

    return make


@pytest.fixture
def standing(account: Callable[..., Account]) -> Callable[..., Standing]:
    def make(
        *, reserved: int = 0, sent: int = 0, errors: int = 0, next_at: datetime | None = None, **fields: Any
    ) -> Standing:
        today = Day(day=NOON.date(), reserved=reserved, sent=sent, errors=errors)
        return Standing(account=account(**fields), state=AccountState(next_at=next_at), today=today)

    return make


_PLAIN = Account(
    id=UUID(int=0),
    name="main",
    display_name="",
    from_address="post@acme.example",
    categories=None,
    daily_limit=None,
    batch_size=50,
    delay_ms=0,
    provider_limits={},
    adaptive=False,
    connection=AccountConnection(kind=AccountKind.SMTP, host="mail.acme.example"),
    secret=None,
    secret_is_reference=False,
    status=AccountStatus.ACTIVE,
    status_reason=None,
    status_at=NOON,
    warmup=None,
    version=1,
    created_at=NOON,
    updated_at=NOON,
)
