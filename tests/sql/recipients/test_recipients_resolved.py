"""Whom a call means: by id or by address, which address is used, and many at once."""

import asyncio
from typing import Any

import asyncpg
import pytest

from waypost.kernel.errors import NotFound, Refused
from waypost.kernel.vault import place
from waypost.kernel.vocabulary import Channel
from waypost.recipients.model import AddressStatus, RecipientFields, RecipientKind, Resolved, Target


def _by_id(external_id: str, **said: Any) -> Target:
    return Target(id=external_id, fields=RecipientFields(**said))


def _by_address(**said: Any) -> Target:
    return Target(fields=RecipientFields(**said))


def _known(external_id: str) -> Target:
    return Target(id=external_id, must_exist=True)


def _text(resolved: Resolved) -> str | None:
    return resolved.address.text if resolved.address else None


async def test_the_newest_given_address_is_used(desk: Any) -> None:
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


async def test_suppressing_an_old_address_does_not_bring_it_to_the_front(desk: Any, admin: asyncpg.Connection) -> None:
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


async def test_ten_addresses_are_kept(desk: Any) -> None:
    for number in range(13):
        await desk.put("user-42", email=f"jane{number}@example.com")
    async with desk.work.begin("acme") as tx:
        addresses = await desk.recipients.addresses(tx, desk.scope, "user-42")
    assert len(addresses) == 10
    (used,) = await desk.resolve(_known("user-42"))
    assert _text(used) == "jane12@example.com"
    (stranger,) = await desk.resolve(_by_address(email="jane0@example.com"))
    assert stranger.external_id != "user-42"


async def test_an_address_can_be_revoked_and_given_again(desk: Any) -> None:
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


async def test_an_address_alone_finds_its_one_owner_or_makes_an_anonymous_one(desk: Any) -> None:
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


async def test_phones(desk: Any) -> None:
    (by_phone,) = await desk.resolve(_by_address(phone="+1 415 555 0123"), channel=Channel.SMS)
    (again,) = await desk.resolve(_by_address(phone="+14155550123"), channel=Channel.WHATSAPP)
    assert by_phone.recipient_id == again.recipient_id
    assert repr(again.address) == "Address(+1******23)"
    (no_email,) = await desk.resolve(_known(by_phone.external_id))
    assert (no_email.address, no_email.address_id, no_email.address_status) == (None, None, None)


async def test_bad_members_refuse_the_whole_call_by_pointer(desk: Any, admin: asyncpg.Connection) -> None:
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


async def test_mentions_of_one_person_collapse(desk: Any) -> None:
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


async def test_resolving_gives_all_that_a_message_needs(desk: Any) -> None:
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


async def test_a_thousand_at_once_cost_a_handful_of_statements(desk: Any) -> None:
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
    assert counts == [4, 1]


async def test_many_at_once_make_one_person(desk: Any, admin: asyncpg.Connection) -> None:
    by_id = [desk.resolve(_by_id("user-42", email="jane@example.com")) for _ in range(10)]
    by_address = [desk.resolve(_by_address(email="joan@example.com")) for _ in range(10)]
    resolved = [person for (person,) in await asyncio.gather(*by_id, *by_address)]
    assert len({person.recipient_id for person in resolved[:10]}) == 1
    assert len({person.recipient_id for person in resolved[10:]}) == 1
    assert await admin.fetchval("select count(*) from waypost.recipients") == 2
    assert await admin.fetchval("select count(*) from waypost.addresses") == 2


async def test_overlapping_lists_in_opposite_order_do_not_deadlock(desk: Any, admin: asyncpg.Connection) -> None:
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
