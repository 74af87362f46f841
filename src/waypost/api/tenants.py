"""Tenants, their keys, and who changed what."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.shapes import Created, JsonMap, Listing, Moment, NoBody, NoQuery, PageQuery, Shape
from waypost.kernel import ids
from waypost.kernel.errors import NotFound
from waypost.kernel.tenancy import PLATFORM, Permission
from waypost.kernel.vocabulary import TenantMode
from waypost.tenants.model import ApiKey, AuditEntry, Tenant, TenantStatus

Slug = Annotated[str, Meta(description="3 to 63 lower-case letters, digits and hyphens.", examples=["acme"])]
Name = Annotated[str, Meta(description="1 to 200 printable characters.")]


class NewTenant(Shape):
    id: Slug
    name: Name
    mode: TenantMode = TenantMode.SANDBOX
    status: TenantStatus = TenantStatus.ACTIVE


class TenantChange(Shape):
    """What is left out stays as it is."""

    name: Name | None = None
    status: TenantStatus | None = None


class TenantView(Shape):
    id: str
    name: str
    mode: TenantMode
    status: TenantStatus
    version: int
    created_at: Moment
    updated_at: Moment


class NewApiKey(Shape):
    name: Name
    scopes: Annotated[list[str], Meta(description="From the closed list of scopes.")]
    tenant_id: Slug | None = None
    """Whose key it is; without it, of the caller's own tenant."""
    expires_at: Moment | None = None


class ApiKeyQuery(PageQuery):
    tenant_id: Annotated[str, Meta(description="Whose keys; without it, those of the caller's own tenant.")] | None = (
        None
    )


class OwnerQuery(Shape):
    tenant_id: Annotated[str, Meta(description="Whose key it is; without it, the caller's own tenant's.")] | None = None


class ApiKeyView(Shape):
    id: str
    tenant_id: str
    name: str
    scopes: list[str]
    hint: Annotated[str, Meta(description="Head and last four characters, to tell keys apart.")]
    created_at: Moment
    created_by: str | None
    expires_at: Moment | None
    revoked_at: Moment | None
    last_used_at: Annotated[datetime, Meta(tz=True, description="Within a minute.")] | None


class AuditView(Shape):
    id: str
    at: Moment
    actor: Annotated[str, Meta(description="The key that did it, or `operator`.")]
    acting_as: Annotated[str, Meta(description="The tenant, where a platform key acted for it.")] | None
    action: str
    subject: str
    detail: JsonMap
    request_id: str


_TENANT: Final = {
    "id": "acme",
    "name": "Acme Ltd",
    "mode": "sandbox",
    "status": "active",
    "version": 1,
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:00:00Z",
}
_KEY_ID: Final = "key_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"
_SCOPES: Final = ["notifications:send", "notifications:read"]


@endpoint(
    "POST",
    "/v1/tenants",
    Permission.TENANTS_MANAGE,
    summary="Make a tenant",
    body=NewTenant,
    answer=TenantView,
    status=201,
    audited=True,
    refusals={409: ["tenant_exists"], 422: ["invalid_id", "invalid_name"]},
    body_example={"id": "acme", "name": "Acme Ltd", "mode": "sandbox"},
    answer_example=_TENANT,
)
async def create_tenant(call: Call[NewTenant, NoQuery]) -> TenantView:
    """What a sandbox tenant sends reaches only the catch-all mailbox. The mode cannot be changed."""
    new = call.body
    made = await call.app.tenants.create(
        call.tx, call.scope, tenant_id=new.id, name=new.name, mode=new.mode, status=new.status
    )
    return _tenant(made)


@endpoint(
    "GET",
    "/v1/tenants",
    Permission.TENANTS_MANAGE,
    summary="List tenants",
    query=PageQuery,
    answer=Listing[TenantView],
    refusals={400: ["invalid_cursor"]},
    answer_example={"items": [_TENANT], "next": None},
)
async def list_tenants(call: Call[NoBody, PageQuery]) -> Listing[TenantView]:
    """By id."""
    page = await call.app.tenants.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[_tenant(tenant) for tenant in page.items], next=page.next)


@endpoint(
    "GET",
    "/v1/tenants/{id}",
    None,
    summary="Read a tenant",
    answer=TenantView,
    versioned=True,
    answer_example=_TENANT,
)
async def get_tenant(call: Call[NoBody, NoQuery]) -> Versioned:
    """Every key may read its own tenant; reading others takes a platform key with `tenants:manage`."""
    wanted = call.path["id"]
    if call.scope.tenant_id not in (wanted, PLATFORM):
        raise NotFound("Other tenants do not exist for this key.")
    return _versioned(await call.app.tenants.get(call.tx, call.scope, wanted))


