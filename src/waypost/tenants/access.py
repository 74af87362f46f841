"""The one entry point: a presented key becomes a Scope, or the call ends here."""

from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Forbidden, NotFound, Unauthenticated, Unavailable
from waypost.kernel.tenancy import PLATFORM, PLATFORM_ONLY, Permission, Scope
from waypost.kernel.work import Work
from waypost.tenants.model import KeyOwner, Tenant
from waypost.tenants.ports import ApiKeyStore, TenantStore
from waypost.tenants.rules import is_slug, standing, without_tenant
from waypost.tenants.secret import hash_secret, looks_right
from waypost.tenants.short_memory import ShortMemory

REMEMBERED_SECONDS: Final = 5.0
"""How long a revocation or a suspension made in another process may take to be felt."""
USE_NOTED_EVERY_SECONDS: Final = 60.0
_MOST_REMEMBERED: Final = 10_000


class Access:
    def __init__(self, *, work: Work, keys: ApiKeyStore, tenants: TenantStore, clock: Clock) -> None:
        self._work = work
        self._keys = keys
        self._tenants = tenants
        self._clock = clock
        self._owners = ShortMemory[bytes, KeyOwner](clock, seconds=REMEMBERED_SECONDS, most=_MOST_REMEMBERED)
        self._standings = ShortMemory[str, Tenant](clock, seconds=REMEMBERED_SECONDS, most=_MOST_REMEMBERED)
        self._uses = ShortMemory[UUID, datetime](clock, seconds=USE_NOTED_EVERY_SECONDS, most=_MOST_REMEMBERED)

    async def authenticate(self, secret: str | None, tenant_header: str | None, request_id: str) -> Scope:
        """`secret` is what followed `Bearer `; `tenant_header` the value of `Waypost-Tenant`, if any."""
        owner = await self._owner(secret)
        if owner.tenant_id == PLATFORM and tenant_header not in (None, PLATFORM):
            scope = await self._act_for(owner, tenant_header or "", request_id)
        elif tenant_header not in (None, owner.tenant_id):
            raise Forbidden("This key belongs to another tenant than Waypost-Tenant names.", code="other_tenant")
        else:
            scope = _own_scope(owner, request_id)
        await self._note_use(owner)
        return scope

    def forget_key(self, key_id: UUID) -> None:
        """A key was revoked here: feel it at once."""
        self._owners.forget(lambda owner: owner.key_id == key_id)

    def forget_tenant(self, tenant_id: str) -> None:
        """A tenant's status changed here: feel it at once."""
        self._owners.forget(lambda owner: owner.tenant_id == tenant_id)
        self._standings.forget(lambda tenant: tenant.id == tenant_id)

    async def _owner(self, secret: str | None) -> KeyOwner:
        if secret is None:
            raise _unauthenticated()
        hashed = hash_secret(secret)
        owner = self._owners.recall(hashed)
        if owner is None:
            if not looks_right(secret):
                raise _unauthenticated()
            async with self._work.begin(PLATFORM) as tx:
                owner = await self._keys.owner_of(tx, hashed)
            if owner is None:
                raise _unauthenticated()
            self._owners.keep(hashed, owner)
        if owner.revoked_at is not None or (owner.expires_at is not None and owner.expires_at <= self._clock.now()):
            raise _unauthenticated()
        return owner

    async def _act_for(self, owner: KeyOwner, tenant_id: str, request_id: str) -> Scope:
        if Permission.TENANTS_ACT not in owner.scopes:
            raise Forbidden(f"This key lacks the scope {Permission.TENANTS_ACT.value}.", code="missing_scope")
        tenant = await self._tenant(tenant_id)
        carried = owner.scopes - PLATFORM_ONLY
        withheld = standing(tenant.status, carried)
        return Scope(
            tenant_id=tenant.id,
            mode=tenant.mode,
            key_id=owner.key_id,
            key_tenant=PLATFORM,
            permissions=carried - withheld.permissions if withheld else carried,
            request_id=request_id,
            withheld=withheld,
        )

    async def _tenant(self, tenant_id: str) -> Tenant:
        tenant = self._standings.recall(tenant_id)
        if tenant is None and is_slug(tenant_id):
            async with self._work.begin(tenant_id) as tx:
                tenant = await self._tenants.find(tx, tenant_id)
        if tenant is None:
            raise NotFound("There is no tenant of the id that Waypost-Tenant names.", code="unknown_tenant")
        self._standings.keep(tenant_id, tenant)
        return tenant

    async def _note_use(self, owner: KeyOwner) -> None:
        if self._uses.recall(owner.key_id) is not None:
            return
        now = self._clock.now()
        self._uses.keep(owner.key_id, now)
        try:
            async with self._work.begin(owner.tenant_id) as tx:
                await self._keys.note_use(tx, owner.tenant_id, owner.key_id, now)
        except Unavailable:
            # A call is not refused because its time could not be written down.
            return


def _own_scope(owner: KeyOwner, request_id: str) -> Scope:
    is_platform = owner.tenant_id == PLATFORM
    withheld = without_tenant(owner.scopes) if is_platform else standing(owner.status, owner.scopes)
    return Scope(
        tenant_id=owner.tenant_id,
        mode=owner.mode,
        key_id=owner.key_id,
        key_tenant=owner.tenant_id,
        permissions=owner.scopes - withheld.permissions if withheld else owner.scopes,
        request_id=request_id,
        withheld=withheld,
    )


def _unauthenticated() -> Unauthenticated:
    return Unauthenticated("The API key is missing, unknown, expired or revoked.")
