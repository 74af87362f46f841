"""Tenants, their keys, and who changed what."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

from waypost.client.answers import ApiKey, AuditEntry, Json, NewKey, Tenant
from waypost.client.transport import Transport, segment


class Tenants:
    """Needs a platform key."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, tenant_id: str, *, name: str, mode: str = "sandbox") -> Tenant:
        body = {"id": tenant_id, "name": name, "mode": mode}
        return await self._transport.ask("POST", "/v1/tenants", Tenant, body=body)

    async def get(self, tenant_id: str) -> Tenant:
        return await self._transport.ask("GET", f"/v1/tenants/{segment(tenant_id)}", Tenant)

    async def change(self, tenant_id: str, fields: Mapping[str, Json], *, version: int) -> Tenant:
        """Changes `name` or `status`, provided nobody changed the tenant since `version`."""
        path = f"/v1/tenants/{segment(tenant_id)}"
        return await self._transport.ask("PATCH", path, Tenant, body=fields, headers={"If-Match": f'"{version}"'})

    def list(self, *, page_size: int | None = None) -> AsyncIterator[Tenant]:
        return self._transport.pages("/v1/tenants", Tenant, limit=page_size)


class Keys:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self, tenant_id: str, *, name: str, scopes: Sequence[str], expires_at: datetime | None = None
    ) -> NewKey:
        body: dict[str, object] = {"tenant_id": tenant_id, "name": name, "scopes": scopes}
        if expires_at is not None:
            body["expires_at"] = expires_at
        return await self._transport.ask("POST", "/v1/api-keys", NewKey, body=body)

    def list(self, *, tenant_id: str | None = None, page_size: int | None = None) -> AsyncIterator[ApiKey]:
        return self._transport.pages("/v1/api-keys", ApiKey, query={"tenant_id": tenant_id}, limit=page_size)

    async def revoke(self, key_id: str) -> None:
        await self._transport.raw("DELETE", f"/v1/api-keys/{segment(key_id)}")


class Audit:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page_size: int | None = None) -> AsyncIterator[AuditEntry]:
        return self._transport.pages("/v1/audit", AuditEntry, limit=page_size)
