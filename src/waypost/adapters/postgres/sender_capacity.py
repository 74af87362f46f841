"""What sender accounts have left, counted in PostgreSQL."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.senders import PgSenderAccounts
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.work import Transaction
from waypost.senders.capacity import Handout
from waypost.senders.model import AccountState, Pace, Standing
from waypost.senders.warmup import limit_of

_SQL: Final = load("sender_capacity")


class PgSenderCapacity:
    """Implements `senders.ports.CapacityStore`."""

    def __init__(self) -> None:
        self._accounts = PgSenderAccounts()

    async def hold(self, tx: Transaction, account_ids: Sequence[UUID], today: date) -> None:
        await connection_of(tx).execute(_SQL["hold"], tx.tenant_id, list(account_ids), today)

    async def held_standings(
        self, tx: Transaction, account_ids: Sequence[UUID], today: date, providers: Sequence[str]
    ) -> Sequence[Standing]:
        return await self._accounts.standings_for(tx, account_ids, today, providers)

    async def reserve(
        self, tx: Transaction, batch_id: UUID, today: date, handouts: Sequence[Handout], now: datetime
    ) -> None:
        connection = connection_of(tx)
        going = [handout for handout in handouts if handout.going]
        if going:
            counted = await connection.fetch(
                _SQL["reserve"],
                tx.tenant_id,
                today,
                [handout.account.id for handout in going],
                [len(handout.going) for handout in going],
                [limit_of(handout.account) for handout in going],
            )
            if len(counted) != len(going):
                raise RuntimeError("A limit would be passed, although its account is held.")
        for handout in handouts:
            await self._save(tx, batch_id, today, handout, now)

    async def _save(self, tx: Transaction, batch_id: UUID, today: date, handout: Handout, now: datetime) -> None:
        connection, account = connection_of(tx), handout.account
        if handout.going:
            await connection.execute(_SQL["note_reservation"], tx.tenant_id, batch_id, account.id, today, handout.going)
        if handout.state != handout.before.state:
            await self.save_state(tx, account.id, handout.state)
        known = {pace.provider: pace for pace in handout.before.paces}
        changed = [pace for provider, pace in handout.paces.items() if known.get(provider) != pace]
        if changed:
            await self.save_paces(tx, account.id, changed, now)
        if handout.before.today.is_new:
            await connection.execute(_SQL["sweep"], tx.tenant_id, account.id, today)
        if handout.stage_changed and account.warmup is not None:
            await self._accounts.move_stage(tx, account.id, account.warmup)

    async def save_state(self, tx: Transaction, account_id: UUID, state: AccountState) -> None:
        await connection_of(tx).execute(
            _SQL["save_state"], tx.tenant_id, account_id, state.next_at, state.plan_at, state.plan_day, state.planned
        )

    async def save_paces(self, tx: Transaction, account_id: UUID, paces: Sequence[Pace], now: datetime) -> None:
        await connection_of(tx).execute(
            _SQL["save_paces"],
            tx.tenant_id,
            account_id,
            [pace.provider for pace in paces],
            [pace.hour for pace in paces],
            [pace.taken for pace in paces],
            [pace.taken_before for pace in paces],
            [pace.rate for pace in paces],
            [pace.ceiling for pace in paces],
            [pace.next_at for pace in paces],
            [pace.plan_at for pace in paces],
            [pace.slowed_at for pace in paces],
            now,
        )
