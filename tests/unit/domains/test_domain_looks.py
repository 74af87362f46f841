"""One look at a domain's records, over a name server on loopback."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from tests.dns_peer import SERVFAIL, Zone, zone

from waypost.adapters.dns.resolver import DnsResolver
from waypost.domains.looking import look_at
from waypost.domains.model import (
    Algorithm,
    CheckName,
    CheckResult,
    DkimKey,
    Domain,
    DomainState,
    KeyState,
    Purpose,
)
from waypost.domains.records import records_of
from waypost.domains.rules import Places

__all__ = ["zone"]

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
PLACES = Places(
    message_domain="waypost.example",
    default_from="hello@waypost.example",
    return_path_host="return.waypost.example",
    tracking_host="track.waypost.example",
    spf_include="spf.waypost.example",
)
PASSED, FAILED, UNKNOWN = CheckResult.PASSED, CheckResult.FAILED, CheckResult.UNKNOWN


def a_key(algorithm: Algorithm, state: KeyState = KeyState.NEXT) -> DkimKey:
    return DkimKey(
        id=UUID(int=1),
        algorithm=algorithm,
        selector=f"wp-{algorithm.value}",
        public_key="MIIB+" + "x" * 380,
        private_key=b"",
        state=state,
        found=None,
        created_at=NOW,
    )


def a_domain(*purposes: Purpose, name: str = "example.com") -> Domain:
    return Domain(
        id=UUID(int=7),
        name=name,
        purposes=frozenset(purposes),
        state=DomainState.PENDING,
        proof="0123",
        keys=tuple(a_key(one) for one in Algorithm) if Purpose.FROM in purposes else (),
        checks=(),
        failures=0,
        overlap_days=7,
        checked_at=None,
        verified_at=None,
        failing_since=None,
        next_check_at=NOW,
        version=1,
        created_at=NOW,
        updated_at=NOW,
    )


async def look(zone: Zone, domain: Domain, places: Places = PLACES) -> dict[CheckName, CheckResult]:
    found = await look_at(domain, DnsResolver([zone.server], question=20, patience=30), places)
    return {check.name: check.result for check in found.checks}


async def said(zone: Zone, domain: Domain, name: CheckName) -> str:
    found = await look_at(domain, DnsResolver([zone.server], question=20, patience=30), PLACES)
    return next(check.said for check in found.checks if check.name is name)


def publish(zone: Zone, domain: Domain) -> None:
    """Sets what we ask for, as it is written."""
    for record in records_of(domain, PLACES):
        zone.set(record.type.value, record.name, record.value)


async def test_what_we_ask_for_is_what_we_look_for(zone: Zone) -> None:
    for purposes in ((Purpose.FROM,), (Purpose.TRACKING,), (Purpose.RETURN_PATH,)):
        domain = a_domain(*purposes, name=f"{purposes[0].value.replace('_', '-')}.example.com")
        zone.set("TXT", PLACES.return_path_host, "v=spf1 include:spf.waypost.example -all")
        publish(zone, domain)
        if Purpose.RETURN_PATH in purposes:
            zone.drop("TXT", domain.name)
        assert set((await look(zone, domain)).values()) == {PASSED}, purposes


async def test_nothing_set_is_nothing_found(zone: Zone) -> None:
    zone.set("A", "example.com", "192.0.2.1")
    assert set((await look(zone, a_domain(Purpose.FROM))).values()) == {FAILED}
    assert set((await look(zone, a_domain(Purpose.TRACKING))).values()) == {FAILED}
    assert set((await look(zone, a_domain(Purpose.RETURN_PATH))).values()) == {FAILED}


async def test_silence_is_not_an_answer(zone: Zone) -> None:
    publish(zone, domain := a_domain(Purpose.FROM))
    zone.misbehave("*", SERVFAIL)
    assert set((await look(zone, domain)).values()) == {UNKNOWN}
    found = await look_at(domain, DnsResolver([zone.server], question=20, patience=30), PLACES)
    assert found.keys == (None, None)


async def test_a_key_may_be_spaced_and_folded_but_must_be_ours(zone: Zone) -> None:
    publish(zone, domain := a_domain(Purpose.FROM))
    key = domain.keys[0]
    name = f"{key.selector}._domainkey.example.com"
    spaced = f"k=rsa;v=DKIM1 ; p={key.public_key[:100]} {key.public_key[100:]};"
    zone.set("TXT", name, "something else", spaced)
    assert (await look(zone, domain))[CheckName.DKIM] is PASSED
    zone.set("TXT", name, f"v=DKIM1; k=rsa; p={key.public_key[:-1]}y")
    assert (await look(zone, domain))[CheckName.DKIM] is FAILED
    zone.set("TXT", name, "v=DKIM1; k=rsa; p=")
    assert (await look(zone, domain))[CheckName.DKIM] is FAILED


async def test_one_key_of_the_kind_that_everybody_reads_is_enough(zone: Zone) -> None:
    publish(zone, domain := a_domain(Purpose.FROM))
    zone.drop("TXT", "wp-ed25519._domainkey.example.com")
    found = await look_at(domain, DnsResolver([zone.server], question=20, patience=30), PLACES)
    assert found.keys == (True, False)
    assert next(check.result for check in found.checks if check.name is CheckName.DKIM) is PASSED
    zone.drop("TXT", "wp-rsa._domainkey.example.com")
    assert (await look(zone, domain))[CheckName.DKIM] is FAILED


async def test_bounces_may_come_back_by_mx_too(zone: Zone) -> None:
    domain = a_domain(Purpose.RETURN_PATH, Purpose.FROM)
    publish(zone, domain)
    zone.drop("CNAME", "example.com")
    assert (await look(zone, domain))[CheckName.RETURN_PATH] is FAILED
    zone.set("MX", "example.com", "10 Return.Waypost.example")
    assert (await look(zone, domain))[CheckName.RETURN_PATH] is PASSED


@pytest.mark.parametrize(
    ("records", "result", "words"),
    [
        (["v=spf1 include:spf.waypost.example ~all"], PASSED, "lets our servers send"),
        (["V=SPF1 mx INCLUDE:SPF.Waypost.Example. -all"], PASSED, "lets our servers send"),
        (["v=spf1 redirect=_spf.example.com"], PASSED, "lets our servers send"),
        (["v=spf1 a mx -all"], FAILED, "does not include"),
        (["v=spf10 include:spf.waypost.example"], FAILED, "no SPF record"),
        (["v=spf1 include:spf.waypost.example -all", "v=spf1 -all"], FAILED, "several"),
        (["v=spf1 " + "a mx ptr exists:%{i}.example.com " * 4 + "include:spf.waypost.example"], FAILED, "more than 10"),
        (["v=spf1 include:loop.example.com include:spf.waypost.example"], FAILED, "more than 10"),
        (["v=spf1 include:broken.example.com -all"], UNKNOWN, "did not answer"),
        ([], FAILED, "no SPF record"),
    ],
)
async def test_spf(zone: Zone, records: list[str], result: CheckResult, words: str) -> None:
    if records:
        zone.set("TXT", "example.com", "other words", *records)
    zone.set("TXT", "_spf.example.com", "v=spf1 include:spf.waypost.example -all")
    zone.set("TXT", "spf.waypost.example", "v=spf1 ip4:192.0.2.1 -all")
    zone.set("TXT", "loop.example.com", "v=spf1 include:loop.example.com -all")
    zone.misbehave("broken.example.com", SERVFAIL)
    domain = a_domain(Purpose.FROM)
    assert (await look(zone, domain))[CheckName.SPF] is result
    assert words in await said(zone, domain, CheckName.SPF)
    assert len([one for one in zone.asked if one[1] == "TXT"]) < 60, "look-ups are bounded"


@pytest.mark.parametrize(
    ("records", "result", "words"),
    [
        ({"_dmarc.mail.example.com": "v=DMARC1; p=reject; rua=mailto:x@example.com"}, PASSED, "is `reject`"),
        ({"_dmarc.example.com": "v=DMARC1; p=quarantine; sp=none"}, PASSED, "of a domain above is `none`"),
        ({"_dmarc.example.com": "v=DMARC1;p=quarantine"}, PASSED, "of a domain above is `quarantine`"),
        ({"_dmarc.mail.example.com": "v=DMARC1; p=whatever"}, FAILED, "cannot be read"),
        ({"_dmarc.com": "v=DMARC1; p=reject"}, FAILED, "no DMARC record"),
        ({}, FAILED, "no DMARC record"),
    ],
)
async def test_dmarc(zone: Zone, records: dict[str, str], result: CheckResult, words: str) -> None:
    for name, value in records.items():
        zone.set("TXT", name, value)
    domain = a_domain(Purpose.FROM, name="mail.example.com")
    assert (await look(zone, domain))[CheckName.DMARC] is result
    assert words in await said(zone, domain, CheckName.DMARC)


async def test_advice_is_not_required_but_spf_of_a_return_path_is(zone: Zone) -> None:
    def required(domain: Domain, places: Places = PLACES) -> set[CheckName]:
        return {record.check for record in records_of(domain, places) if record.required}

    assert required(a_domain(Purpose.FROM)) == {CheckName.OWNERSHIP, CheckName.DKIM}
    wanted = {CheckName.OWNERSHIP, CheckName.RETURN_PATH}
    assert required(a_domain(Purpose.RETURN_PATH)) == {*wanted, CheckName.SPF}
    assert required(a_domain(Purpose.RETURN_PATH), replace(PLACES, spf_include=None)) == wanted
    assert required(a_domain(Purpose.TRACKING)) == {CheckName.OWNERSHIP, CheckName.TRACKING}
