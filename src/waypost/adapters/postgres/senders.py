"""Sender accounts in PostgreSQL."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.sender_rows import (
    account_of,
    connection_json,
    day_of,
    limits_json,
    pace_of,
    schedule_json,
    state_of,
)
from waypost.adapters.postgres.work import PgTransaction, PgWork, connection_of
from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint
from waypost.kernel.work import Transaction
from waypost.senders.model import Account, AccountState, AccountStatus, Day, Pace, Standing, StatusReason, WarmUp
from waypost.senders.ports import Changed

_SQL: Final = load("senders")
_AFTER_ALL: Final = UUID(int=2**128 - 1)
_SHOWN: Final = timedelta(days=2)
_CALLED_AT_ONCE: Final = 5_000


class PgSenderAccounts:
    """Implements `senders.ports.AccountStore`."""

    async def add(self, tx: Transaction, account: Account) -> bool:
        done = await connection_of(tx).execute(
            _SQL["add"],
            tx.tenant_id,
            account.id,
            *_configured(account)[:13],
            account.status.value,
            account.status_reason,
            account.status_at,
            *_configured(account)[13:],
            account.version,
            account.created_at,
            account.updated_at,
        )
        return done.endswith(" 1")

    async def change(self, tx: Transaction, account: Account) -> bool:
        connection = connection_of(tx)
        if await connection.fetchval(_SQL["named"], tx.tenant_id, account.name, account.id):
            return False
        await connection.execute(
            _SQL["change"], tx.tenant_id, account.id, *_configured(account), account.version, account.updated_at
        )
        return True

    async def set_status(
        self, tx: Transaction, account_id: UUID, status: AccountStatus, reason: StatusReason | None, at: datetime
    ) -> bool:
        found = await connection_of(tx).fetchval(
            _SQL["set_status"], tx.tenant_id, account_id, status.value, None if reason is None else reason.value, at
        )
        return found is not None

    async def count(self, tx: Transaction) -> int:
        connection = connection_of(tx)
        await connection.execute(_SQL["lock_adding"], tx.tenant_id)
        return await connection.fetchval(_SQL["count"], tx.tenant_id)

    async def find(self, tx: Transaction, account_id: UUID, *, for_change: bool = False) -> Account | None:
        if for_change:
            await connection_of(tx).execute(_SQL["lock_states"], tx.tenant_id)
        statement = _SQL["find_for_change"] if for_change else _SQL["find"]
        row = await connection_of(tx).fetchrow(statement, tx.tenant_id, account_id)
        return None if row is None else account_of(row)

    async def by_ids(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, Account]:
        rows = await connection_of(tx).fetch(_SQL["by_ids"], tx.tenant_id, list(ids))
        return {row["id"]: account_of(row) for row in rows}

    async def page(self, tx: Transaction, before: UUID | None, limit: int, *, archived: bool) -> Sequence[Account]:
        rows = await connection_of(tx).fetch(_SQL["page"], tx.tenant_id, before or _AFTER_ALL, limit, archived)
        return [account_of(row) for row in rows]

    async def live(self, tx: Transaction) -> Sequence[Account]:
        return [account_of(row) for row in await connection_of(tx).fetch(_SQL["live"], tx.tenant_id)]

    async def standings(self, tx: Transaction, accounts: Sequence[Account], now: datetime) -> Sequence[Standing]:
        ids = [account.id for account in accounts]
        rows = await connection_of(tx).fetch(_SQL["all_paces"], tx.tenant_id, ids, now - _SHOWN)
        return await standings_of(tx, accounts, now.date(), rows)

    async def standings_for(
        self, tx: Transaction, ids: Sequence[UUID], today: date, providers: Sequence[str]
    ) -> Sequence[Standing]:
        """With the paces of these providers only; archived accounts are left out."""
        accounts = [one for one in (await self.by_ids(tx, ids)).values() if one.status is not AccountStatus.ARCHIVED]
        rows = await connection_of(tx).fetch(_SQL["paces"], tx.tenant_id, list(ids), list(providers))
        return await standings_of(tx, accounts, today, rows)

    async def move_stage(self, tx: Transaction, account_id: UUID, warmup: WarmUp) -> None:
        await connection_of(tx).execute(
            _SQL["move_stage"], tx.tenant_id, account_id, warmup.stage, list(warmup.started_on), warmup.finished_on
        )

    async def days(self, tx: Transaction, account_id: UUID, since: date) -> Sequence[Day]:
        rows = await connection_of(tx).fetch(_SQL["days"], tx.tenant_id, account_id, since)
        return [day_of(row, row["day"]) for row in rows]

    async def start_afresh(self, tx: Transaction, account_id: UUID) -> None:
        await connection_of(tx).execute(_SQL["start_afresh"], tx.tenant_id, account_id)

    async def forget_paces(self, tx: Transaction, account_id: UUID) -> None:
        await connection_of(tx).execute(_SQL["forget_paces"], tx.tenant_id, account_id)


class PgWaitingMail:
    """Implements `senders.ports.WaitingMail`. `ring` tells the workers, once it is committed."""

    def __init__(self, *, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring

    async def call_up(self, tx: Transaction, account_id: UUID) -> None:
        connection = connection_of(tx)
        done = await connection.execute(_SQL["waiting_is_called"], tx.tenant_id, account_id.hex)
        if done.endswith(" 0"):
            await connection.execute(_SQL["call_waiting"], tx.tenant_id, mint(self._clock), account_id.hex)
        await connection.execute(_SQL["call_first"], account_id, _CALLED_AT_ONCE)
        if isinstance(tx, PgTransaction):
            tx.after_commit(self._ring)


class PgSenderBoard:
    """Implements `senders.ports.SenderBoard`."""

    def __init__(self, work: PgWork) -> None:
        self._work = work

    async def changed_since(self, moment: datetime | None) -> Sequence[Changed]:
        async with self._work.begin_unscoped() as tx:
            rows = await connection_of(tx).fetch(_SQL["changed_since"], moment)
        return [Changed(row["tenant_id"], row["changed_at"], row["lately"]) for row in rows]


async def standings_of(
    tx: Transaction, accounts: Sequence[Account], today: date, pace_rows: Sequence[Record]
) -> Sequence[Standing]:
    """In the order of the accounts."""
    ids = [account.id for account in accounts]
    states: dict[UUID, tuple[AccountState, Day]] = {
        row["account_id"]: (state_of(row), day_of(row, today))
        for row in await connection_of(tx).fetch(_SQL["states"], tx.tenant_id, ids, today)
    }
    paces: dict[UUID, list[Pace]] = {}
    for row in pace_rows:
        paces.setdefault(row["account_id"], []).append(pace_of(row))
    return [
        Standing(
            account=account,
            state=states[account.id][0],
            today=states[account.id][1],
            paces=tuple(paces.get(account.id, ())),
        )
        for account in accounts
        if account.id in states
    ]


def _configured(account: Account) -> tuple[object, ...]:
    warmup = account.warmup
    return (
        account.kind.value,
        account.name,
        account.display_name,
        account.from_address,
        None if account.categories is None else sorted(account.categories),
        account.daily_limit,
        account.batch_size,
        account.delay_ms,
        limits_json(account.provider_limits),
        account.adaptive,
        connection_json(account.connection),
        account.secret,
        account.secret_is_reference,
        None if warmup is None else schedule_json(warmup.schedule),
        None if warmup is None else warmup.stage,
        [] if warmup is None else list(warmup.started_on),
        None if warmup is None else warmup.finished_on,
    )
