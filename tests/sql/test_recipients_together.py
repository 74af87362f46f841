"""Many people in one statement: columns that say the same of all and columns that do not, and foreign keys that are
checked by an index whatever was known of the tables when the check was planned."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from waypost.adapters.postgres.recipients import PgAddressStore, PgRecipientStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork, connection_of
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.clock import VirtualClock
from waypost.kernel.vocabulary import Channel
from waypost.recipients.model import Known, RecipientFields, RecipientKind, Target
from waypost.recipients.people import People
from waypost.recipients.resolve import Resolver

VAULT = LocalVault(MasterKey(bytes(range(32))))
_WHOLE_READS = "select seq_scan from pg_stat_xact_user_tables where schemaname = 'waypost' and relname = 'recipients'"


@dataclass(frozen=True, kw_only=True)
class House:
    work: PgWork
    people: People
    resolver: Resolver

    async def bring(self, **said: RecipientFields) -> dict[str, Known]:
        """Who they are afterwards, by id."""
        targets = [Target(id=name, fields=fields) for name, fields in said.items()]
        async with self.work.begin("acme") as tx:
            await self.resolver.resolve(tx, targets, Channel.EMAIL)
            return {one.row.external_id: one for one in await self.people.look_up(tx, list(said))}


@pytest.fixture
async def house(api_work: PgWork, clock: VirtualClock, make_tenant: Callable[..., Awaitable[str]]) -> House:
    await make_tenant("acme", wrapped_key=VAULT.new_tenant_key("acme"))
    keyring, addresses, rows = PgKeyring(VAULT), PgAddressStore(), PgRecipientStore()
    people = People(recipients=rows, addresses=addresses, keyring=keyring, clock=clock)
    resolver = Resolver(people=people, recipients=rows, addresses=addresses, keyring=keyring, clock=clock)
    return House(work=api_work, people=people, resolver=resolver)


async def test_people_who_are_all_alike_and_people_who_are_not(house: House):
    alike = RecipientFields(kind=RecipientKind.GUEST, locale="de-AT", timezone="Europe/Vienna", phone="+431234567")
    found = await house.bring(a=alike, b=alike, c=alike)
    assert {(one.row.kind, one.row.locale, one.row.timezone) for one in found.values()} == {
        (RecipientKind.GUEST, "de-AT", "Europe/Vienna")
    }
    assert [[address.channel for address in one.addresses] for one in found.values()] == [[Channel.SMS]] * 3
    found = await house.bring(
        d=RecipientFields(locale="en"),
        e=RecipientFields(kind=RecipientKind.VENDOR, timezone="UTC", email="e@example.com", phone="+431234568"),
        f=RecipientFields(email="f@example.com"),
    )
    assert {name: (one.row.kind, one.row.locale, one.row.timezone) for name, one in found.items()} == {
        "d": (RecipientKind.USER, "en", None),
        "e": (RecipientKind.VENDOR, None, "UTC"),
        "f": (RecipientKind.USER, None, None),
    }
    channels = {name: {address.channel for address in one.addresses} for name, one in found.items()}
    assert channels == {"d": set(), "e": {Channel.EMAIL, Channel.SMS}, "f": {Channel.EMAIL}}
    found = await house.bring(g=RecipientFields(), h=RecipientFields())
    assert {(one.row.locale, one.row.timezone, one.addresses) for one in found.values()} == {(None, None, ())}


async def test_people_are_added_without_reading_everyone_who_is_there(
    house: House, connect: Callable[..., Awaitable[Any]]
):
    # As autovacuum does it on a table that was just emptied.
    await (await connect("admin")).execute("analyze waypost.recipients")
    newcomers = [Target(id=f"u{n}", fields=RecipientFields(email=f"u{n}@example.com")) for n in range(20)]
    async with house.work.begin("acme") as tx:
        await house.resolver.resolve(tx, newcomers, Channel.EMAIL)
        assert await connection_of(tx).fetchval(_WHOLE_READS) == 0
