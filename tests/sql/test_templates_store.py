"""Templates on the real database: numbers, publishing, going back, approval, layouts, the platform's, sealing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from waypost.adapters.postgres.template_contents import PgVersionStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.render.pool import RenderPool
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.bootstrap.templates import templates_of
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Conflict, Forbidden, NotFound, PreconditionFailed, Refused
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vault import SealBroken
from waypost.kernel.vocabulary import Category, Channel, TenantMode
from waypost.kernel.work import Transaction
from waypost.templates.catalog import NewTemplate, TemplateChange
from waypost.templates.desk import Templates
from waypost.templates.drafting import NewVersion
from waypost.templates.model import (
    Content,
    Direction,
    Format,
    JsonObject,
    JsonValue,
    LocaleSource,
    Provenance,
    TemplateKind,
    Version,
    VersionState,
    Written,
)
from waypost.templates.preview import For
from waypost.templates.rules import wording_for
from waypost.templates.versions import Versions

EMAIL = Channel.EMAIL
HELLO = LocaleSource(subject="Hello {{ name }}", body="<p>{{ name }}, from {{ city }}</p>", format=Format.HTML)
SCHEMA: JsonObject = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}


def words(said: str, /, **more: Any) -> LocaleSource:
    return LocaleSource(**{"subject": said, "body": f"<p>{said}</p>", "format": Format.HTML} | more)


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


async def test_from_draft_to_active_and_archived(house: House, clock: VirtualClock) -> None:
    await house.create()
    first = await house.draft()
    second = await house.draft(words("Second"), written={"variables_schema": SCHEMA})
    assert (first.semver, second.semver) == ("1.0.0", "1.1.0")
    assert first.state is VersionState.DRAFT
    assert await house.sent() is None

    published = await house.publish("1.0.0")
    assert await house.sent() == "<p>{{ name }}, from {{ city }}</p>"
    await clock.advance(60)
    await house.publish("1.1.0")

    async with house.work.begin("acme") as tx:
        page = await house.templates.drafts.page(tx, house.scope, "welcome", EMAIL, None, None)
        found = await house.versions.find_active(tx, "welcome", EMAIL)
        template = await house.templates.catalog.get(tx, house.scope, "welcome", EMAIL)
    assert [(v.semver, v.state) for v in page.items] == [
        ("1.1.0", VersionState.ACTIVE),
        ("1.0.0", VersionState.ARCHIVED),
    ]
    assert page.items[1].written.locales == {"en": HELLO}
    assert page.items[1].published_at == published.published_at
    assert found is not None
    assert (found.id, found.variables_schema) == (page.items[0].id, SCHEMA)
    assert found.template == template
    assert (template.updated_at, template.revision) == (clock.now(), 5)
    assert [action for action, _ in house.audit.actions] == [
        "template.created",
        "template.drafted",
        "template.drafted",
        "template.published",
        "template.published",
    ]
    assert house.audit.actions[-1][1] == {
        "key": "welcome",
        "channel": "email",
        "semver": "1.1.0",
        "again": False,
        "approver": None,
    }


async def test_going_back_sends_what_was_sent_then(house: House) -> None:
    await house.create()
    await house.create("around", kind=TemplateKind.PARTIAL)
    await house.publish_new(words("", subject="", body="old"), key="around")
    await house.publish_new(words("One", body='<p>{% include "around" %} one</p>'))
    before = await house.sent()
    await house.publish_new(words("Two"))
    await house.publish_new(words("", subject="", body="new"), key="around")
    async with house.work.begin("acme") as tx:
        preview = await house.templates.preview.stored(tx, house.scope, "welcome", EMAIL, "1.0.0", For())
    assert "old one" in (preview.parts.html or ""), "a preview of what was published shows what was sent"
    again = await house.publish("1.0.0")
    assert again.state is VersionState.ACTIVE
    assert await house.sent() == before
    assert "old" in (before or "")
    assert house.audit.actions[-1][1]["again"] is True
    await house.publish_new(words("One", body='<p>{% include "around" %} one</p>'))
    assert "new" in (await house.sent() or "")


async def test_what_cannot_be_published(house: House) -> None:
    await house.create()
    await house.publish_new()
    for number, error in (("1.0.0", Conflict), ("1.1.0", NotFound), ("", NotFound), ("1.0", NotFound)):
        with pytest.raises(error):
            await house.publish(number)
    await house.draft()
    with pytest.raises(PreconditionFailed):
        await house.publish("1.1.0", revision=1)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ("1.0.0", "semver_taken"),
        ("0.9.0", "semver_too_low"),
        ("1", "invalid_semver"),
        ("01.0.0", "invalid_semver"),
        ("1.0.0-rc.1", "invalid_semver"),
    ],
)
async def test_numbers_are_new_and_grow(house: House, asked: str, code: str) -> None:
    await house.create()
    await house.publish_new()
    with pytest.raises(Refused) as refused:
        await house.draft(semver=asked)
    assert [(error.pointer, error.code) for error in refused.value.errors] == [("/semver", code)]
    assert (await house.draft(semver="2.0.0")).semver == "2.0.0"
    assert (await house.draft()).semver == "2.1.0"
    assert (await house.draft(semver="1.5.0")).semver == "1.5.0", "between what is published and a draft"


async def test_bad_content_and_bad_schema_are_refused_and_not_stored(house: House) -> None:
    await house.create()
    bad: list[tuple[dict[str, Any], str]] = [
        ({"source": words("{{ a", body="b")}, "/locales/en/subject"),
        ({"source": words("s", body="  ")}, "/locales/en/body"),
        ({"source": words(" ", body="x")}, "/locales/en/subject"),
        ({"source": words("s", format=Format.TEXT, text="t")}, "/locales/en/text"),
        ({"source": words("s", format=Format.JSON)}, "/locales/en/format"),
        ({"locales": {"de": HELLO}}, "/locales"),
        ({"locales": {"en": HELLO, "xx-1": HELLO}}, "/locales/xx-1"),
        ({"locales": {"en": HELLO, "EN": HELLO}}, "/locales"),
        ({"written": {"fallback_chain": ("en", "en")}}, "/fallback_chain/1"),
        ({"written": {"fallback_chain": ("fr",)}}, "/fallback_chain/0"),
        ({"written": {"variables_schema": {"type": "banana"}}}, "/variables_schema/type"),
        ({"written": {"variables_schema": {"$ref": "http://127.0.0.1/x"}}}, "/variables_schema/$ref"),
        ({"written": {"layout": "nothing"}}, "/layout"),
        ({"source": words("s", body='{% include "nothing" %}')}, "/locales/en/body"),
        ({"provenance": Provenance(model="m")}, "/provenance"),
        ({"is_ai_drafted": True}, "/provenance/model"),
    ]
    for given, pointer in bad:
        with pytest.raises(Refused) as refused:
            await house.draft(**given)
        assert [error.pointer for error in refused.value.errors] == [pointer], given
    assert (await house.draft()).number == 1


async def test_a_key_is_taken_once_per_tenant_and_channel(house: House) -> None:
    await house.create()
    await house.create(tenant="rival")
    with pytest.raises(Conflict):
        await house.create()
    await house.create(channel=Channel.SMS)


async def test_drafts_and_publications_at_once_are_numbered_and_leave_one_active(
    house: House, admin: asyncpg.Connection
) -> None:
    await house.create()
    drafts = await asyncio.gather(*(house.draft(words(f"s{i}")) for i in range(5)))
    numbers = sorted(draft.semver for draft in drafts)
    assert numbers == [f"1.{minor}.0" for minor in range(5)]
    await asyncio.gather(*(house.publish(number) for number in numbers))
    states = await admin.fetch("select state, count(*) from waypost.template_versions group by state order by state")
    assert [tuple(row) for row in states] == [("active", 1), ("archived", 4)]


async def test_the_database_allows_one_active_version_and_no_model_without_a_person(
    house: House, admin: asyncpg.Connection
) -> None:
    await house.create()
    await house.publish_new()
    await house.draft(is_ai_drafted=True, provenance=Provenance(model="m"))
    with pytest.raises(asyncpg.UniqueViolationError):
        await admin.execute(
            "update waypost.template_versions set state = 'active', published_at = now(), approved_by = 'x',"
            " approved_at = now() where semver = '1.1.0'"
        )
    with pytest.raises(asyncpg.CheckViolationError):
        await admin.execute("update waypost.template_versions set published_at = now() where semver = '1.1.0'")


async def test_what_a_model_wrote_needs_a_name(house: House) -> None:
    await house.create()
    draft = await house.draft(is_ai_drafted=True, provenance=Provenance(model="tiny-7b", prompt="prompts/42"))
    with pytest.raises(Conflict) as needed:
        await house.publish(draft.semver)
    assert needed.value.code == "approval_needed"
    async with house.work.begin("acme") as tx:
        approve = house.templates.drafts.approve
        with pytest.raises(Refused):
            await approve(tx, house.scope, "welcome", EMAIL, draft.semver, approver=" ")
        approved = await approve(tx, house.scope, "welcome", EMAIL, draft.semver, approver="Jane Roe")
        again = await approve(tx, house.scope, "welcome", EMAIL, draft.semver, approver="Someone Else")
    assert approved.approval is not None
    assert again.approval == approved.approval
    published = await house.publish(draft.semver)
    assert published.provenance == Provenance(model="tiny-7b", prompt="prompts/42")
    assert house.audit.actions[-2] == (
        "template.approved",
        {"key": "welcome", "channel": "email", "semver": "1.0.0", "approver": "Jane Roe", "model": "tiny-7b"},
    )
    assert house.audit.actions[-1][1]["approver"] == "Jane Roe"
    await house.draft()
    async with house.work.begin("acme") as tx:
        with pytest.raises(Conflict) as unneeded:
            await house.templates.drafts.approve(tx, house.scope, "welcome", EMAIL, "1.1.0", approver="Jane Roe")
    assert unneeded.value.code == "no_approval_needed"


async def test_everyone_reads_their_language(house: House, admin: asyncpg.Connection) -> None:
    await house.create()
    locales = {
        "en": words("English"),
        "de": words("Deutsch"),
        "ar": words("عربي", direction=Direction.RTL),
        "pt-BR": words("Brasil"),
        "fr": words("Français"),
    }
    number = (await house.draft(locales=locales, written={"fallback_chain": ("fr", "en")})).semver
    await house.publish(number)
    expected = {
        "de-AT": "Deutsch", "de": "Deutsch", "ar-EG": "عربي", "pt-PT": "Brasil", "ja": "Français", None: "Français",
    }  # fmt: skip
    for locale, text in expected.items():
        assert text in (await house.sent(locale) or ""), locale
    await house.publish_new(locales={"en": words("English"), "it": words("Italiano")})
    assert "English" in (await house.sent("ja") or "")
    await admin.execute(
        """update waypost.tenants set settings = '{"preferences": {"default_locale": "it-CH"}}' where id = 'acme'"""
    )
    assert "Italiano" in (await house.sent("ja") or "")
    assert "English" in (await house.sent("en-GB") or "")


async def test_the_platforms_templates_serve_everyone_until_they_are_overridden(house: House) -> None:
    await house.create(tenant=PLATFORM)
    await house.draft(words("Draft of the platform"), tenant=PLATFORM)
    async with house.work.begin("acme") as tx:
        assert await house.versions.find_active(tx, "welcome", EMAIL) is None
        with pytest.raises(NotFound):
            await house.templates.catalog.get(tx, house.scope, "welcome", EMAIL)
    await house.publish("1.0.0", tenant=PLATFORM)
    await house.draft(words("Next draft"), tenant=PLATFORM)
    assert "Draft of the platform" in (await house.sent() or "")
    async with house.work.begin("acme") as tx:
        template = await house.templates.catalog.get(tx, house.scope, "welcome", EMAIL)
        versions = await house.templates.drafts.page(tx, house.scope, "welcome", EMAIL, None, None)
        assert template.is_platforms
        assert [version.semver for version in versions.items] == ["1.0.0"], "drafts of the platform stay its own"
        assert (await house.templates.catalog.page(tx, house.scope, None, None)).items == []
        offered = await house.templates.catalog.page(tx, house.scope, None, None, platforms=True)
        assert [one.key for one in offered.items] == ["welcome"]
        with pytest.raises(NotFound):
            await house.templates.drafts.get(tx, house.scope, "welcome", EMAIL, "1.1.0")
    for attempt in (house.draft(), house.publish("1.0.0")):
        with pytest.raises(NotFound):
            await attempt

    await house.create()
    await house.draft(words("Mine"))
    assert "Draft of the platform" in (await house.sent() or ""), "a draft overrides nothing"
    await house.publish("1.0.0")
    assert "Mine" in (await house.sent() or "")
    assert "Draft of the platform" in (await house.sent(tenant="rival") or "")
    async with house.work.begin("acme") as tx:
        await house.templates.catalog.archive(tx, house.scope, "welcome", EMAIL)
    assert "Draft of the platform" in (await house.sent() or "")
    await house.publish("1.0.0")
    assert "Mine" in (await house.sent() or "")


async def test_the_platforms_rows_are_read_and_never_written(
    house: House, connect: Callable[..., Awaitable[asyncpg.Connection]], worker_work: PgWork
) -> None:
    await house.create(tenant=PLATFORM)
    version = await house.publish_new(words("Published"), tenant=PLATFORM)
    await house.draft(words("Draft"), tenant=PLATFORM)
    await house.create("unseen", tenant=PLATFORM)
    await house.inline(Content(subject="Inline", text="t"), PLATFORM)
    for role in ("api", "worker"):
        connection = await connect(role)
        for tenant, seen in (("acme", (1, 1, 1)), ("", (0, 0, 0))):
            await connection.execute("select set_config('app.tenant_id', $1, false)", tenant)
            tables = ("templates", "template_versions", "template_contents")
            assert tuple([await connection.fetchval(f"select count(*) from {table}") for table in tables]) == seen
        await connection.execute("select set_config('app.tenant_id', 'acme', false)")
        if role == "api":
            assert await connection.execute("update templates set name = 'x'") == "UPDATE 0"
            assert await connection.execute("update template_versions set state = 'archived'") == "UPDATE 0"
            assert await connection.fetch("select from templates for update") == []
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(
                    "insert into template_contents (tenant_id, version_id, locale, content)"
                    " values ('_platform', $1, 'de', '')",
                    version.id,
                )
    async with worker_work.begin("acme") as tx:
        found = await house.versions.load(tx, [(version.id, "en")])
    assert [wording.content.html for wording in found.values()] == ["<p>Published</p>"]


async def test_only_published_partials_of_one_s_own_or_the_platform_are_found(house: House) -> None:
    await house.create()
    including = words("s", body='<p>{% include "foot" %}</p>')
    await house.create("foot", tenant="rival", kind=TemplateKind.PARTIAL)
    await house.publish_new(words("", subject="", body="of the rival"), key="foot", tenant="rival")
    with pytest.raises(Refused, match="cannot be rendered") as foreign:
        await house.draft(including)
    assert foreign.value.code == "unknown_partial"
    await house.create("foot", tenant=PLATFORM, kind=TemplateKind.PARTIAL)
    await house.draft(words("", subject="", body="of the platform"), key="foot", tenant=PLATFORM)
    with pytest.raises(Refused):
        await house.draft(including)
    await house.publish("1.0.0", key="foot", tenant=PLATFORM)
    await house.publish_new(including)
    assert "of the platform" in (await house.sent() or "")
    await house.create("foot", kind=TemplateKind.PARTIAL)
    await house.draft(words("", subject="", body="my draft"), key="foot")
    await house.publish_new(including)
    assert "of the platform" in (await house.sent() or "")
    await house.publish("1.0.0", key="foot")
    await house.publish_new(including)
    assert "my draft" in (await house.sent() or "")
    await house.create("plain")
    await house.publish_new(words("plain"), key="plain")
    with pytest.raises(Refused):
        await house.draft(words("s", body='{% include "plain" %}'))


async def test_circles_are_refused_by_field(house: House) -> None:
    for key in ("a", "b"):
        await house.create(key, kind=TemplateKind.PARTIAL)
    await house.publish_new(words("", subject="", body="leaf"), key="a")
    await house.publish_new(words("", subject="", body='{% include "a" %}'), key="b")
    for body in ('{% include "b" %}', '{% include "a" %}'):
        with pytest.raises(Refused) as refused:
            await house.draft(words("", subject="", body=body), key="a")
        assert [(e.pointer, e.code) for e in refused.value.errors] == [("/locales/en/body", "cyclic_layout")]


async def test_inline_content_is_kept_once_per_tenant(house: House, admin: asyncpg.Connection) -> None:
    hello = Content(subject="Hello {{ name }}", html="<p>{{ name }}, from {{ city }}</p>")
    same = await asyncio.gather(*(house.inline(hello) for _ in range(6)))
    assert len(set(same)) == 1
    other = await house.inline(Content(subject="Other", text="t"))
    theirs = await house.inline(hello, "rival")
    assert len({same[0], other, theirs}) == 3
    hashes = await admin.fetch("select content_hash from waypost.template_versions")
    assert len({row["content_hash"] for row in hashes}) == 3, "the same content of two tenants must not look the same"

    async with house.work.begin("acme") as tx:
        loaded = await house.versions.load(tx, [(same[0], None), (other, "de"), (theirs, None), (uuid4(), None)])
        sendable = await house.versions.store_inline(tx, hello, pointer="/content")
    assert {key: wording.content.subject for key, wording in loaded.items()} == {
        (same[0], None): "Hello {{ name }}",
        (other, "de"): "Other",
    }
    assert wording_for(sendable, "de") == ("de", sendable.wordings[""])
    assert sendable.wordings[""].mentioned == {"name", "city"}


async def test_bad_inline_content_is_refused_by_pointer(house: House, admin: asyncpg.Connection) -> None:
    with pytest.raises(Refused) as refused:
        await house.inline(Content(subject="s", html="{% if %}"))
    assert [(e.pointer, e.code) for e in refused.value.errors] == [("/content/html", "template_syntax")]
    assert await admin.fetchval("select count(*) from waypost.template_versions") == 0


async def test_nothing_readable_lies_in_the_tables_and_nothing_opens_elsewhere(
    house: House, admin: asyncpg.Connection
) -> None:
    await house.create()
    await house.publish_new(
        locales={"en": words("Marker-of-one"), "de": words("Marker-of-two")},
        written={"samples": {"one": {"secret": "Marker-of-sample"}}},
    )
    inline = await house.inline(Content(subject="Marker-of-three", text="t"))
    rows = await admin.fetch(
        "select content from waypost.template_versions union all select content from waypost.template_contents"
    )
    assert len(rows) == 4
    assert b"Marker" not in b"".join(row["content"] for row in rows)
    await admin.execute(
        "update waypost.template_contents set content = (select content from waypost.template_contents"
        " where locale = 'de') where locale = 'en'"
    )
    await admin.execute(
        "update waypost.template_versions set content = (select content from waypost.template_contents limit 1)"
        " where id = $1",
        inline,
    )
    with pytest.raises(SealBroken):
        await house.sent()
    async with house.work.begin("acme") as tx:
        with pytest.raises(SealBroken):
            await house.versions.load(tx, [(inline, None)])


async def test_stored_content_cannot_be_changed(
    house: House, connect: Callable[..., Awaitable[asyncpg.Connection]]
) -> None:
    await house.create()
    await house.publish_new()
    for role in ("api", "worker"):
        connection = await connect(role)
        await connection.execute("select set_config('app.tenant_id', 'acme', false)")
        for statement in (
            "update template_versions set content = ''",
            "update template_versions set semver = '9.9.9'",
            "update template_versions set locales = '{}'",
            "update template_contents set content = ''",
            "delete from template_contents",
            "delete from template_versions",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)


async def test_another_tenant_sees_nothing(house: House) -> None:
    await house.create()
    version = await house.publish_new()
    async with house.work.begin("rival") as tx:
        assert await house.versions.find_active(tx, "welcome", EMAIL) is None
        assert (await house.templates.catalog.page(tx, house.scope, None, None)).items == []
        assert await house.versions.load(tx, [(version.id, "en")]) == {}
        with pytest.raises(NotFound):
            await house.templates.catalog.get(tx, house.scope, "welcome", EMAIL)


async def test_changing_a_template(house: House) -> None:
    await house.create()
    await house.publish_new()

    async def change(**fields: Any) -> None:
        async with house.work.begin("acme") as tx:
            await house.templates.catalog.change(tx, house.scope, "welcome", EMAIL, TemplateChange(**fields))

    for fields, code in (
        ({"category": Category.MARKETING}, "category_fixed"),
        ({"default_locale": "de"}, "missing_default_locale"),
        ({"default_locale": "xx"}, "invalid_locale"),
        ({"topic": "nothing"}, "unknown_topic"),
        ({"name": ""}, "invalid_name"),
    ):
        with pytest.raises(Refused) as refused:
            await change(**fields)
        assert refused.value.code == code
    await change(name="Hello there")
    async with house.work.begin("acme") as tx:
        assert (await house.templates.catalog.get(tx, house.scope, "welcome", EMAIL)).name == "Hello there"


async def test_pages(house: House, clock: VirtualClock) -> None:
    for i in range(5):
        await house.create(f"key-{i}")
        await clock.advance(1)
    await house.create()
    for i in range(5):
        await house.draft(words(f"s{i}"))
    async with house.work.begin("acme") as tx:
        keys, cursor = list[str](), None
        while True:
            page = await house.templates.catalog.page(tx, house.scope, cursor, 4)
            keys += [template.key for template in page.items]
            if (cursor := page.next) is None:
                break
        assert keys == ["welcome", "key-4", "key-3", "key-2", "key-1", "key-0"]
        numbers, cursor = list[str](), None
        while True:
            versions = await house.templates.drafts.page(tx, house.scope, "welcome", EMAIL, cursor, 2)
            numbers += [version.semver for version in versions.items]
            if (cursor := versions.next) is None:
                break
        assert numbers == ["1.4.0", "1.3.0", "1.2.0", "1.1.0", "1.0.0"]


async def test_scopes_are_demanded(house: House) -> None:
    await house.create()
    await house.draft(is_ai_drafted=True, provenance=Provenance(model="m"))
    house.scope = Scope(
        tenant_id="acme",
        mode=TenantMode.SANDBOX,
        key_id=uuid4(),
        key_tenant="acme",
        permissions=frozenset({Permission.TEMPLATES_READ}),
        request_id="req",
    )
    for attempt in (house.create("other"), house.draft(), house.publish("1.0.0")):
        with pytest.raises(Forbidden):
            await attempt
    async with house.work.begin("acme") as tx:
        with pytest.raises(Forbidden):
            await house.templates.drafts.approve(tx, house.scope, "welcome", EMAIL, "1.0.0", approver="Me")
        with pytest.raises(Forbidden):
            await house.templates.catalog.archive(tx, house.scope, "welcome", EMAIL)
