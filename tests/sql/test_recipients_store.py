"""People: found, made, merged and erased, on the real database and as the API's role."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import pytest
from msgspec import UNSET

from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.queries import load
from waypost.adapters.postgres.recipients import PgAddressStore, PgRecipientStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.bootstrap.recipients import join_recipients
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Conflict, NotFound, PreconditionFailed, Refused
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import SealBroken, place
from waypost.kernel.vocabulary import Channel
from waypost.recipients.desk import RecipientDesk
from waypost.recipients.model import AddressStatus, Recipient, RecipientFields, RecipientKind, Resolved, Target
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


def _by_id(external_id: str, **said: Any) -> Target:
    return Target(id=external_id, fields=RecipientFields(**said))


def _by_address(**said: Any) -> Target:
    return Target(fields=RecipientFields(**said))


def _known(external_id: str) -> Target:
    return Target(id=external_id, must_exist=True)


def _text(resolved: Resolved) -> str | None:
    return resolved.address.text if resolved.address else None


async def test_put_makes_then_merges(desk: Desk) -> None:
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


async def test_saying_nothing_new_changes_nothing(desk: Desk, admin: asyncpg.Connection) -> None:
    before = await desk.put("user-42", email="jane@example.com", attributes={"a": 1}, locale="en")
    await desk.clock.advance(5)
    again = await desk.put("user-42", email="JANE@example.com", attributes={"a": 1, "b": None}, locale="EN")
    assert again == before
    assert await admin.fetchval("select count(*) from waypost.gate_changes") == 0
    actions = await admin.fetch("select action, subject from waypost.audit where tenant_id = 'acme'")
    assert [row["action"] for row in actions] == ["recipient.created"]
    assert actions[0]["subject"].startswith("rcp_")


async def test_nothing_personal_lies_open(desk: Desk, admin: asyncpg.Connection) -> None:
    await desk.put("user-42", email="jane@example.com", phone="+14155550123", attributes={"first_name": "Jane"})
    for table in ("recipients", "addresses", "audit", "gate_changes"):
        for row in await admin.fetch(f"select t::text as everything from waypost.{table} t"):
            for secret in ("jane@", "Jane", "4155550123", b"jane@".hex(), b"Jane".hex(), b"4155550123".hex()):
                assert secret not in row["everything"]


async def test_patch_needs_someone_and_if_match_needs_the_version(desk: Desk) -> None:
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


async def test_what_adds_up_to_too_much_is_refused(desk: Desk) -> None:
    await desk.put("user-42", attributes={f"a{number}": 1 for number in range(150)})
    with pytest.raises(Refused) as refusal:
        await desk.put("user-42", attributes={f"b{number}": 1 for number in range(150)})
    assert [(error.pointer, error.code) for error in refusal.value.errors] == [("/attributes", "too_many")]
    assert len((await desk.get("user-42")).attributes) == 150


async def test_scopes_are_demanded(desk: Desk) -> None:
    for held in (Permission.RECIPIENTS_READ, Permission.RECIPIENTS_WRITE):
        scope = replace(desk.scope, permissions=frozenset({held}))
        async with desk.work.begin("acme") as tx:
            reading = desk.people.search.page(tx, scope, None, None)
            writing = desk.recipients.put(tx, scope, "user-42", RecipientFields())
            allowed, refused = (reading, writing) if held is Permission.RECIPIENTS_READ else (writing, reading)
            await allowed
            with pytest.raises(Exception, match="lacks the scope"):
                await refused


async def test_recipients_are_listed_newest_first(desk: Desk) -> None:
    for number in range(5):
        await desk.put(f"user-{number}", attributes={"number": number})
        await desk.clock.advance(1)
    await desk.erase("user-2")
    async with desk.work.begin("acme") as tx:
        page = await desk.people.search.page(tx, desk.scope, None, 3)
        rest = await desk.people.search.page(tx, desk.scope, page.next, 3)
    assert [recipient.attributes["number"] for recipient in (*page.items, *rest.items)] == [4, 3, 1, 0]
    assert rest.next is None


async def test_the_newest_given_address_is_used(desk: Desk) -> None:
    await desk.put("user-42", email="one@example.com")
    (second,) = await desk.resolve(_by_id("user-42", email="two@example.com"))
    assert _text(second) == "two@example.com"
    (plain,) = await desk.resolve(_known("user-42"))
    assert (_text(plain), plain.address_id) == ("two@example.com", second.address_id)
    (first_again,) = await desk.resolve(_by_id("user-42", email="one@example.com"))
    assert _text(first_again) == "one@example.com"
    (plain,) = await desk.resolve(_known("user-42"))
    assert _text(plain) == "one@example.com"
    addresses = (await desk.get("user-42")).addresses
    assert [(address.masked, address.current) for address in addresses] == [
        ("o***@example.com", True),
        ("t***@example.com", False),
    ]


async def test_suppressing_an_old_address_does_not_bring_it_to_the_front(desk: Desk, admin: asyncpg.Connection) -> None:
    (old,) = await desk.resolve(_by_id("user-42", email="old@example.com"))
    await desk.resolve(_by_id("user-42", email="new@example.com"))
    await admin.execute(
        "update waypost.addresses set status = 'suppressed', updated_at = now() + interval '1 day' where id = $1",
        old.address_id,
    )
    (used,) = await desk.resolve(_known("user-42"))
    assert _text(used) == "new@example.com"
    (asked,) = await desk.resolve(_by_id("user-42", email="old@example.com"))
    assert (asked.address_id, asked.address_status) == (old.address_id, AddressStatus.SUPPRESSED)


async def test_ten_addresses_are_kept(desk: Desk) -> None:
    for number in range(13):
        await desk.put("user-42", email=f"jane{number}@example.com")
    async with desk.work.begin("acme") as tx:
        addresses = await desk.recipients.addresses(tx, desk.scope, "user-42")
    assert len(addresses) == 10
    (used,) = await desk.resolve(_known("user-42"))
    assert _text(used) == "jane12@example.com"
    (stranger,) = await desk.resolve(_by_address(email="jane0@example.com"))
    assert stranger.external_id != "user-42"


async def test_an_address_can_be_revoked_and_given_again(desk: Desk) -> None:
    await desk.put("user-42", email="one@example.com")
    await desk.put("user-42", email="two@example.com")
    current, other = (await desk.get("user-42")).addresses
    async with desk.work.begin("acme") as tx:
        await desk.people.addresses.revoke(tx, desk.scope, "user-42", current.id)
        with pytest.raises(NotFound):
            await desk.people.addresses.revoke(tx, desk.scope, "user-42", current.id)
    after = await desk.get("user-42")
    assert ([address.id for address in after.addresses], after.version) == ([other.id], 3)
    again = await desk.put("user-42", email="two@example.com")
    assert again.addresses[0].id not in (current.id, other.id)


async def test_an_address_alone_finds_its_one_owner_or_makes_an_anonymous_one(desk: Desk) -> None:
    (anonymous,) = await desk.resolve(_by_address(email="jane@example.com", attributes={"first_name": "Jane"}))
    assert anonymous.external_id.startswith("rcp_")
    assert (await desk.get(anonymous.external_id)).kind is RecipientKind.ANONYMOUS
    (again,) = await desk.resolve(_by_address(email="JANE@example.com"))
    assert (again.recipient_id, again.attributes) == (anonymous.recipient_id, {"first_name": "Jane"})
    (by_minted_id,) = await desk.resolve(_known(anonymous.external_id))
    assert by_minted_id.recipient_id == anonymous.recipient_id
    # Someone with an id of their own who takes the address is who it means from now on.
    await desk.put("user-42", email="jane@example.com")
    (named,) = await desk.resolve(_by_address(email="jane@example.com"))
    assert named.external_id == "user-42"
    await desk.put("user-43", email="jane@example.com")
    with pytest.raises(Refused) as refusal:
        await desk.resolve(_by_address(email="jane@example.com"), is_list=False)
    assert [(error.pointer, error.code) for error in refusal.value.errors] == [("/to/email", "ambiguous_recipient")]


async def test_phones(desk: Desk) -> None:
    (by_phone,) = await desk.resolve(_by_address(phone="+1 415 555 0123"), channel=Channel.SMS)
    (again,) = await desk.resolve(_by_address(phone="+14155550123"), channel=Channel.WHATSAPP)
    assert by_phone.recipient_id == again.recipient_id
    assert repr(again.address) == "Address(+1******23)"
    (no_email,) = await desk.resolve(_known(by_phone.external_id))
    assert (no_email.address, no_email.address_id, no_email.address_status) == (None, None, None)


async def test_bad_members_refuse_the_whole_call_by_pointer(desk: Desk, admin: asyncpg.Connection) -> None:
    await desk.put("erased")
    await desk.erase("erased")
    before = await admin.fetchval("select count(*) from waypost.recipients")
    with pytest.raises(Refused) as refusal:
        await desk.resolve(
            _by_id("good", email="good@example.com"),
            _by_id("bad id"),
            _by_id("user-1", email="nobody"),
            _by_address(attributes={"a": 1}),
            _by_address(email=None),
            Target(id="bad string", must_exist=True),
        )
    assert [(error.pointer, error.code) for error in refusal.value.errors] == [
        ("/to/1/id", "invalid_id"),
        ("/to/2/email", "invalid_address"),
        ("/to/3", "required"),
        ("/to/4", "required"),
        ("/to/5", "invalid_id"),
    ]
    with pytest.raises(Refused) as unknown:
        await desk.resolve(
            _by_id("good", email="good@example.com"),
            _known("nobody"),
            _by_id("rcp_01ARZ3NDEKTSV4RRFFQ69G5FAV", email="x@example.com"),
            _by_id("erased", email="x@example.com"),
        )
    assert {(error.pointer, error.code) for error in unknown.value.errors} == {
        ("/to/1", "unknown_recipient"),
        ("/to/2", "unknown_recipient"),
        ("/to/3", "recipient_erased"),
    }
    with pytest.raises(Refused) as single:
        await desk.resolve(_known("nobody"), is_list=False)
    assert single.value.errors[0].pointer == "/to"
    with pytest.raises(Refused):
        await desk.resolve(_by_id("rcp_made-up", email="x@example.com"), _by_address(email="x@example.com"))
    assert await admin.fetchval("select count(*) from waypost.recipients") == before


async def test_mentions_of_one_person_collapse(desk: Desk) -> None:
    await desk.put("user-1", email="one@example.com")
    resolved = await desk.resolve(
        _by_address(email="new@example.com"),
        _known("user-1"),
        _by_id("user-2", email="two@example.com", attributes={"a": 1, "b": 1}),
        _by_id("user-1", email="other@example.com"),
        _by_address(email="NEW@example.com"),
        _by_id("user-2", attributes={"b": 2}),
        _by_address(email="two@example.com"),
        _by_address(email="one@example.com"),
    )
    assert [(person.position, _text(person)) for person in resolved] == [
        (0, "new@example.com"),
        (1, "one@example.com"),
        (2, "two@example.com"),
    ]
    assert resolved[2].attributes == {"a": 1, "b": 2}
    assert (await desk.get("user-2")).version == 1


async def test_resolving_gives_all_that_a_message_needs(desk: Desk) -> None:
    await desk.put("user-1", email="jane@example.com", locale="de-AT", timezone="Europe/Vienna", attributes={"x": [1]})
    (person,) = await desk.resolve(_known("user-1"))
    assert (person.locale, person.timezone, person.attributes) == ("de-AT", "Europe/Vienna", {"x": [1]})
    async with desk.work.begin("acme") as tx:
        key = await desk.keyring.of(tx)
    unwrapped = key.unwrap(person.wrapped_key, place("data_key", "acme", person.recipient_id))
    assert unwrapped.open(person.key.seal(b"payload", "x"), "x") == b"payload"
    assert person.address_hash == key.hash_address("email", "jane@example.com")
    assert "jane@" not in repr(person)
    assert "'x'" not in repr(person)


async def test_a_thousand_at_once_cost_a_handful_of_statements(desk: Desk) -> None:
    targets = [_by_id(f"user-{number}", email=f"u{number}@example.com") for number in range(500)]
    targets += [_by_address(email=f"a{number}@example.com", attributes={"n": number}) for number in range(500)]
    counts = []
    for _ in range(2):
        async with desk.work.begin("acme") as tx:
            await desk.keyring.of(tx)
            statements: list[str] = []
            tx.connection.add_query_logger(lambda query, log=statements: log.append(query.query))
            resolved = await desk.resolver.resolve(tx, targets, Channel.EMAIL)
        counts.append(sum(statement.startswith("/* recipients.") for statement in statements))
        assert len(resolved) == 1000
        assert len({person.recipient_id for person in resolved}) == 1000
        assert [_text(person) for person in resolved][::499] == [
            "u0@example.com",
            "u499@example.com",
            "a498@example.com",
        ]
    assert counts == [5, 1]


async def test_erasing_destroys_the_key_and_keeps_the_hash(desk: Desk, admin: asyncpg.Connection) -> None:
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


async def test_changes_that_concern_the_gate_are_noted(desk: Desk, admin: asyncpg.Connection) -> None:
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


async def test_many_at_once_make_one_person(desk: Desk, admin: asyncpg.Connection) -> None:
    by_id = [desk.resolve(_by_id("user-42", email="jane@example.com")) for _ in range(10)]
    by_address = [desk.resolve(_by_address(email="joan@example.com")) for _ in range(10)]
    resolved = [person for (person,) in await asyncio.gather(*by_id, *by_address)]
    assert len({person.recipient_id for person in resolved[:10]}) == 1
    assert len({person.recipient_id for person in resolved[10:]}) == 1
    assert await admin.fetchval("select count(*) from waypost.recipients") == 2
    assert await admin.fetchval("select count(*) from waypost.addresses") == 2


async def test_overlapping_lists_in_opposite_order_do_not_deadlock(desk: Desk, admin: asyncpg.Connection) -> None:
    def people(round_number: int) -> list[Target]:
        named = [
            _by_id(f"user-{number}", email=f"u{number}@example.com", attributes={f"r{round_number}": number})
            for number in range(20)
        ]
        strangers = [_by_address(email=f"s{number}@example.com", attributes={"r": 1}) for number in range(20)]
        return [*named, *strangers]

    for _ in range(2):
        await asyncio.gather(*[desk.resolve(*(people(n) if n % 2 else list(reversed(people(n))))) for n in range(8)])
    assert await admin.fetchval("select count(*) from waypost.recipients") == 40
    assert await admin.fetchval("select count(*) from waypost.addresses") == 40
    # No word was lost: each call's own attribute is there.
    assert (await desk.get("user-7")).attributes == {f"r{number}": 7 for number in range(8)}


async def test_tenants_are_apart(desk: Desk) -> None:
    (ours,) = await desk.resolve(_by_id("user-42", email="jane@example.com"))
    (theirs,) = await desk.resolve(_by_id("user-42", email="jane@example.com"), tenant_id="other")
    assert ours.recipient_id != theirs.recipient_id
    assert ours.address_hash != theirs.address_hash
    async with desk.work.begin("other") as tx:
        key = await desk.keyring.of(tx)
        with pytest.raises(SealBroken):
            key.unwrap(ours.wrapped_key, place("data_key", "acme", ours.recipient_id))


async def test_the_api_s_role_reaches_people_by_index(
    desk: Desk, admin: asyncpg.Connection, connect: Callable[..., Awaitable[asyncpg.Connection]]
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
        ("look_up", ("acme", ["user-1", "user-2"], [1] * len(hashes), hashes)),
        ("page_of_recipients", ("acme", None, 21)),
        ("revoke_addresses", ("acme", ids, desk.clock.now())),
    ):
        plan = "\n".join(row[0] for row in await api.fetch("explain (costs off) " + statements[name], *arguments))
        assert "Index" in plan, (name, plan)
        assert "Seq Scan" not in plan, (name, plan)
