"""Checks of the domains that mail is sent from: SPF, DKIM and DMARC."""

from collections.abc import Iterator

from waypost.bootstrap.domains import examine_default_domain
from waypost.cli.doctor.findings import Finding, fail, ok, warn
from waypost.client import Client, ClientError
from waypost.client.domains import Domain
from waypost.settings import Settings


async def check_default_domain(settings: Settings) -> list[Finding]:
    """Of the address that messages without a sender come from. Without a mail server nothing leaves the house."""
    if settings.smtp_url is None:
        return []
    name, checks = await examine_default_domain(settings)
    if not checks:
        remedy = "Set WAYPOST_DEFAULT_FROM and WAYPOST_MESSAGE_DOMAIN to a domain of yours."
        return [warn("default sender", f"{name} is not a public domain: such mail is refused or marked.", remedy)]
    findings: list[Finding] = []
    for check in checks:
        said = f"{check.name.upper()} of {name}: {check.said}"
        if check.result == "passed":
            findings.append(ok("default sender", said))
        else:
            silent = check.result == "unknown"
            remedy = "Check WAYPOST_DNS_SERVERS." if silent else "Set the record where the domain's DNS is kept."
            findings.append(warn("default sender", said, remedy))
    return findings


async def check_domains(settings: Settings) -> list[Finding]:
    """Of the tenant whose key is known here, as the last check found them."""
    if settings.url is None or settings.api_key is None:
        return []
    try:
        async with Client(settings.url, settings.api_key.reveal(), tries=1) as client:
            found = [domain async for domain in client.domains.list(page_size=100)]
    except ClientError:
        # That the API does not answer, or refuses the key, is told by its own check.
        return []
    return [finding for domain in found for finding in _findings(domain)]


def _findings(domain: Domain) -> Iterator[Finding]:
    see = f"See `waypost domains show {domain.name}`."
    if domain.state == "failed":
        yield fail("domain", f"{domain.name} has lost its proof: nothing is sent from it.", see)
    elif domain.state == "verified":
        yield ok("domain", f"{domain.name} is verified.")
    else:
        yield warn("domain", f"{domain.name} is {domain.state}.", see)
    for check in domain.checks:
        if check.result != "passed":
            yield warn("domain", f"{check.name.upper()} of {domain.name}: {check.said}", see)
