"""A house of templates on the real database: drafting, publishing and what is sent."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest

from waypost.adapters.postgres.template_contents import PgVersionStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.render.pool import RenderPool
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.bootstrap.templates import templates_of
from waypost.kernel.clock import VirtualClock
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import Category, Channel, TenantMode
from waypost.kernel.work import Transaction
from waypost.templates.catalog import NewTemplate
from waypost.templates.desk import Templates
from waypost.templates.drafting import NewVersion
from waypost.templates.model import (
    Content,
    Format,
    JsonValue,
    LocaleSource,
    Version,
    Written,
)
from waypost.templates.rules import wording_for
from waypost.templates.versions import Versions

EMAIL = Channel.EMAIL
HELLO = LocaleSource(subject="Hello {{ name }}", body="<p>{{ name }}, from {{ city }}</p>", format=Format.HTML)


@dataclass
class AuditList:
    actions: list[tuple[str, Mapping[str, JsonValue]]] = field(default_factory=list)

    async def record(
        self, tx: Transaction, scope: Scope, action: str, subject: str, detail: Mapping[str, JsonValue] | None = None
    ) -> None:
        assert subject.startswith("tpl_")
        self.actions.append((action, detail or {}))


@dataclass
class House:
    work: PgWork
    templates: Templates
    versions: Versions
    audit: AuditList
    scope: Scope

    async def create(self, key: str = "welcome", tenant: str = "acme", **fields: Any) -> None:
        new = NewTemplate(**{"key": key, "channel": EMAIL, "category": Category.TRANSACTIONAL} | fields)
        async with self.work.begin(tenant) as tx:
            await self.templates.catalog.create(tx, self.scope, new)

    async def draft(
        self,
        source: LocaleSource = HELLO,
        *,
        key: str = "welcome",
        tenant: str = "acme",
        semver: str | None = None,
        locales: Mapping[str, LocaleSource] | None = None,
        **fields: Any,
    ) -> Version:
        new = NewVersion(
            written=Written(locales=locales or {"en": source}, **fields.pop("written", {})), semver=semver, **fields
        )
        async with self.work.begin(tenant) as tx:
            return (await self.templates.drafts.add(tx, self.scope, key, EMAIL, new)).version

    async def publish(self, number: str, key: str = "welcome", tenant: str = "acme", **options: Any) -> Version:
        async with self.work.begin(tenant) as tx:
            return (await self.templates.publish(tx, self.scope, key, EMAIL, number, **options)).version

    async def publish_new(self, source: LocaleSource = HELLO, **options: Any) -> Version:
        place = {name: options[name] for name in ("key", "tenant") if name in options}
        return await self.publish((await self.draft(source, **options)).semver, **place)

    async def inline(self, content: Content, tenant: str = "acme") -> UUID:
        async with self.work.begin(tenant) as tx:
            return (await self.versions.store_inline(tx, content, pointer="/content")).id

    async def sent(self, locale: str | None = None, key: str = "welcome", tenant: str = "acme") -> str | None:
        """The HTML that someone of this locale gets now."""
        async with self.work.begin(tenant) as tx:
            found = await self.versions.find_active(tx, key, EMAIL)
        return None if found is None else wording_for(found, locale)[1].content.html


@pytest.fixture
async def house(
    api_work: PgWork, make_tenant: Callable[..., Awaitable[str]], clock: VirtualClock
) -> AsyncIterator[House]:
    vault = LocalVault(MasterKey(bytes(range(32))))
    for tenant in ("acme", "rival", PLATFORM):
        await make_tenant(tenant, wrapped_key=vault.new_tenant_key(tenant))
    pool, keyring, audit = RenderPool(clock=clock), PgKeyring(vault), AuditList()
    scope = Scope(
        tenant_id="acme",
        mode=TenantMode.SANDBOX,
        key_id=uuid4(),
        key_tenant="acme",
        permissions=frozenset({Permission.TEMPLATES_READ, Permission.TEMPLATES_WRITE, Permission.TEMPLATES_APPROVE}),
        request_id="req",
    )
    recipients: Any = None
    recorder: Any = audit
    yield House(
        work=api_work,
        templates=templates_of(renderer=pool, keyring=keyring, recipients=recipients, audit=recorder, clock=clock),
        versions=Versions(store=PgVersionStore(), renderer=pool, keyring=keyring, clock=clock),
        audit=audit,
        scope=scope,
    )
    await pool.close()
