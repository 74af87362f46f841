"""Checking a domain: a look at its records, then what follows from it, written down in one transaction."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from waypost.domains.looking import Look, look_at
from waypost.domains.manage import DomainView
from waypost.domains.model import CheckResult, Domain
from waypost.domains.ports import Dns, DomainEvent, DomainNews, DomainStore, DueDomains
from waypost.domains.records import records_of
from waypost.domains.rules import Places, judge, turn_keys, verdict_of
from waypost.domains.standing import DomainBook
from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound, RateLimited, Unavailable
from waypost.kernel.ids import show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction, Work
from waypost.tenants.audit import OPERATOR, Audit

_log: Final = structlog.stdlib.get_logger()
MOST_AT_ONCE: Final = 3
"""Calls that wait for name servers hold a connection to the database meanwhile: few may, and one for each tenant."""
MOST_DUE: Final = 100
_TAKEN_FOR: Final = timedelta(minutes=15)


class Verify:
    """`check` is one tenant's call; `recheck` is what a worker does by itself."""

    def __init__(
        self,
        *,
        store: DomainStore,
        dns: Dns,
        places: Places,
        book: DomainBook,
        news: DomainNews,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._store = store
        self._dns = dns
        self._places = places
        self._book = book
        self._news = news
        self._audit = audit
        self._clock = clock
        self._asking: set[str] = set()

    async def check(self, tx: Transaction, scope: Scope, domain_id: UUID) -> DomainView:
        scope.demand(Permission.DOMAINS_MANAGE)
        domain = await self._find(tx, domain_id, for_change=False)
        if tx.tenant_id in self._asking or len(self._asking) >= MOST_AT_ONCE:
            message = "Domains are being checked at this moment. Try again."
            raise RateLimited(message, retry_after=5, code="checks_underway")
        self._asking.add(tx.tenant_id)
        try:
            look = await look_at(domain, self._dns, self._places)
        finally:
            self._asking.discard(tx.tenant_id)
        return await self.conclude(tx, scope, domain, look)

    async def look(self, domain: Domain) -> Look:
        return await look_at(domain, self._dns, self._places)

    async def conclude(self, tx: Transaction, scope: Scope, looked_at: Domain, look: Look) -> DomainView:
        """Writes down what a look has found about a domain as it was then."""
        taken = await self._store.hold_name(tx, looked_at.name)
        domain = await self._find(tx, looked_at.id, for_change=True)
        now = self._clock.now()
        seen = {key.id: found for key, found in zip(looked_at.keys, look.keys, strict=True)}
        turned = turn_keys(domain, [seen.get(key.id) for key in domain.keys], now)
        judged, event = judge(turned, look.checks, now, taken=taken)
        states = {key.id: key.state for key in domain.keys}
        changes = event is not None or {key.id: key.state for key in judged.keys} != states
        judged = replace(judged, version=domain.version + changes, updated_at=now if changes else domain.updated_at)
        await self._store.change(tx, judged)
        self._book.forget(tx.tenant_id)
        if event is not None:
            await self._news.tell(tx, judged, event)
        if changes or scope.key_id != OPERATOR:
            await self._note(tx, scope, judged, event)
        return DomainView(domain=judged, records=records_of(judged, self._places))

    async def _find(self, tx: Transaction, domain_id: UUID, *, for_change: bool) -> Domain:
        found = await self._store.find(tx, domain_id, for_change=for_change)
        if found is None:
            raise NotFound("There is no such domain.")
        return found

    async def _note(self, tx: Transaction, scope: Scope, domain: Domain, event: DomainEvent | None) -> None:
        detail: dict[str, JsonValue] = {
            "name": domain.name,
            "state": domain.state.value,
            "failed": " ".join(check.name for check in domain.checks if check.result is CheckResult.FAILED),
        }
        await self._audit.record(tx, scope, f"domain.{event or 'checked'}", show("dom", domain.id), detail)


class Recheck:
    """A worker's chore: every domain again when its time has come. DNS is asked outside of any transaction."""

    def __init__(
        self, *, work: Work, due: DueDomains, store: DomainStore, verify: Verify, clock: Clock, at_once: int = 8
    ) -> None:
        self._work = work
        self._due = due
        self._store = store
        self._verify = verify
        self._clock = clock
        self._at_once = at_once

    async def __call__(self) -> int:
        """How many were checked."""
        due = await self._due.due(self._clock.now(), MOST_DUE)
        gate = asyncio.Semaphore(self._at_once)

        async def one(tenant_id: str, domain_id: UUID) -> bool:
            async with gate:
                return await self._one(tenant_id, domain_id)

        return sum(await asyncio.gather(*(one(tenant_id, domain_id) for tenant_id, domain_id in due)))

    async def _one(self, tenant_id: str, domain_id: UUID) -> bool:
        now = self._clock.now()
        async with self._work.begin(tenant_id) as tx:
            if not await self._store.postpone(tx, domain_id, now, now + _TAKEN_FOR):
                return False
            domain = await self._store.find(tx, domain_id)
        if domain is None:
            return False
        look = await self._verify.look(domain)
        try:
            async with self._work.begin(tenant_id) as tx:
                view = await self._verify.conclude(tx, _nobodys(tenant_id), domain, look)
        except (NotFound, Unavailable):
            # Removed meanwhile; or the database is away, and it comes up again when its time is over.
            return False
        if verdict_of(view.domain.checks) is CheckResult.FAILED and view.domain.failing_since is not None:
            shown, state = show("dom", domain_id), view.domain.state.value
            _log.warning("domain fails its checks", action="domain_failing", domain=shown, state=state)
        return True


def _nobodys(tenant_id: str) -> Scope:
    """Nobody's key: the house looks by itself."""
    return Scope(
        tenant_id=tenant_id,
        mode=TenantMode.LIVE,
        key_id=OPERATOR,
        key_tenant=tenant_id,
        permissions=frozenset(),
        request_id="recheck",
    )
