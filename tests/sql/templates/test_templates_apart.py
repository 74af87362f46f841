"""Templates on the real database: the platform's and a tenant's own, partials, inline content, and what lies sealed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from waypost.adapters.postgres.work import PgWork
from waypost.kernel.errors import NotFound, Refused
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vault import SealBroken
from waypost.kernel.vocabulary import Channel
from waypost.templates.model import (
    Content,
    Format,
    LocaleSource,
    TemplateKind,
)
from waypost.templates.rules import wording_for

EMAIL = Channel.EMAIL


def words(said: str, /, **more: Any) -> LocaleSource:
    return LocaleSource(**{"subject": said, "body": f"<p>{said}</p>", "format": Format.HTML} | more)


async def test_the_platforms_templates_serve_everyone_until_they_are_overridden(house: Any) -> None:
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
    house: Any, connect: Callable[..., Awaitable[asyncpg.Connection]], worker_work: PgWork
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


async def test_only_published_partials_of_one_s_own_or_the_platform_are_found(house: Any) -> None:
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


async def test_circles_are_refused_by_field(house: Any) -> None:
    for key in ("a", "b"):
        await house.create(key, kind=TemplateKind.PARTIAL)
    await house.publish_new(words("", subject="", body="leaf"), key="a")
    await house.publish_new(words("", subject="", body='{% include "a" %}'), key="b")
    for body in ('{% include "b" %}', '{% include "a" %}'):
        with pytest.raises(Refused) as refused:
            await house.draft(words("", subject="", body=body), key="a")
        assert [(e.pointer, e.code) for e in refused.value.errors] == [("/locales/en/body", "cyclic_layout")]


async def test_inline_content_is_kept_once_per_tenant(house: Any, admin: asyncpg.Connection) -> None:
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


async def test_bad_inline_content_is_refused_by_pointer(house: Any, admin: asyncpg.Connection) -> None:
    with pytest.raises(Refused) as refused:
        await house.inline(Content(subject="s", html="{% if %}"))
    assert [(e.pointer, e.code) for e in refused.value.errors] == [("/content/html", "template_syntax")]
    assert await admin.fetchval("select count(*) from waypost.template_versions") == 0


async def test_nothing_readable_lies_in_the_tables_and_nothing_opens_elsewhere(
    house: Any, admin: asyncpg.Connection
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
    house: Any, connect: Callable[..., Awaitable[asyncpg.Connection]]
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


async def test_another_tenant_sees_nothing(house: Any) -> None:
    await house.create()
    version = await house.publish_new()
    async with house.work.begin("rival") as tx:
        assert await house.versions.find_active(tx, "welcome", EMAIL) is None
        assert (await house.templates.catalog.page(tx, house.scope, None, None)).items == []
        assert await house.versions.load(tx, [(version.id, "en")]) == {}
        with pytest.raises(NotFound):
            await house.templates.catalog.get(tx, house.scope, "welcome", EMAIL)
