"""A worker knows by itself when it may begin, and when it may judge others."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID, uuid4

from waypost.delivery.lease import Lease
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Unavailable


class Leases:
    """Renews, or is away."""

    def __init__(self) -> None:
        self.away = False

    async def renew(self, worker_id: UUID, lease_seconds: float) -> datetime:
        if self.away:
            raise Unavailable("away")
        return datetime.now(UTC)


def make() -> tuple[Lease, VirtualClock, Leases]:
    clock, leases = VirtualClock(), Leases()
    lease = Lease(
        store=leases,  # type: ignore[arg-type]
        clock=clock,
        worker_id=uuid4(),
        seconds=30,
        tell_time=lambda _: None,
    )
    return lease, clock, leases


async def test_nothing_begins_before_the_first_beat() -> None:
    lease, _, _ = make()
    assert not lease.may_start_sending
    await lease.renew()
    assert lease.may_start_sending


async def test_nothing_begins_when_the_lease_is_nearly_out() -> None:
    lease, clock, _ = make()
    await lease.renew()
    await clock.advance(19)
    assert lease.may_start_sending
    await clock.advance(2)
    assert not lease.may_start_sending


async def test_only_an_unbroken_view_of_a_whole_lease_allows_to_judge() -> None:
    lease, clock, _ = make()
    await lease.renew()
    for _ in range(6):
        await clock.advance(5)
        await lease.renew()
        assert not lease.may_judge_others
    await clock.advance(5)
    await lease.renew()
    assert lease.may_judge_others
    await clock.advance(25)
    await lease.renew()
    assert lease.may_start_sending
    assert not lease.may_judge_others


async def test_a_lapse_begins_a_new_term() -> None:
    lease, clock, _ = make()
    await lease.renew()
    term = lease.term
    await clock.advance(15)
    await lease.renew()
    assert lease.term == term
    await clock.advance(21)
    await lease.renew()
    assert lease.term == term + 1


async def test_it_beats_on_while_the_database_is_away() -> None:
    lease, clock, leases = make()
    beating = asyncio.create_task(lease.keep())
    await clock.advance(0)
    leases.away = True
    await clock.advance(40)
    assert not lease.may_start_sending
    leases.away = False
    await clock.advance(5)
    assert lease.may_start_sending
    beating.cancel()


async def test_a_message_begins_only_in_the_term_of_its_claim_and_while_most_of_the_lease_is_left() -> None:
    lease, clock, _ = make()
    assert not lease.may_begin(lease.term)
    await lease.renew()
    term = lease.term
    await clock.advance(19)
    assert lease.may_begin(term)
    await clock.advance(2)
    assert not lease.may_begin(term)
    await lease.renew()
    assert not lease.may_begin(term)
    assert lease.may_begin(lease.term)
