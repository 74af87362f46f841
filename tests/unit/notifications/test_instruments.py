"""What messages are tracked with: under the tenant's own name where it has one, the same for a version's messages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

from waypost.adapters.vault.keyring import OpenTenantKey
from waypost.bootstrap.tracking import TrackingHosts
from waypost.domains.model import HeldDomain, Purpose, Standing
from waypost.kernel import tokens
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import NotFound
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.notifications.instruments import Instruments, Tracked
from waypost.templates.ports import MARK
from waypost.tracking.link_token import link_key_of
from waypost.tracking.rules import CLICKS, OPENS

KEY = OpenTenantKey(b"a" * 32)
OURS = "https://waypost.example"


class Row:
    """As much of what a worker holds as is asked here."""

    def __init__(self, version_id: UUID, tenant_id: str = "acme") -> None:
        self.tenant_id, self.version_id, self.id = tenant_id, version_id, uuid4()


class Domains:
    def __init__(self, **names: Purpose) -> None:
        self.names = names
        self.asked = 0

    async def standing(self, tx: Transaction, *, with_keys: bool = False) -> Standing:
        self.asked += 1
        if tx.tenant_id == "gone":
            raise NotFound("gone")
        held = [
            HeldDomain(name=name.replace("_", "."), purposes=frozenset({purpose}))
            for name, purpose in self.names.items()
        ]
        return Standing(mode=TenantMode.LIVE, domains=tuple(held))

    @asynccontextmanager
    async def begin(self, tenant_id: str) -> AsyncIterator[Transaction]:
        yield Transaction(tenant_id)


async def made(domains: Domains, tracks: int = OPENS | CLICKS, tenant: str = "acme") -> Any:
    instruments = Instruments(host=TrackingHosts(OURS, domains), public_url=OURS, clock=VirtualClock())
    await instruments.prepare(domains, {tenant})  # pyright: ignore[reportArgumentType]
    row = Row(uuid4(), tenant)
    tracked = instruments.of(row, tracks, KEY)  # pyright: ignore[reportArgumentType]
    return tracked and (tracked.instrument, marks_of(tracked, row))


def marks_of(tracked: Tracked, row: Row) -> dict[str, Any]:
    marks: dict[str, Any] = {}
    tracked.mark(row.id, marks)
    return marks


async def test_a_tenant_s_own_tracking_domain_counts_and_only_that() -> None:
    instrument, _ = await made(Domains(links_example_com=Purpose.TRACKING, example_com=Purpose.FROM))
    assert (instrument.opens, instrument.clicks) == ("https://links.example.com/t/o/", "https://links.example.com/t/c/")
    instrument, _ = await made(Domains(example_com=Purpose.FROM))
    assert instrument.clicks == f"{OURS}/t/c/"
    assert instrument.spared == (f"{OURS}/u/", f"{OURS}/p/")
    instrument, _ = await made(Domains(), tenant="gone")
    assert instrument.clicks == f"{OURS}/t/c/"


async def test_only_what_is_wanted_is_made() -> None:
    assert await made(Domains(), 0) is None
    instrument, marks = await made(Domains(), OPENS)
    assert (instrument.clicks, list(marks)) == ("", [MARK])
    instrument, marks = await made(Domains(), CLICKS)
    assert (instrument.opens, list(marks)) == ("", [MARK])


async def test_messages_of_a_version_share_it_and_each_has_its_own_marks() -> None:
    domains, clock, version = Domains(), VirtualClock(), uuid4()
    instruments = Instruments(host=TrackingHosts(OURS, domains), public_url=OURS, clock=clock)
    for _ in range(3):
        await instruments.prepare(domains, {"acme"})  # pyright: ignore[reportArgumentType]
    assert domains.asked == 1
    rows: list[Any] = [Row(version), Row(version), Row(uuid4())]
    found = [(instruments.of(row, OPENS | CLICKS, KEY), row) for row in rows]
    assert all(tracked for tracked, _ in found)
    one, two, three = (tracked.instrument for tracked, _ in found if tracked)
    marks, others, _ = (marks_of(tracked, row) for tracked, row in found if tracked)
    assert one is two
    assert (one.version, one.key) == (version.bytes, link_key_of(KEY, version))
    assert three.key != one.key
    assert marks[MARK] != others[MARK]
    claim = tokens.read(marks[MARK])
    assert claim is not None
    assert (claim.token.subject, claim.is_genuine(KEY)) == (rows[0].id.bytes, True)
    assert "…" in repr(one)
    await clock.advance(61)
    await instruments.prepare(domains, {"acme"})  # pyright: ignore[reportArgumentType]
    assert domains.asked == 2
