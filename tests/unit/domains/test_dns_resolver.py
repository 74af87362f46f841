"""What name servers say, and what is made of those that do not: absent is never mistaken for unknown."""

import asyncio

import pytest
from tests.dns_peer import GARBAGE, REFUSED, SERVFAIL, SILENT, TRUNCATED, Zone, zone

from waypost.adapters.dns.resolver import DnsResolver, read_server
from waypost.domains.ports import DnsAnswer, Seen

__all__ = ["zone"]


def found(*values: str) -> DnsAnswer:
    return DnsAnswer(seen=Seen.FOUND, values=values)


ABSENT = DnsAnswer(seen=Seen.ABSENT)
UNKNOWN = DnsAnswer(seen=Seen.UNKNOWN)


def resolver(zone: Zone, *, question: float = 20.0, patience: float = 30.0) -> DnsResolver:
    """Patient, unless a test is about patience: the machine may be busy."""
    return DnsResolver([zone.server], question=question, patience=patience)


async def test_records_are_read(zone: Zone) -> None:
    zone.set("TXT", "example.com", "v=spf1 -all", "x" * 600)
    zone.set("MX", "example.com", "20 Second.Example.net", "10 first.example.net")
    zone.set("CNAME", "links.example.com", "Track.Example.net")
    dns = resolver(zone)
    assert set((await dns.txt("example.com")).values) == {"v=spf1 -all", "x" * 600}
    assert await dns.mx("example.com") == found("first.example.net", "second.example.net")
    assert await dns.cname("links.example.com") == found("track.example.net")


async def test_aliases_are_followed(zone: Zone) -> None:
    zone.set("CNAME", "bounce.example.com", "return.platform.example")
    zone.set("TXT", "return.platform.example", "v=spf1 ip4:192.0.2.1 -all")
    assert await resolver(zone).txt("bounce.example.com") == found("v=spf1 ip4:192.0.2.1 -all")


async def test_no_such_name_and_no_such_record_are_both_absent(zone: Zone) -> None:
    zone.set("TXT", "example.com", "something")
    dns = resolver(zone)
    assert await dns.txt("nothing.example.com") == ABSENT
    assert await dns.mx("example.com") == ABSENT


@pytest.mark.parametrize("mood", [SERVFAIL, REFUSED])
async def test_a_server_that_does_not_know_has_not_said_no(zone: Zone, mood: str) -> None:
    zone.set("TXT", "example.com", "something")
    zone.misbehave("example.com", mood)
    assert await resolver(zone).txt("example.com") == UNKNOWN


@pytest.mark.parametrize("mood", [SILENT, GARBAGE])
async def test_a_server_that_does_not_answer_is_not_waited_for(zone: Zone, mood: str) -> None:
    zone.misbehave("example.com", mood)
    assert await resolver(zone, question=0.05, patience=0.2).txt("example.com") == UNKNOWN


async def test_nobody_there_is_unknown(zone: Zone) -> None:
    dns = DnsResolver(["127.0.0.1:1"], question=0.05, patience=0.2)
    assert await dns.txt("example.com") == UNKNOWN


async def test_a_long_answer_comes_by_tcp(zone: Zone) -> None:
    zone.set("TXT", "example.com", "kept whole")
    zone.misbehave("example.com", TRUNCATED)
    assert await resolver(zone).txt("example.com") == found("kept whole")


async def test_too_much_of_anything_is_not_believed(zone: Zone) -> None:
    zone.set("TXT", "many.example.com", *(f"record {number}" for number in range(100)))
    zone.set("TXT", "long.example.com", "x" * 5_000)
    for number in range(12):
        zone.set("CNAME", f"a{number}.example.com", f"a{number + 1}.example.com")
    zone.set("TXT", "a12.example.com", "far away")
    zone.set("CNAME", "loop.example.com", "pool.example.com")
    zone.set("CNAME", "pool.example.com", "loop.example.com")
    dns = resolver(zone)
    assert await dns.txt("many.example.com") == UNKNOWN
    assert await dns.txt("long.example.com") == ABSENT
    assert await dns.txt("a0.example.com") == UNKNOWN
    assert await dns.txt("loop.example.com") == UNKNOWN


async def test_names_that_cannot_be_are_unknown(zone: Zone) -> None:
    dns = resolver(zone)
    for name in ("a..b", "x" * 64 + ".example.com", ".".join(["label"] * 60)):
        assert await dns.txt(name) == UNKNOWN
    assert zone.asked == []


async def test_many_at_once(zone: Zone) -> None:
    zone.set("TXT", "example.com", "something")
    dns = resolver(zone)
    answers = await asyncio.gather(*(dns.txt("example.com") for _ in range(100)))
    assert answers == [found("something")] * 100


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("192.0.2.1", ("192.0.2.1", 53)),
        ("192.0.2.1:5353", ("192.0.2.1", 5353)),
        ("2001:db8::1", ("2001:db8::1", 53)),
        ("[2001:db8::1]:5353", ("2001:db8::1", 5353)),
        ("[2001:db8::1]", ("2001:db8::1", 53)),
    ],
)
def test_addresses_of_servers(text: str, read: tuple[str, int]) -> None:
    assert read_server(text) == read
