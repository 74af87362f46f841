"""A sender account as most tests want it; they replace what they are about."""

from datetime import UTC, datetime
from uuid import UUID

from waypost.senders.connection import AccountConnection, AccountKind
from waypost.senders.model import Account, AccountStatus

_NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)

PLAIN_ACCOUNT = Account(
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
    status_at=_NOON,
    warmup=None,
    version=1,
    created_at=_NOON,
    updated_at=_NOON,
)
