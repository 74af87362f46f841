"""The DNS records of a domain: what they are called, and what they must say."""

from collections.abc import Iterator
from typing import Final

from waypost.domains.model import (
    Algorithm,
    CheckName,
    CheckResult,
    DkimKey,
    DnsRecord,
    Domain,
    KeyState,
    Purpose,
    RecordType,
)
from waypost.domains.rules import Places

_WORDS: Final = {
    KeyState.NEXT: "A key that will sign once this record is seen.",
    KeyState.ACTIVE: "The key that signs your mail.",
    KeyState.RETIRED: "A key that was replaced; keep its record until mail it signed has arrived.",
}


def ownership_name(name: str) -> str:
    return f"_waypost.{name}"


def ownership_value(proof: str) -> str:
    return f"waypost-domain={proof}"


def dkim_name(selector: str, name: str) -> str:
    return f"{selector}._domainkey.{name}"


def dkim_value(key: DkimKey) -> str:
    return f"v=DKIM1; k={key.algorithm.value}; p={key.public_key}"


def spf_value(include: str) -> str:
    return f"v=spf1 include:{include} ~all"


def records_of(domain: Domain, places: Places) -> list[DnsRecord]:
    """What has to be set, with what the last check found."""
    return list(_records(domain, places))


def spf_is_required(domain: Domain, places: Places) -> bool:
    """Receivers judge SPF by the return path, so only there a missing one does harm."""
    return Purpose.RETURN_PATH in domain.purposes and places.spf_include is not None


def _records(domain: Domain, places: Places) -> Iterator[DnsRecord]:
    found = {check.name: _found(check.result) for check in domain.checks}
    name = domain.name
    yield DnsRecord(
        type=RecordType.TXT,
        name=ownership_name(name),
        value=ownership_value(domain.proof),
        purpose="Proves that the domain is yours.",
        check=CheckName.OWNERSHIP,
        required=True,
        found=found.get(CheckName.OWNERSHIP),
    )
    if Purpose.FROM in domain.purposes:
        for key in domain.keys:
            yield DnsRecord(
                type=RecordType.TXT,
                name=dkim_name(key.selector, name),
                value=dkim_value(key),
                purpose=_WORDS[key.state],
                check=CheckName.DKIM,
                required=key.algorithm is Algorithm.RSA and key.state is not KeyState.RETIRED,
                found=key.found,
            )
    if Purpose.RETURN_PATH in domain.purposes:
        yield DnsRecord(
            type=RecordType.CNAME,
            name=name,
            value=places.return_path_host,
            purpose="Brings bounces back. An MX record to the same host will do as well.",
            check=CheckName.RETURN_PATH,
            required=True,
            found=found.get(CheckName.RETURN_PATH),
        )
    if Purpose.TRACKING in domain.purposes:
        yield DnsRecord(
            type=RecordType.CNAME,
            name=name,
            value=places.tracking_host,
            purpose="Leads links in your mail to where clicks are counted.",
            check=CheckName.TRACKING,
            required=True,
            found=found.get(CheckName.TRACKING),
        )
    if domain.purposes & {Purpose.FROM, Purpose.RETURN_PATH} and places.spf_include is not None:
        yield DnsRecord(
            type=RecordType.TXT,
            name=name,
            value=spf_value(places.spf_include),
            purpose="SPF: says who may send. Where there is one already, add the `include:` to it. "
            "A CNAME above brings it along.",
            check=CheckName.SPF,
            required=spf_is_required(domain, places),
            found=found.get(CheckName.SPF),
        )
    if Purpose.FROM in domain.purposes:
        yield DnsRecord(
            type=RecordType.TXT,
            name=f"_dmarc.{name}",
            value="v=DMARC1; p=none",
            purpose="DMARC: says what becomes of mail that is not yours. A stricter policy, or one of a domain above, "
            "counts too.",
            check=CheckName.DMARC,
            required=False,
            found=found.get(CheckName.DMARC),
        )


def _found(result: CheckResult) -> bool | None:
    return None if result is CheckResult.UNKNOWN else result is CheckResult.PASSED