@endpoint(
    "PATCH",
    "/v1/tenants/{id}",
    Permission.TENANTS_MANAGE,
    summary="Change a tenant's name or status",
    body=TenantChange,
    answer=TenantView,
    versioned=True,
    audited=True,
    refusals={409: ["illegal_transition"], 422: ["invalid_name"]},
    body_example={"status": "suspended"},
    answer_example=_TENANT | {"status": "suspended", "version": 2},
)
async def change_tenant(call: Call[TenantChange, NoQuery]) -> Versioned:
    """A suspended tenant can be read, and nothing else. Deleting has no way back."""
    change = call.body
    changed = await call.app.tenants.change(
        call.tx, call.scope, call.path["id"], name=change.name, status=change.status, version=call.expected_version
    )
    return _versioned(changed)


@endpoint(
    "POST",
    "/v1/api-keys",
    Permission.KEYS_MANAGE,
    summary="Make a key",
    body=NewApiKey,
    answer=Created,
    status=201,
    audited=True,
    refusals={
        403: ["other_tenant", "scope_not_held"],
        422: ["in_the_past", "invalid_name", "platform_scope", "too_many", "unknown_scope", "unknown_tenant"],
    },
    body_example={"tenant_id": "acme", "name": "shop backend", "scopes": _SCOPES},
    answer_example={"id": _KEY_ID, "secret": "wp_test_…"},
)
async def create_api_key(call: Call[NewApiKey, NoQuery]) -> Created:
    """A key never grants a scope that it does not have itself. The secret is shown this once."""
    new = call.body
    made = await call.app.keys.create(
        call.tx, call.scope, name=new.name, scopes=new.scopes, tenant_id=new.tenant_id, expires_at=new.expires_at
    )
    return Created(id=ids.show("key", made.key.id), secret=made.secret)


@endpoint(
    "GET",
    "/v1/api-keys",
    Permission.KEYS_MANAGE,
    summary="List keys",
    query=ApiKeyQuery,
    answer=Listing[ApiKeyView],
    refusals={400: ["invalid_cursor"], 403: ["other_tenant"], 422: ["unknown_tenant"]},
)
async def list_api_keys(call: Call[NoBody, ApiKeyQuery]) -> Listing[ApiKeyView]:
    """Newest first, with those that are revoked or expired."""
    query = call.query
    page = await call.app.keys.page(call.tx, call.scope, query.cursor, query.limit, tenant_id=query.tenant_id)
    return Listing(items=[_key(key) for key in page.items], next=page.next)


@endpoint(
    "DELETE",
    "/v1/api-keys/{id}",
    Permission.KEYS_MANAGE,
    summary="Revoke a key",
    query=OwnerQuery,
    status=204,
    audited=True,
    refusals={403: ["other_tenant"], 422: ["unknown_tenant"]},
)
async def revoke_api_key(call: Call[NoBody, OwnerQuery]) -> None:
    """It is refused from now on, by other processes within five seconds. Revoking twice is as good as once."""
    await call.app.keys.revoke(call.tx, call.scope, call.id("key"), tenant_id=call.query.tenant_id)


@endpoint(
    "GET",
    "/v1/audit",
    Permission.AUDIT_READ,
    summary="Read the audit log",
    query=PageQuery,
    answer=Listing[AuditView],
    refusals={400: ["invalid_cursor"]},
)
async def list_audit(call: Call[NoBody, PageQuery]) -> Listing[AuditView]:
    """Every administrative change, newest first. Rows can be neither changed nor removed."""
    page = await call.app.audit.page(call.tx, call.scope, call.query.cursor, call.query.limit)
    return Listing(items=[_entry(entry) for entry in page.items], next=page.next)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    create_tenant,
    list_tenants,
    get_tenant,
    change_tenant,
    create_api_key,
    list_api_keys,
    revoke_api_key,
    list_audit,
)


def _versioned(tenant: Tenant) -> Versioned:
    return Versioned(body=_tenant(tenant), version=tenant.version)


def _tenant(tenant: Tenant) -> TenantView:
    return TenantView(
        id=tenant.id,
        name=tenant.name,
        mode=tenant.mode,
        status=tenant.status,
        version=tenant.version,
        created_at=tenant.created_at,
        updated_at=tenant.updated_at,
    )


def _key(key: ApiKey) -> ApiKeyView:
    return ApiKeyView(
        id=ids.show("key", key.id),
        tenant_id=key.tenant_id,
        name=key.name,
        scopes=sorted(key.scopes),
        hint=key.hint,
        created_at=key.created_at,
        created_by=ids.show("key", key.created_by) if key.created_by else None,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        last_used_at=key.last_used_at,
    )


def _entry(entry: AuditEntry) -> AuditView:
    return AuditView(
        id=ids.show("aud", entry.id),
        at=entry.at,
        actor=entry.actor,
        acting_as=entry.acting_as,
        action=entry.action,
        subject=entry.subject,
        detail=dict(entry.detail),
        request_id=entry.request_id,
    )
