"""Providers, fates and what is counted, without a database."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.adapters.internet.server import FakeInternet
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Misconfigured
from waypost.rehearsal.fate import fate_of
from waypost.rehearsal.model import Profile, Provider, ReturnKind, Verdict
from waypost.rehearsal.profiles import PROFILES, made_up, read_profile
from waypost.rehearsal.world import World

EVERY_KIND = Provider(name="one", domains=("*",), unknown=0.1, blocked=0.1, full=0.1, greylisted=0.3, complaints=0.2)


def world(clock: VirtualClock, **manners: object) -> World:
    provider = Provider(name="one", domains=("one.example",), **manners)  # pyright: ignore[reportArgumentType]
    return World(Profile(name="test", providers=(provider,)), 1, clock)


@settings(max_examples=30)
@given(st.integers(), st.emails())
def test_a_fate_depends_on_seed_and_address_only(seed: int, address: str) -> None:
    fate = fate_of(seed, EVERY_KIND, address)
    assert fate == fate_of(seed, EVERY_KIND, address.upper())
    assert fate.unknown + fate.blocked + fate.full <= 1
    assert fate.returned + fate.complains <= 1


def test_shares_come_out_as_they_were_put_in() -> None:
    fates = [fate_of(7, EVERY_KIND, f"p{number}@one.example") for number in range(10_000)]
    for share, wanted in (
        (sum(fate.unknown for fate in fates), 1_000),
        (sum(fate.greylisted for fate in fates), 3_000),
        (sum(fate.complains for fate in fates), 2_000),
    ):
        assert abs(share - wanted) < 200


async def test_somebody_unknown_is_greylisted_for_so_long(clock: VirtualClock) -> None:
    there = world(clock, greylisted=1.0, greylist_seconds=60)
    assert there.judge("a@one.example") is Verdict.GREYLISTED
    await clock.advance(59)
    assert there.judge("a@one.example") is Verdict.GREYLISTED
    await clock.advance(1)
    assert there.judge("a@one.example") is Verdict.TAKEN


async def test_storms_limits_full_mailboxes_and_domains_that_nobody_has(clock: VirtualClock) -> None:
    stormy = world(clock, storm_every=100, storm_seconds=10)
    assert stormy.judge("a@one.example") is Verdict.STORM
    await clock.advance(10)
    assert stormy.judge("a@one.example") is Verdict.TAKEN
    await clock.advance(90)
    assert stormy.judge("a@one.example") is Verdict.STORM

    strict = world(clock, hourly_limit=2)
    for person in ("a", "b"):
        assert strict.judge(f"{person}@one.example") is Verdict.TAKEN
        strict.take(f"{person}@one.example")
    assert strict.judge("c@one.example") is Verdict.LIMITED
    await clock.advance(3600)
    assert strict.judge("c@one.example") is Verdict.TAKEN

    full = world(clock, full=1.0, full_seconds=100)
    assert full.judge("a@one.example") is Verdict.FULL
    await clock.advance(100)
    assert full.judge("a@one.example") is Verdict.TAKEN
    assert full.judge("a@nobody.example") is Verdict.UNKNOWN


async def test_what_was_taken_may_come_back(clock: VirtualClock) -> None:
    there = world(clock, returned=1.0, return_seconds=900)
    there.judge("a@one.example")
    there.take("a@one.example")
    assert there.next_return == clock.now() + timedelta(seconds=900)
    assert there.returned() == []
    await clock.advance(900)
    assert [(one.address, one.kind) for one in there.returned()] == [("a@one.example", ReturnKind.UNDELIVERABLE)]
    [report] = there.reports()
    assert (report.taken, report.undeliverable, report.complaints) == (1, 1, 0)


async def test_talks_take_the_time_that_the_slowest_provider_needs(clock: VirtualClock) -> None:
    there = world(clock, latency=0.5, connections=10)
    for number in range(25):
        there.judge(f"p{number}@one.example")
    assert there.spent() == 1.5
    assert there.spent() == 0


async def test_the_server_says_what_the_world_decides(clock: VirtualClock) -> None:
    there = world(clock, greylisted=1.0)
    internet = FakeInternet(there)
    reader, writer = await asyncio.open_connection("127.0.0.1", await internet.start())
    async with asyncio.timeout(60):
        writer.write(b"EHLO me\r\nMAIL FROM:<>\r\nRCPT TO:<a@one.example>\r\nRCPT TO:<b@nobody.example>\r\nDATA\r\n")
        said = [await reader.readline() for _ in range(10)]
        assert [line[:9] for line in said[-4:]] == [b"250 2.1.0", b"450 4.2.0", b"550 5.1.1", b"554 5.5.1"]
        await clock.advance(60)
        writer.write(b"MAIL FROM:<>\r\nRCPT TO:<a@one.example>\r\nDATA\r\nSubject: x\r\n\r\n..\r\n.\r\nQUIT\r\n")
        assert (await reader.read()).splitlines()[-2] == b"250 2.0.0 Taken"
    writer.close()
    await internet.close()
    assert there.reports()[0].taken == 1


def test_people_are_made_up_by_share() -> None:
    people = made_up(PROFILES["usual"], 1_000)
    domains = Counter(one.address.partition("@")[2] for one in people)
    assert len({one.address for one in people}) == 1_000
    assert domains == {"gmail.com": 500, "outlook.com": 300, "others.example": 200}


@pytest.mark.parametrize(
    "content",
    [
        {"providers": [{"name": "x", "domains": ["*"], "greylisted": 2}]},
        {"providers": [{"name": "x", "domains": ["*"], "colour": "red"}]},
        {"providers": [{"name": "x", "domains": []}]},
        {"providers": []},
        {},
    ],
)
def test_a_profile_that_makes_no_sense_is_refused(content: dict[str, object]) -> None:
    with pytest.raises(Misconfigured, match="mine"):
        read_profile("mine", content)
