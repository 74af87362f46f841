"""The recipients slice on the real database, as it is put together in production."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.recipients import PgAddressStore, PgRecipientStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.bootstrap.recipients import join_recipients
from waypost.kernel.clock import VirtualClock
from waypost.kernel.tenancy import Scope
from waypost.kernel.vocabulary import Channel
from waypost.recipients.desk import RecipientDesk
from waypost.recipients.model import Recipient, RecipientFields, Resolved, Target
from waypost.recipients.people import People
from waypost.recipients.records import Recipients
from waypost.recipients.resolve import Resolver
from waypost.tenants.audit import Audit
from waypost.tenants.platform import operator_scope

VAULT = LocalVault(MasterKey(bytes(range(32))))


@dataclass(frozen=True, kw_only=True)
class Desk:
    """The recipients slice as it is put together in production."""

    work: PgWork
    clock: VirtualClock
    keyring: PgKeyring
    recipients: Recipients
    people: RecipientDesk
    resolver: Resolver
    audit: Audit
    scope: Scope

    async def put(self, external_id: str, **said: Any) -> Recipient:
        async with self.work.begin("acme") as tx:
            return (await self.recipients.put(tx, self.scope, external_id, RecipientFields(**said))).recipient

    async def get(self, external_id: str) -> Recipient:
        async with self.work.begin("acme") as tx:
            return await self.recipients.get(tx, self.scope, external_id)

    async def erase(self, external_id: str) -> None:
        async with self.work.begin("acme") as tx:
            await self.people.erase(tx, self.scope, external_id)

    async def resolve(
        self, *targets: Target, channel: Channel = Channel.EMAIL, is_list: bool = True, tenant_id: str = "acme"
    ) -> Sequence[Resolved]:
        async with self.work.begin(tenant_id) as tx:
            return await self.resolver.resolve(tx, targets, channel, is_list=is_list)


@pytest.fixture
async def desk(api_work: PgWork, clock: VirtualClock, make_tenant: Callable[..., Awaitable[str]]) -> Desk:
    for tenant_id in ("acme", "other"):
        await make_tenant(tenant_id, wrapped_key=VAULT.new_tenant_key(tenant_id))
    keyring, addresses, rows = PgKeyring(VAULT), PgAddressStore(), PgRecipientStore()
    people = People(recipients=rows, addresses=addresses, keyring=keyring, clock=clock)
    audit = Audit(PgAuditStore(), clock)
    joined = join_recipients(
        people=people,
        keyring=keyring,
        audit=audit,
        clock=clock,
        delivery=PgDelivery(clock=clock, ring=lambda: None),
    )
    return Desk(
        work=api_work,
        clock=clock,
        keyring=keyring,
        recipients=joined.records,
        people=joined.desk,
        resolver=Resolver(people=people, recipients=rows, addresses=addresses, keyring=keyring, clock=clock),
        audit=audit,
        scope=replace(operator_scope("req_1"), tenant_id="acme"),
    )
