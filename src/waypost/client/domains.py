"""Domains, their DNS records and their keys."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import msgspec

from waypost.client.transport import Transport, segment


class DnsRecord(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    name: str
    value: str
    purpose: str
    check: str
    required: bool
    found: bool | None = None


class DomainCheck(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    result: str
    required: bool
    said: str


class DkimKey(msgspec.Struct, frozen=True, kw_only=True):
    selector: str
    algorithm: str
    state: str
    created_at: datetime
    active_at: datetime | None = None
    retired_until: datetime | None = None


class Domain(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    purposes: tuple[str, ...]
    state: str
    records: tuple[DnsRecord, ...]
    checks: tuple[DomainCheck, ...]
    keys: tuple[DkimKey, ...]
    next_check_at: datetime
    version: int
    created_at: datetime
    updated_at: datetime
    checked_at: datetime | None = None
    verified_at: datetime | None = None
    failing_since: datetime | None = None


class Domains:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, name: str, *, purposes: Sequence[str] = ("from",)) -> Domain:
        """`purposes` are `from`, `return_path` or `tracking`. The answer says which DNS records to set."""
        body = {"name": name, "purposes": list(purposes)}
        return await self._transport.ask("POST", "/v1/domains", Domain, body=body)

    def list(self, *, page_size: int | None = None) -> AsyncIterator[Domain]:
        return self._transport.pages("/v1/domains", Domain, limit=page_size)

    async def get(self, domain_id: str) -> Domain:
        return await self._transport.ask("GET", _path(domain_id), Domain)

    async def verify(self, domain_id: str) -> Domain:
        """Looks at its records now."""
        return await self._transport.ask("POST", _path(domain_id, "verify"), Domain)

    async def rotate_keys(self, domain_id: str, *, overlap: str = "7d") -> Domain:
        return await self._transport.ask("POST", _path(domain_id, "rotate-keys"), Domain, body={"overlap": overlap})

    async def delete(self, domain_id: str) -> None:
        await self._transport.raw("DELETE", _path(domain_id))


def _path(domain_id: str, part: str | None = None) -> str:
    path = f"/v1/domains/{segment(domain_id)}"
    return f"{path}/{part}" if part else path
