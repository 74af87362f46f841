"""Batches of one tenant, and a worker that unfolds them five recipients at a time."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from waypost.adapters.postgres.batches import PgBatches
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.campaigns.batches import Batches
from waypost.campaigns.expand import Expansion
from waypost.campaigns.model import Audience, Batch, BatchMessage
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import TenantMode

SCOPE = Scope(
    tenant_id="acme",
    mode=TenantMode.SANDBOX,
    key_id=UUID(int=1),
    key_tenant="acme",
    permissions=frozenset(Permission),
    request_id="rid_test",
)
HELLO = BatchMessage(template="hello")
EVERYBODY = Audience()


class Desk:
    """Batches of acme, and a worker that unfolds them five recipients at a time."""

    def __init__(self, caller: Any) -> None:
        self.app = caller.app
        keyring = PgKeyring(LocalVault(open_master_key(self.app.settings.master_key_path, create=False)))
        self.store = PgBatches(self.app.clock)
        self.batches = Batches(
            store=self.store,
            delivery=PgDelivery(clock=self.app.clock, ring=lambda: None),
            keyring=keyring,
            clock=self.app.clock,
        )
        self.expansion = Expansion(
            work=self.app.work,
            board=self,
            store=self.store,
            batches=self.batches,
            submit=self.app.notifications.submit,
            fan_out=self.app.notifications.fan_out,
            keyring=keyring,
            clock=self.app.clock,
            chunk=5,
        )
        self.steps = 1_000

    async def due(self, at_most: int) -> Sequence[tuple[str, UUID]]:
        """What the worker's definer function would tell; `steps` bounds how often it is asked."""
        self.steps -= 1
        if self.steps < 0:
            return []
        rows = await self.ask("select id from dispatch_batches where next_step_at <= now() limit $1", at_most)
        return [("acme", row["id"]) for row in rows]

    async def ask(self, query: str, *arguments: Any) -> Any:
        async with self.app.work.begin("acme") as tx:
            return await tx.connection.fetch(query, *arguments)

    async def make(self, audience: Audience = EVERYBODY, **options: Any) -> Batch:
        message = options.pop("message", HELLO)
        async with self.app.work.begin("acme") as tx:
            batch = await self.batches.create(tx, SCOPE, audience, message, **options)
            return await self.batches.schedule(tx, SCOPE, batch.id)

    async def find(self, batch: Batch) -> Batch:
        async with self.app.work.begin("acme") as tx:
            found = await self.store.find(tx, batch.id)
            assert found is not None
            return found

    async def cancel(self, batch: Batch) -> Batch:
        async with self.app.work.begin("acme") as tx:
            return await self.batches.cancel(tx, SCOPE, batch.id)

    async def totals(self, batch: Batch) -> Any:
        async with self.app.work.begin("acme") as tx:
            return await self.batches.totals(tx, SCOPE, batch.id)


@pytest.fixture
async def desk(acme: Any) -> Desk:
    await acme.ok("POST", "/v1/templates", {"key": "hello", "name": "Hello", "category": "transactional"})
    words = {"locales": {"en": {"subject": "Hello {{ first_name }}", "body": "<p>Hi</p>"}}}
    await acme.ok("POST", "/v1/templates/hello/email/versions", words)
    await acme.ok("POST", "/v1/templates/hello/email/versions/1.0.0/publish")
    for number in range(12):
        body: dict[str, Any] = {"email": f"u{number}@example.com", "attributes": {"first_name": f"U{number}"}}
        if number % 3 == 0:
            body["tags"] = ["third"]
        await acme.ok("PUT", f"/v1/recipients/user-{number}", body)
    return Desk(acme)
