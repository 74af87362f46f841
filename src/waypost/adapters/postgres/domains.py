"""Domains and their keys in PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.adapters.postgres.connection import Record
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.work import PgWork, connection_of
from waypost.domains.model import (
    Algorithm,
    Check,
    DkimKey,
    Domain,
    DomainState,
    HeldDomain,
    KeyState,
    Purpose,
    SigningKey,
    Standing,
)
from waypost.kernel.errors import NotFound
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction

_SQL: Final = load("domains")
_AFTER_ALL: Final = UUID(int=2**128 - 1)
_read_checks: Final = msgspec.json.Decoder(tuple[Check, ...]).decode


class PgDomains:
    """Implements `domains.ports.DomainStore` and `domains.ports.StandingStore`."""

    async def add(self, tx: Transaction, domain: Domain) -> bool:
        added = await connection_of(tx).fetchval(
            _SQL["add"],
            tx.tenant_id,
            domain.id,
            domain.name,
            sorted(domain.purposes),
            domain.state.value,
            domain.proof,
            _spell_checks(domain),
            domain.failures,
            domain.overlap_days,
            domain.checked_at,
            domain.verified_at,
            domain.failing_since,
            domain.next_check_at,
            domain.version,
            domain.created_at,
            domain.updated_at,
        )
        if added is None:
            return False
        await self._add_keys(tx, domain.id, domain.keys)
        return True

    async def find(self, tx: Transaction, domain_id: UUID, *, for_change: bool = False) -> Domain | None:
        row = await connection_of(tx).fetchrow(
            _SQL["find_for_change" if for_change else "find"], tx.tenant_id, domain_id
        )
        return None if row is None else (await self._with_keys(tx, [row]))[0]

    async def by_ids(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, Domain]:
        rows = await connection_of(tx).fetch(_SQL["by_ids"], tx.tenant_id, list(ids))
        return {row["id"]: _domain(row, ()) for row in rows}

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[Domain]:
        rows = await connection_of(tx).fetch(_SQL["page"], tx.tenant_id, before or _AFTER_ALL, limit)
        return await self._with_keys(tx, rows)

    async def count(self, tx: Transaction) -> int:
        connection = connection_of(tx)
        await connection.execute(_SQL["lock_adding"], tx.tenant_id)
        return await connection.fetchval(_SQL["count"], tx.tenant_id)

    async def change(self, tx: Transaction, domain: Domain) -> None:
        connection = connection_of(tx)
        await connection.execute(
            _SQL["change"],
            tx.tenant_id,
            domain.id,
            domain.state.value,
            _spell_checks(domain),
            domain.failures,
            domain.overlap_days,
            domain.checked_at,
            domain.verified_at,
            domain.failing_since,
            domain.next_check_at,
            domain.version,
            domain.updated_at,
        )
        stored = {row["id"] for row in await connection.fetch(_SQL["keys"], tx.tenant_id, [domain.id])}
        await self._add_keys(tx, domain.id, [key for key in domain.keys if key.id not in stored])
        known = [key for key in domain.keys if key.id in stored]
        if known:
            await connection.execute(
                _SQL["turn_keys"],
                tx.tenant_id,
                domain.id,
                [key.id for key in known],
                [key.state.value for key in known],
                [key.found for key in known],
                [key.active_at for key in known],
                [key.retired_until for key in known],
            )
        if stored - {key.id for key in domain.keys}:
            await connection.execute(_SQL["drop_keys"], tx.tenant_id, domain.id, [key.id for key in domain.keys])

    async def remove(self, tx: Transaction, domain_id: UUID) -> None:
        await connection_of(tx).execute(_SQL["remove"], tx.tenant_id, domain_id)

    async def hold_name(self, tx: Transaction, name: str) -> bool:
        connection = connection_of(tx)
        # Two statements: the second sees what whoever held the lock before has committed.
        await connection.execute(_SQL["lock_name"], name)
        return await connection.fetchval(_SQL["is_taken"], name)

    async def postpone(self, tx: Transaction, domain_id: UUID, now: datetime, until: datetime) -> bool:
        taken = await connection_of(tx).fetchval(_SQL["postpone"], tx.tenant_id, domain_id, now, until)
        return taken is not None

    async def standing(self, tx: Transaction, *, with_keys: bool = False) -> Standing:
        connection = connection_of(tx)
        rows = await connection.fetch(_SQL["standing"], tx.tenant_id)
        if not rows:
            raise NotFound("There is no such tenant.")
        held = [row for row in rows if row["name"] is not None]
        keys: dict[str, list[SigningKey]] = {}
        if with_keys and held:
            for row in await connection.fetch(_SQL["signing_keys"], tx.tenant_id):
                key = SigningKey(
                    id=row["id"],
                    algorithm=Algorithm(row["algorithm"]),
                    selector=row["selector"],
                    private_key=row["private_key"],
                )
                keys.setdefault(row["name"], []).append(key)
        return Standing(
            mode=TenantMode(rows[0]["mode"]),
            domains=tuple(
                HeldDomain(
                    name=row["name"],
                    purposes=frozenset(Purpose(word) for word in row["purposes"]),
                    keys=tuple(keys.get(row["name"], ())),
                )
                for row in held
            ),
        )

    async def _add_keys(self, tx: Transaction, domain_id: UUID, keys: Sequence[DkimKey]) -> None:
        if keys:
            await connection_of(tx).execute(
                _SQL["add_keys"],
                tx.tenant_id,
                domain_id,
                [key.id for key in keys],
                [key.algorithm.value for key in keys],
                [key.selector for key in keys],
                [key.public_key for key in keys],
                [key.private_key for key in keys],
                [key.state.value for key in keys],
                [key.found for key in keys],
                [key.created_at for key in keys],
                [key.active_at for key in keys],
                [key.retired_until for key in keys],
            )

    async def _with_keys(self, tx: Transaction, rows: Sequence[Record]) -> list[Domain]:
        keys: dict[UUID, list[DkimKey]] = {}
        if rows:
            found = await connection_of(tx).fetch(_SQL["keys"], tx.tenant_id, [row["id"] for row in rows])
            for row in found:
                keys.setdefault(row["domain_id"], []).append(_key(row))
        return [_domain(row, keys.get(row["id"], ())) for row in rows]


class PgDueDomains:
    """Implements `domains.ports.DueDomains`."""

    def __init__(self, work: PgWork) -> None:
        self._work = work

    async def due(self, now: datetime, at_most: int) -> Sequence[tuple[str, UUID]]:
        async with self._work.begin_unscoped() as tx:
            rows = await connection_of(tx).fetch(_SQL["due"], now, at_most)
        return [(row["tenant_id"], row["id"]) for row in rows]


def _spell_checks(domain: Domain) -> str:
    return msgspec.json.encode(domain.checks).decode()


def _domain(row: Record, keys: Sequence[DkimKey]) -> Domain:
    return Domain(
        id=row["id"],
        name=row["name"],
        purposes=frozenset(Purpose(word) for word in row["purposes"]),
        state=DomainState(row["state"]),
        proof=row["proof"],
        keys=tuple(keys),
        checks=_read_checks(row["checks"]),
        failures=row["failures"],
        overlap_days=row["overlap_days"],
        checked_at=row["checked_at"],
        verified_at=row["verified_at"],
        failing_since=row["failing_since"],
        next_check_at=row["next_check_at"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _key(row: Record) -> DkimKey:
    return DkimKey(
        id=row["id"],
        algorithm=Algorithm(row["algorithm"]),
        selector=row["selector"],
        public_key=row["public_key"],
        private_key=row["private_key"],
        state=KeyState(row["state"]),
        found=row["found"],
        created_at=row["created_at"],
        active_at=row["active_at"],
        retired_until=row["retired_until"],
    )
