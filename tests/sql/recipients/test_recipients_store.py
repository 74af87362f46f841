"""People: made, read, changed and erased, on the real database and as the API's role."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import asyncpg
import pytest
from msgspec import UNSET

from waypost.adapters.postgres.queries import load
from waypost.kernel.errors import Conflict, NotFound, PreconditionFailed, Refused
from waypost.kernel.tenancy import Permission
from waypost.kernel.vault import SealBroken, place
from waypost.kernel.vocabulary import Channel
from waypost.recipients.model import RecipientFields, RecipientKind, Target


def _by_id(external_id: str, **said: Any) -> Target:
    return Target(id=external_id, fields=RecipientFields(**said))


def _by_address(**said: Any) -> Target:
    return Target(fields=RecipientFields(**said))


async def test_put_makes_then_merges(desk: Any) -> None:
    made = await desk.put(
        "user-42",
        email="Jane@Example.com",
        locale="en-us",
        timezone="Europe/Vienna",
        attributes={"first_name": "Jane", "plan": {"name": "pro", "seats": 3}},
    )
    assert (made.id, made.kind, made.version, made.locale) == ("user-42", RecipientKind.USER, 1, "en-US")
    assert [(address.channel, address.masked, address.current) for address in made.addresses] == [
        (Channel.EMAIL, "j***@example.com", True)
    ]
    await desk.clock.advance(1)
    merged = await desk.put("user-42", timezone=None, attributes={"plan": {"name": "free"}, "city": "Graz"})
    assert (merged.version, merged.locale, merged.timezone) == (2, "en-US", None)
    assert merged.attributes == {"first_name": "Jane", "plan": {"name": "free"}, "city": "Graz"}
    assert merged.addresses == made.addresses
    removed = await desk.put("user-42", attributes={"city": None})
    assert removed.attributes == {"first_name": "Jane", "plan": {"name": "free"}}
    assert (await desk.put("user-42", attributes=None, email=None)).addresses == ()
    assert (await desk.get("user-42")).attributes == {}


async def test_saying_nothing_new_changes_nothing(desk: Any, admin: asyncpg.Connection) -> None:
    before = await desk.put("user-42", email="jane@example.com", attributes={"a": 1}, locale="en")
    await desk.clock.advance(5)
    again = await desk.put("user-42", email="JANE@example.com", attributes={"a": 1, "b": None}, locale="EN")
    assert again == before
    assert await admin.fetchval("select count(*) from waypost.gate_changes") == 0
    actions = await admin.fetch("select action, subject from waypost.audit where tenant_id = 'acme'")
    assert [row["action"] for row in actions] == ["recipient.created"]
    assert actions[0]["subject"].startswith("rcp_")


async def test_nothing_personal_lies_open(desk: Any, admin: asyncpg.Connection) -> None:
    await desk.put("user-42", email="jane@example.com", phone="+14155550123", attributes={"first_name": "Jane"})
    for table in ("recipients", "addresses", "audit", "gate_changes"):
        for row in await admin.fetch(f"select t::text as everything from waypost.{table} t"):
            for secret in ("jane@", "Jane", "4155550123", b"jane@".hex(), b"Jane".hex(), b"4155550123".hex()):
                assert secret not in row["everything"]


async def test_patch_needs_someone_and_if_match_needs_the_version(desk: Any) -> None:
    scope = desk.scope
    async with desk.work.begin("acme") as tx:
        for missing in ("user-42", "rcp_01ARZ3NDEKTSV4RRFFQ69G5FAV", "bad id", "x\0y"):
            with pytest.raises(NotFound):
                await desk.recipients.patch(tx, scope, missing, RecipientFields(locale="en"))
            with pytest.raises(NotFound):
                await desk.recipients.get(tx, scope, missing)
        with pytest.raises(NotFound):
            await desk.recipients.put(tx, scope, "rcp_01ARZ3NDEKTSV4RRFFQ69G5FAV", RecipientFields(locale="en"))
        with pytest.raises(PreconditionFailed):
            await desk.recipients.put(tx, scope, "user-42", RecipientFields(locale="en"), version=1)
        put = await desk.recipients.put(tx, scope, "user-42", RecipientFields(locale="en"))
        assert put.created
        patched = await desk.recipients.patch(tx, scope, "user-42", RecipientFields(locale="de"), version=1)
        assert (patched.locale, patched.version) == ("de", 2)
        with pytest.raises(PreconditionFailed):
            await desk.recipients.patch(tx, scope, "user-42", RecipientFields(locale="fr"), version=1)
        with pytest.raises(Refused) as refusal:
            await desk.recipients.put(tx, scope, "no way", RecipientFields(email="nobody"))
    assert [error.pointer for error in refusal.value.errors] == ["/email", "/id"]


async def test_what_adds_up_to_too_much_is_refused(desk: Any) -> None:
    await desk.put("user-42", attributes={f"a{number}": 1 for number in range(150)})
    with pytest.raises(Refused) as refusal:
        await desk.put("user-42", attributes={f"b{number}": 1 for number in range(150)})
    assert [(error.pointer, error.code) for error in refusal.value.errors] == [("/attributes", "too_many")]
    assert len((await desk.get("user-42")).attributes) == 150


async def test_scopes_are_demanded(desk: Any) -> None:
    for held in (Permission.RECIPIENTS_READ, Permission.RECIPIENTS_WRITE):
        scope = replace(desk.scope, permissions=frozenset({held}))
        async with desk.work.begin("acme") as tx:
            reading = desk.people.search.page(tx, scope, None, None)
            writing = desk.recipients.put(tx, scope, "user-42", RecipientFields())
            allowed, refused = (reading, writing) if held is Permission.RECIPIENTS_READ else (writing, reading)
            await allowed
            with pytest.raises(Exception, match="lacks the scope"):
                await refused


async def test_recipients_are_listed_newest_first(desk: Any) -> None:
    for number in range(5):
        await desk.put(f"user-{number}", attributes={"number": number})
        await desk.clock.advance(1)
    await desk.erase("user-2")
    async with desk.work.begin("acme") as tx:
        page = await desk.people.search.page(tx, desk.scope, None, 3)
        rest = await desk.people.search.page(tx, desk.scope, page.next, 3)
    assert [recipient.attributes["number"] for recipient in (*page.items, *rest.items)] == [4, 3, 1, 0]
    assert rest.next is None


async def test_erasing_destroys_the_key_and_keeps_the_hash(desk: Any, admin: asyncpg.Connection) -> None:
    (before,) = await desk.resolve(_by_id("user-42", email="jane@example.com", attributes={"a": 1}, locale="en"))
    sealed = before.key.seal(b"payload", "x")
    await desk.clock.advance(1)
    await desk.erase("user-42")
    await desk.erase("user-42")
    row = await admin.fetchrow("select * from waypost.recipients")
    assert (row["external_id"], row["data_key"], row["attributes"], row["locale"]) == (
        f"#{row['id']}",
        None,
        None,
        None,
    )
    assert row["erased_at"] == desk.clock.now()
    address = await admin.fetchrow("select * from waypost.addresses")
    assert (address["status"], address["ciphertext"], address["hash"]) == ("revoked", b"", before.address_hash)
    assert await admin.fetchval("select recipient_id from waypost.gate_changes") == before.recipient_id
    assert [row["action"] for row in await admin.fetch("select action from waypost.audit order by id")] == [
        "recipient.erased"
    ]
    async with desk.work.begin("acme") as tx:
        key = await desk.keyring.of(tx)
    with pytest.raises(SealBroken):
        key.open(sealed, "x")
    with pytest.raises(NotFound):
        await desk.get("user-42")
    with pytest.raises(NotFound):
        await desk.erase("nobody")
    with pytest.raises(Conflict) as tombstone:
        await desk.put("user-42", email="jane@example.com")
    assert tombstone.value.code == "recipient_erased"
    (newcomer,) = await desk.resolve(_by_address(email="jane@example.com"))
    assert newcomer.recipient_id != before.recipient_id


async def test_changes_that_concern_the_gate_are_noted(desk: Any, admin: asyncpg.Connection) -> None:
    async def noted() -> int:
        count = await admin.fetchval("select count(*) from waypost.gate_changes")
        await admin.execute("delete from waypost.gate_changes")
        return count

    await desk.put("user-42", email="jane@example.com")
    assert await noted() == 0
    for said, expected in (
        ({"attributes": {"a": 1}}, 0),
        ({"locale": "de"}, 0),
        ({"timezone": "Europe/Vienna"}, 1),
        ({"email": "new@example.com"}, 1),
        ({"email": "jane@example.com"}, 1),
        ({"email": None}, 1),
        ({"email": UNSET}, 0),
    ):
        await desk.put("user-42", **said)
        assert await noted() == expected, said


async def test_tenants_are_apart(desk: Any) -> None:
    (ours,) = await desk.resolve(_by_id("user-42", email="jane@example.com"))
    (theirs,) = await desk.resolve(_by_id("user-42", email="jane@example.com"), tenant_id="other")
    assert ours.recipient_id != theirs.recipient_id
    assert ours.address_hash != theirs.address_hash
    async with desk.work.begin("other") as tx:
        key = await desk.keyring.of(tx)
        with pytest.raises(SealBroken):
            key.unwrap(ours.wrapped_key, place("data_key", "acme", ours.recipient_id))


async def test_the_api_s_role_reaches_people_by_index(
    desk: Any, admin: asyncpg.Connection, connect: Callable[..., Awaitable[asyncpg.Connection]]
) -> None:
    await admin.execute(
        """
        insert into waypost.recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)
        select 'acme', gen_random_uuid(), 'user-' || n, 'user', '', now(), now() from generate_series(1, 20000) n;
        insert into waypost.addresses
            (tenant_id, id, recipient_id, channel, hash, ciphertext, status, given_at, created_at, updated_at)
        select 'acme', gen_random_uuid(), id, 1, 'sha256:' || encode(sha256(external_id::bytea), 'hex'), '', 'active',
               now(), now(), now()
        from waypost.recipients;
        analyze waypost.recipients, waypost.addresses
        """
    )
    ids = [row["id"] for row in await admin.fetch("select id from waypost.recipients limit 100")]
    hashes = [row["hash"] for row in await admin.fetch("select hash from waypost.addresses limit 100")]
    api = await connect("api")
    await api.execute("select set_config('app.tenant_id', 'acme', false)")
    statements = load("recipients")
    for name, arguments in (
        ("by_external_ids", ("acme", [f"user-{number}" for number in range(100)])),
        ("lock_recipients", ("acme", ids)),
        ("addresses_of_recipients", ("acme", ids)),
        ("look_up", ("acme", ["user-1", "user-2"], [1] * len(hashes), hashes, True)),
        ("page_of_recipients", ("acme", None, 21)),
        ("revoke_addresses", ("acme", ids, desk.clock.now())),
    ):
        plan = "\n".join(row[0] for row in await api.fetch("explain (costs off) " + statements[name], *arguments))
        assert "Index" in plan, (name, plan)
        assert "Seq Scan" not in plan, (name, plan)
