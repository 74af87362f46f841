"""Sender accounts on a real database, and workers that ask for room on them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from tests.plain_account import PLAIN_ACCOUNT

from waypost.adapters.postgres.sender_capacity import PgSenderCapacity
from waypost.adapters.postgres.senders import PgSenderAccounts, PgSenderBoard
from waypost.adapters.postgres.work import PgWork
from waypost.kernel.clock import VirtualClock
from waypost.kernel.ids import mint
from waypost.kernel.vocabulary import Category
from waypost.senders.desk import Asking, Assigned, Desk, PutOff
from waypost.senders.model import Account
from waypost.senders.selection import Wish

NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)


@dataclass
class House:
    api_work: PgWork
    worker_work: PgWork
    admin: asyncpg.Connection
    clock: VirtualClock
    accounts: PgSenderAccounts = field(default_factory=PgSenderAccounts)
    capacity: PgSenderCapacity = field(default_factory=PgSenderCapacity)

    async def account(self, name: str = "main", *, tenant: str = "acme", **fields: Any) -> Account:
        account = replace(PLAIN_ACCOUNT, id=mint(self.clock), name=name, **fields)
        async with self.api_work.begin(tenant) as tx:
            assert await self.accounts.add(tx, account)
        return account

    def desk(self) -> Desk:
        return Desk(
            work=self.worker_work,
            accounts=self.accounts,
            capacity=self.capacity,
            board=PgSenderBoard(self.worker_work),
            clock=self.clock,
        )

    def asking(self, count: int, *, provider: str = "gmail", sender: str | None = None) -> list[Asking]:
        wish = Wish(Category.TRANSACTIONAL, sender)
        return [Asking(id=mint(self.clock), wish=wish, provider=provider) for _ in range(count)]

    async def ask(
        self, desk: Desk, count: int, *, tenant: str = "acme", batch: UUID | None = None, **options: Any
    ) -> tuple[UUID, list[UUID], list[PutOff]]:
        """The batch, what goes, and what waits."""
        assert await desk.tenants_with_accounts({tenant, "nobody"}) == {tenant}
        batch_id, asking = batch or mint(self.clock), self.asking(count, **options)
        answers = await desk.assign(tenant, batch_id, asking)
        going = [one for one, answer in answers.items() if isinstance(answer, Assigned)]
        return batch_id, sorted(going), [answer for answer in answers.values() if isinstance(answer, PutOff)]

    async def settle(self, batch_id: UUID, tallies: dict[UUID, int], tenant: str = "acme") -> None:
        ids = sorted(tallies)
        async with self.worker_work.begin(tenant) as tx:
            await tx.connection.execute(
                "select waypost.settle_capacity($1, $2, $3)", batch_id, ids, [tallies[one] for one in ids]
            )

    async def today(self, account: Account) -> dict[str, int]:
        row = await self.admin.fetchrow(
            "select reserved, sent, bounced, errors, deferred from sender_days where account_id = $1 and day = $2",
            account.id,
            self.clock.now().date(),
        )
        return {} if row is None else dict(row)


@pytest.fixture
async def house(
    api_work: PgWork,
    worker_work: PgWork,
    admin: asyncpg.Connection,
    make_tenant: Callable[..., Awaitable[str]],
    clock: VirtualClock,
) -> House:
    await make_tenant("acme")
    return House(api_work, worker_work, admin, clock)
