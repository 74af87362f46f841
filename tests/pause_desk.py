"""Whoever pauses and resumes in tests: the use cases of pauses, beside what workers do about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.pauses import PgHolds, PgPauseBoard, PgPauses
from waypost.adapters.postgres.pool import PoolOptions
from waypost.delivery.holding import Holding
from waypost.delivery.pause_book import PauseBook
from waypost.delivery.pause_model import Pause, PauseScope
from waypost.delivery.pauses import Pauses
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.tenants.audit import Audit

__all__ = ["Desk", "desk", "make_batch", "scope_of"]


def scope_of(tenant_id: str, key_tenant: str | None = None) -> Scope:
    return Scope(
        tenant_id=tenant_id,
        mode=TenantMode.LIVE,
        key_id=uuid4(),
        key_tenant=key_tenant or tenant_id,
        permissions=frozenset(Permission),
        request_id="req",
    )


@dataclass
class Desk:
    office: Any
    line: Line

    def __post_init__(self) -> None:
        self.pauses = Pauses(
            store=PgPauses(ring=lambda: None),
            audit=Audit(PgAuditStore(), self.office.clock),
            clock=self.office.clock,
        )
        self.holding = Holding(PgHolds(self.line, self.office.clock))
        self.book = PauseBook(board=PgPauseBoard(self.line), clock=self.office.clock)

    async def pause(self, kind: PauseScope, subject: str | None = None, *, scope: Scope | None = None) -> Pause:
        scope = scope or scope_of("acme")
        async with self.office.api_work.begin(scope.tenant_id) as tx:
            return await self.pauses.pause(tx, scope, kind=kind, subject=subject)

    async def resume(self, pause: Pause, *, scope: Scope | None = None, tenant: str | None = None) -> None:
        scope = scope or scope_of("acme")
        async with self.office.api_work.begin(scope.tenant_id) as tx:
            await self.pauses.resume(tx, scope, pause.id, tenant)

    async def held(self) -> int:
        return await self.office.count("queue", "priority >= 8")


@pytest.fixture
async def desk(office: Any) -> Any:
    line = Line(office.worker_dsn, PoolOptions(application_name="pauses", index_plans=True))
    yield Desk(office, line)
    await line.close()


async def make_batch(office: Any, ids: Sequence[UUID], tenant: str = "acme") -> UUID:
    """As expansion leaves it: each message has its place in the batch."""
    batch_id = mint(office.clock)
    await office.admin.execute(
        "insert into dispatch_batches (tenant_id, id, state, audience, message, created_at)"
        " values ($1, $2, 'running', '{}', '', now())",
        tenant,
        batch_id,
    )
    await office.admin.execute(
        "insert into notification_dedupe (tenant_id, dedupe_key, recipient_id, channel, notification_id)"
        " select tenant_id, $3, recipient_id, channel, id from notifications where tenant_id = $1 and id = any ($2)",
        tenant,
        list(ids),
        f"brd:{batch_id.hex}",
    )
    return batch_id
