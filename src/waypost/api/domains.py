"""Domains: what a tenant may send from, be tracked on, and get its bounces at."""

from datetime import timedelta
from typing import Final

from waypost.api.domain_shapes import DOMAIN_EXAMPLE, DomainShape, KeyRotation, NewDomain, domain_shape
from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.shapes import Listing, NoBody, NoQuery, PageQuery
from waypost.kernel.durations import read_duration
from waypost.kernel.errors import refuse
from waypost.kernel.tenancy import Permission


@endpoint(
    "POST",
    "/v1/domains",
    Permission.DOMAINS_MANAGE,
    summary="Add a domain",
    body=NewDomain,
    answer=DomainShape,
    status=201,
    audited=True,
    refusals={
        409: ["domain_exists", "too_many_domains"],
        422: ["domain_reserved", "invalid_domain", "tracking_stands_alone"],
    },
    body_example={"name": "mail.example.com", "purposes": ["from"]},
    answer_example={**DOMAIN_EXAMPLE, "state": "pending", "checks": [], "checked_at": None, "verified_at": None},
)
async def create_domain(call: Call[NewDomain, NoQuery]) -> DomainShape:
    """Answers with the DNS records to set. It may be used once they have been seen: ask for that with `verify`, or wait
    for the hourly look."""
    made = await call.app.domains.manage.create(call.tx, call.scope, name=call.body.name, purposes=call.body.purposes)
    return domain_shape(made)


@endpoint(
    "GET",
    "/v1/domains",
    Permission.DOMAINS_READ,
    summary="List domains",
    query=PageQuery,
    answer=Listing[DomainShape],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [DOMAIN_EXAMPLE], "next": None},
)
async def list_domains(call: Call[NoBody, PageQuery]) -> Listing[DomainShape]:
    """Newest first."""
    page = await call.app.domains.manage.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[domain_shape(one) for one in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/domains/{id}",
    Permission.DOMAINS_READ,
    summary="Read a domain",
    answer=DomainShape,
    answer_example=DOMAIN_EXAMPLE,
)
async def read_domain(call: Call[NoBody, NoQuery]) -> DomainShape:
    """With the records to set, and whether the last check found them."""
    return domain_shape(await call.app.domains.manage.get(call.tx, call.scope, call.id("dom")))


@endpoint(
    "POST",
    "/v1/domains/{id}/verify",
    Permission.DOMAINS_MANAGE,
    summary="Check a domain's records now",
    answer=DomainShape,
    audited=True,
    refusals={429: ["checks_underway"]},
    answer_example=DOMAIN_EXAMPLE,
)
async def verify_domain(call: Call[NoBody, NoQuery]) -> DomainShape:
    """Asks the name servers for every record: ownership, DKIM, SPF, DMARC, return path and tracking. What they do not
    answer changes nothing. Afterwards it is checked again every day."""
    return domain_shape(await call.app.domains.verify.check(call.tx, call.scope, call.id("dom")))


@endpoint(
    "POST",
    "/v1/domains/{id}/rotate-keys",
    Permission.DOMAINS_MANAGE,
    summary="Give a domain new DKIM keys",
    body=KeyRotation,
    answer=DomainShape,
    audited=True,
    refusals={409: ["no_active_key", "rotation_underway"], 422: ["invalid_duration"]},
    body_example={"overlap": "7d"},
    answer_example=DOMAIN_EXAMPLE,
)
async def rotate_domain_keys(call: Call[KeyRotation, NoQuery]) -> DomainShape:
    """Set the new records; each new key signs from the check that sees it. The old records must stay for the
    overlap, so that mail on its way can still be verified."""
    overlap = read_duration(call.body.overlap)
    if overlap is None or overlap.elapsed % timedelta(days=1):
        raise refuse("/overlap", "invalid_duration", "Write whole days, such as `7d`.")
    days = overlap.elapsed // timedelta(days=1)
    changed = await call.app.domains.manage.rotate_keys(call.tx, call.scope, call.id("dom"), overlap_days=days)
    return domain_shape(changed)


@endpoint(
    "DELETE",
    "/v1/domains/{id}",
    Permission.DOMAINS_MANAGE,
    summary="Remove a domain",
    status=204,
    audited=True,
)
async def remove_domain(call: Call[NoBody, NoQuery]) -> None:
    """Nothing more is sent from it, and its keys are destroyed. What still waits with such a sender fails as
    `domain_not_verified`."""
    await call.app.domains.manage.remove(call.tx, call.scope, call.id("dom"))


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    create_domain,
    list_domains,
    read_domain,
    verify_domain,
    rotate_domain_keys,
    remove_domain,
)
