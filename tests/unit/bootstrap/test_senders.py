"""What a sandbox tenant sends never leaves by the real server, whatever is configured."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from waypost.adapters.vendors.smtp.sender import SmtpSender
from waypost.bootstrap.identity import identity_of
from waypost.bootstrap.senders import NoMailbox, TenantSenders
from waypost.channels.model import Outcome, OutcomeKind, OutgoingEmail
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.settings import load
from waypost.tenants.model import Tenant, TenantStatus

AT = datetime(2026, 1, 15, tzinfo=UTC)


class FakeWork:
    @asynccontextmanager
    async def begin(self, tenant_id: str) -> AsyncIterator[Transaction]:
        yield Transaction(tenant_id)


class FakeTenants:
    def __init__(self) -> None:
        self.asked = 0

    async def find(self, tx: Transaction, tenant_id: str, *, for_change: bool = False) -> Tenant:
        self.asked += 1
        mode = TenantMode.LIVE if tenant_id.startswith("live") else TenantMode.SANDBOX
        return Tenant(
            id=tenant_id, name="x", mode=mode, status=TenantStatus.ACTIVE, version=1, created_at=AT, updated_at=AT
        )


def senders(**environment: str) -> tuple[TenantSenders, FakeTenants]:
    settings, tenants = load({f"WAYPOST_{name}": value for name, value in environment.items()}), FakeTenants()
    made = TenantSenders(settings=settings, identity=identity_of(settings), work=FakeWork(), tenants=tenants)  # type: ignore[arg-type]
    return made, tenants


async def test_sandbox_goes_to_the_catch_all_and_live_to_the_server() -> None:
    made, tenants = senders(SMTP_URL="smtp://mail.example.com:25", CATCHALL_PORT="2525")
    sandbox, live = await made.email("sandbox-1"), await made.email("live-1")
    assert sandbox is not live
    assert await made.email("sandbox-2") is sandbox
    assert await made.email("live-2") is live
    assert tenants.asked == 4
    assert await made.email("live-1") is live
    assert tenants.asked == 4
    await made.close()


async def test_without_a_server_even_live_mail_stays_in_the_catch_all() -> None:
    made, _ = senders(CATCHALL_PORT="2525")
    assert await made.email("live-1") is await made.email("sandbox-1")
    assert isinstance(await made.email("live-1"), SmtpSender)
    await made.close()


@pytest.mark.parametrize("environment", [{}, {"SMTP_URL": "smtp://mail.example.com:25"}])
async def test_without_a_catch_all_sandbox_mail_goes_nowhere(environment: dict[str, str]) -> None:
    made, _ = senders(**environment)
    sandbox = await made.email("sandbox-1")
    assert isinstance(sandbox, NoMailbox)
    told: list[tuple[int, Outcome]] = []

    class Wire:
        def going(self, index: int) -> None:
            raise AssertionError("nothing goes anywhere")

        def answered(self, index: int, outcome: Outcome) -> None:
            told.append((index, outcome))

    message = OutgoingEmail(envelope_from="a@example.com", envelope_to=("b@example.com",), data=b"x")
    outcomes = await sandbox.send([message, message], Wire())
    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.REJECTED] * 2
    assert [index for index, _ in told] == [0, 1]
    await made.close()
