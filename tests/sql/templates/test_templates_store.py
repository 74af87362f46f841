"""Templates on the real database: numbers, publishing, going back, approval, locales."""

import asyncio
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Conflict, Forbidden, NotFound, PreconditionFailed, Refused
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Category, Channel, TenantMode
from waypost.templates.catalog import TemplateChange
from waypost.templates.model import (
    Direction,
    Format,
    JsonObject,
    LocaleSource,
    Provenance,
    TemplateKind,
    VersionState,
)
from waypost.templates.preview import For

EMAIL = Channel.EMAIL
HELLO = LocaleSource(subject="Hello {{ name }}", body="<p>{{ name }}, from {{ city }}</p>", format=Format.HTML)
SCHEMA: JsonObject = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}


def words(said: str, /, **more: Any) -> LocaleSource:
    return LocaleSource(**{"subject": said, "body": f"<p>{said}</p>", "format": Format.HTML} | more)


async def test_from_draft_to_active_and_archived(house: Any, clock: VirtualClock) -> None:
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


async def test_going_back_sends_what_was_sent_then(house: Any) -> None:
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


async def test_what_cannot_be_published(house: Any) -> None:
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
async def test_numbers_are_new_and_grow(house: Any, asked: str, code: str) -> None:
    await house.create()
    await house.publish_new()
    with pytest.raises(Refused) as refused:
        await house.draft(semver=asked)
    assert [(error.pointer, error.code) for error in refused.value.errors] == [("/semver", code)]
    assert (await house.draft(semver="2.0.0")).semver == "2.0.0"
    assert (await house.draft()).semver == "2.1.0"
    assert (await house.draft(semver="1.5.0")).semver == "1.5.0", "between what is published and a draft"


async def test_bad_content_and_bad_schema_are_refused_and_not_stored(house: Any) -> None:
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


async def test_a_key_is_taken_once_per_tenant_and_channel(house: Any) -> None:
    await house.create()
    await house.create(tenant="rival")
    with pytest.raises(Conflict):
        await house.create()
    await house.create(channel=Channel.SMS)


async def test_drafts_and_publications_at_once_are_numbered_and_leave_one_active(
    house: Any, admin: asyncpg.Connection
) -> None:
    await house.create()
    drafts = await asyncio.gather(*(house.draft(words(f"s{i}")) for i in range(5)))
    numbers = sorted(draft.semver for draft in drafts)
    assert numbers == [f"1.{minor}.0" for minor in range(5)]
    await asyncio.gather(*(house.publish(number) for number in numbers))
    states = await admin.fetch("select state, count(*) from waypost.template_versions group by state order by state")
    assert [tuple(row) for row in states] == [("active", 1), ("archived", 4)]


async def test_the_database_allows_one_active_version_and_no_model_without_a_person(
    house: Any, admin: asyncpg.Connection
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


async def test_what_a_model_wrote_needs_a_name(house: Any) -> None:
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


async def test_everyone_reads_their_language(house: Any, admin: asyncpg.Connection) -> None:
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


async def test_changing_a_template(house: Any) -> None:
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


async def test_pages(house: Any, clock: VirtualClock) -> None:
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


async def test_scopes_are_demanded(house: Any) -> None:
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
