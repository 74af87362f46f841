"""Templates on the real database: numbering, publishing, inline content, sealing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import asyncpg
import pytest

from waypost.adapters.postgres.templates import PgTemplateStore, PgVersionStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.render.pool import RenderPool
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Conflict, Forbidden, NotFound, Refused
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import SealBroken
from waypost.kernel.vocabulary import Category, Channel, TenantMode
from waypost.kernel.work import Transaction
from waypost.templates.model import Content, JsonObject, JsonValue, Version, VersionState
from waypost.templates.publish import Templates
from waypost.templates.versions import Versions

HELLO = Content(subject="Hello {{ name }}", html="<p>{{ name }}, from {{ city }}</p>")
SCHEMA: JsonObject = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}


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

    async def create(self, key: str = "welcome", tenant: str = "acme") -> None:
        async with self.work.begin(tenant) as tx:
            await self.templates.create(
                tx, self.scope, key=key, channel=Channel.EMAIL, category=Category.TRANSACTIONAL, name="Welcome"
            )

    async def draft(self, content: Content = HELLO, schema: JsonObject | None = None, tenant: str = "acme") -> Version:
        async with self.work.begin(tenant) as tx:
            return await self.templates.add_draft(
                tx, self.scope, key="welcome", channel=Channel.EMAIL, content=content, variables_schema=schema
            )

    async def publish(self, number: int, tenant: str = "acme") -> Version:
        async with self.work.begin(tenant) as tx:
            return await self.templates.publish(tx, self.scope, key="welcome", channel=Channel.EMAIL, number=number)

    async def inline(self, content: Content, tenant: str = "acme") -> UUID:
        async with self.work.begin(tenant) as tx:
            version, _ = await self.versions.store_inline(tx, content, pointer="/content")
            return version.id


@pytest.fixture
async def house(
    api_work: PgWork, make_tenant: Callable[..., Awaitable[str]], clock: VirtualClock
) -> AsyncIterator[House]:
    vault = LocalVault(MasterKey(bytes(range(32))))
    for tenant in ("acme", "rival"):
        await make_tenant(tenant, wrapped_key=vault.new_tenant_key(tenant))
    pool, keyring, audit = RenderPool(clock=clock), PgKeyring(vault), AuditList()
    scope = Scope(
        tenant_id="acme",
        mode=TenantMode.SANDBOX,
        key_id=uuid4(),
        key_tenant="acme",
        permissions=frozenset({Permission.TEMPLATES_READ, Permission.TEMPLATES_WRITE}),
        request_id="req",
    )
    yield House(
        work=api_work,
        templates=Templates(store=PgTemplateStore(), renderer=pool, keyring=keyring, clock=clock, audit=audit),
        versions=Versions(store=PgVersionStore(), renderer=pool, keyring=keyring, clock=clock),
        audit=audit,
        scope=scope,
    )
    await pool.close()


async def test_from_draft_to_active_and_archived(house: House, clock: VirtualClock) -> None:
    await house.create()
    first = await house.draft()
    second = await house.draft(Content(subject="Second", text="t"), SCHEMA)
    assert (first.number, second.number) == (1, 2)
    assert first.state is VersionState.DRAFT

    published = await house.publish(1)
    await clock.advance(60)
    await house.publish(2)

    async with house.work.begin("acme") as tx:
        page = await house.templates.versions(
            tx, house.scope, key="welcome", channel=Channel.EMAIL, cursor=None, limit=None
        )
        found = await house.versions.find_active(tx, "welcome", Channel.EMAIL)
        template = await house.templates.get(tx, house.scope, key="welcome", channel=Channel.EMAIL)
    assert [(v.number, v.state) for v in page.items] == [(2, VersionState.ACTIVE), (1, VersionState.ARCHIVED)]
    assert page.items[1].content == HELLO
    assert page.items[1].published_at == published.published_at
    assert found is not None
    assert found.version == page.items[0]
    assert found.version.variables_schema == SCHEMA
    assert found.template == template
    assert template.updated_at == clock.now()
    assert house.audit.actions == [
        ("template.created", {"key": "welcome", "channel": "email", "category": "transactional"}),
        ("template.drafted", {"key": "welcome", "channel": "email", "number": 1}),
        ("template.drafted", {"key": "welcome", "channel": "email", "number": 2}),
        ("template.published", {"key": "welcome", "channel": "email", "number": 1}),
        ("template.published", {"key": "welcome", "channel": "email", "number": 2}),
    ]


async def test_what_cannot_be_published(house: House) -> None:
    await house.create()
    await house.draft()
    await house.publish(1)
    for number, error in ((1, Conflict), (2, NotFound), (0, NotFound), (2**40, NotFound)):
        with pytest.raises(error):
            await house.publish(number)


async def test_bad_content_and_bad_schema_are_refused_and_not_stored(house: House) -> None:
    await house.create()
    bad = [
        (Content(subject="{{ a", html="x"), None, "/content/subject"),
        (Content(subject="s", html="{% for x in y %}"), None, "/content/html"),
        (Content(subject="s"), None, "/content"),
        (HELLO, {"type": "banana"}, "/variables_schema/type"),
        (HELLO, {"$ref": "http://127.0.0.1/x"}, "/variables_schema/$ref"),
    ]
    for content, schema, pointer in bad:
        with pytest.raises(Refused) as refused:
            await house.draft(content, schema)
        assert [error.pointer for error in refused.value.errors] == [pointer]
    assert (await house.draft()).number == 1


async def test_a_key_is_taken_once_per_tenant_and_channel(house: House) -> None:
    await house.create()
    await house.create(tenant="rival")
    with pytest.raises(Conflict):
        await house.create()


async def test_drafts_and_publications_at_once_are_numbered_and_leave_one_active(
    house: House, admin: asyncpg.Connection
) -> None:
    await house.create()
    drafts = await asyncio.gather(*(house.draft(Content(subject=f"s{i}", text="t")) for i in range(5)))
    assert sorted(draft.number or 0 for draft in drafts) == [1, 2, 3, 4, 5]
    await asyncio.gather(*(house.publish(number) for number in (1, 2, 3, 4, 5)))
    states = await admin.fetch("select state, count(*) from waypost.template_versions group by state order by state")
    assert [tuple(row) for row in states] == [("active", 1), ("archived", 4)]


async def test_inline_content_is_kept_once_per_tenant(house: House, admin: asyncpg.Connection) -> None:
    same = await asyncio.gather(*(house.inline(HELLO) for _ in range(6)))
    assert len(set(same)) == 1
    other = await house.inline(Content(subject="Other", text="t"))
    theirs = await house.inline(HELLO, "rival")
    assert len({same[0], other, theirs}) == 3
    hashes = await admin.fetch("select content_hash from waypost.template_versions")
    assert len({row["content_hash"] for row in hashes}) == 3, "the same content of two tenants must not look the same"

    async with house.work.begin("acme") as tx:
        loaded = await house.versions.load(tx, [same[0], other, theirs, uuid4()])
        _, mentioned = await house.versions.store_inline(tx, HELLO, pointer="/content")
    assert {version.id for version in loaded} == {same[0], other}
    assert {version.content.subject for version in loaded} == {"Hello {{ name }}", "Other"}
    assert all(version.state is VersionState.INLINE for version in loaded)
    assert mentioned == {"name", "city"}


async def test_bad_inline_content_is_refused_by_pointer(house: House, admin: asyncpg.Connection) -> None:
    with pytest.raises(Refused) as refused:
        await house.inline(Content(subject="s", html="{% if %}"))
    assert [(e.pointer, e.code) for e in refused.value.errors] == [("/content/html", "template_syntax")]
    assert await admin.fetchval("select count(*) from waypost.template_versions") == 0


async def test_nothing_readable_lies_in_the_table_and_nothing_opens_elsewhere(
    house: House, admin: asyncpg.Connection
) -> None:
    one = await house.inline(Content(subject="Marker-of-one", text="t"))
    two = await house.inline(Content(subject="Marker-of-two", text="t"))
    assert b"Marker" not in b"".join(
        row["content"] for row in await admin.fetch("select content from waypost.template_versions")
    )
    await admin.execute(
        "update waypost.template_versions set content = (select content from waypost.template_versions where id = $2)"
        " where id = $1",
        one,
        two,
    )
    async with house.work.begin("acme") as tx:
        with pytest.raises(SealBroken):
            await house.versions.load(tx, [one])


async def test_stored_content_cannot_be_changed(
    house: House, connect: Callable[..., Awaitable[asyncpg.Connection]]
) -> None:
    version = await house.inline(HELLO)
    for role in ("api", "worker"):
        connection = await connect(role)
        await connection.execute("select set_config('app.tenant_id', 'acme', false)")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("update template_versions set content = $2 where id = $1", version, b"x")


async def test_another_tenant_sees_nothing(house: House) -> None:
    await house.create()
    await house.draft()
    await house.publish(1)
    async with house.work.begin("rival") as tx:
        assert await house.versions.find_active(tx, "welcome", Channel.EMAIL) is None
        assert (await house.templates.page(tx, house.scope, None, None)).items == []
        with pytest.raises(NotFound):
            await house.templates.get(tx, house.scope, key="welcome", channel=Channel.EMAIL)


async def test_pages(house: House, clock: VirtualClock) -> None:
    for i in range(5):
        await house.create(f"key-{i}")
        await clock.advance(1)
    await house.create()
    for i in range(5):
        await house.draft(Content(subject=f"s{i}", text="t"))
    async with house.work.begin("acme") as tx:
        keys, cursor = list[str](), None
        while True:
            page = await house.templates.page(tx, house.scope, cursor, 4)
            keys += [template.key for template in page.items]
            if (cursor := page.next) is None:
                break
        assert keys == ["welcome", "key-4", "key-3", "key-2", "key-1", "key-0"]
        numbers, cursor = list[int | None](), None
        while True:
            versions = await house.templates.versions(
                tx, house.scope, key="welcome", channel=Channel.EMAIL, cursor=cursor, limit=2
            )
            numbers += [version.number for version in versions.items]
            if (cursor := versions.next) is None:
                break
        assert numbers == [5, 4, 3, 2, 1]


async def test_preview(house: House) -> None:
    await house.create()
    await house.draft(HELLO, SCHEMA)

    async def preview(number: int | None, variables: JsonObject) -> str | None:
        async with house.work.begin("acme") as tx:
            parts = await house.templates.preview(
                tx, house.scope, key="welcome", channel=Channel.EMAIL, number=number, variables=variables
            )
            return parts.html

    assert await preview(1, {"name": "Jo", "city": "Rome"}) == "<p>Jo, from Rome</p>"
    with pytest.raises(NotFound):
        await preview(None, {})
    await house.publish(1)
    assert await preview(None, {"name": "Jo", "city": "Rome"}) == "<p>Jo, from Rome</p>"
    with pytest.raises(Refused) as unfit:
        await preview(1, {"city": "Rome"})
    assert [(e.pointer, e.code) for e in unfit.value.errors] == [("/variables/name", "required")]
    with pytest.raises(Refused) as missing:
        await preview(1, {"name": "Jo"})
    assert [(e.pointer, e.code) for e in missing.value.errors] == [("/variables", "missing_variable")]
    assert "`city`" in missing.value.detail


async def test_scopes_are_demanded(house: House) -> None:
    await house.create()
    powerless = Scope(
        tenant_id="acme",
        mode=TenantMode.SANDBOX,
        key_id=uuid4(),
        key_tenant="acme",
        permissions=frozenset({Permission.TEMPLATES_READ}),
        request_id="req",
    )
    house.scope = powerless
    for attempt in (house.create("other"), house.draft(), house.publish(1)):
        with pytest.raises(Forbidden):
            await attempt
