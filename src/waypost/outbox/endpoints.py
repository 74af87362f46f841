"""Webhook endpoints as a tenant sees them: made, changed, given a new secret, removed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, PreconditionFailed, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring, TenantKey, place
from waypost.kernel.work import Transaction
from waypost.outbox.patterns import read_patterns
from waypost.outbox.ports import DeliveryStore, EndpointStore, UrlCheck, UrlFault
from waypost.outbox.signing import mint_secret
from waypost.outbox.webhook_model import DisabledReason, Endpoint, EndpointStatus, NewEndpoint, StoredEndpoint
from waypost.tenants.audit import Audit

MOST_ENDPOINTS: Final = 20
LONGEST_URL: Final = 2_000
LONGEST_DESCRIPTION: Final = 500
OVERLAP: Final = timedelta(hours=24)
LONGEST_OVERLAP: Final = timedelta(days=7)
_LISTING: Final = "webhook-endpoints"


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointChange:
    """What is None stays."""

    url: str | None = None
    events: Sequence[str] | None = None
    description: str | None = None
    status: EndpointStatus | None = None


class Endpoints:
    def __init__(
        self,
        *,
        store: EndpointStore,
        deliveries: DeliveryStore,
        urls: UrlCheck,
        keyring: Keyring,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._store = store
        self._deliveries = deliveries
        self._urls = urls
        self._keyring = keyring
        self._audit = audit
        self._clock = clock

    async def create(
        self, tx: Transaction, scope: Scope, *, url: str, events: Sequence[str], description: str = ""
    ) -> NewEndpoint:
        """It hears of what happens from now on. The secret is shown this once."""
        scope.demand(Permission.WEBHOOKS_MANAGE)
        wanted = read_patterns(events, "/events")
        described = _read_description(description)
        await self._check(url)
        if await self._store.count(tx) >= MOST_ENDPOINTS:
            raise Conflict(f"A tenant has at most {MOST_ENDPOINTS} webhook endpoints.", code="too_many_endpoints")
        now, endpoint_id, secret = self._clock.now(), mint(self._clock), mint_secret()
        key = await self._keyring.of(tx)
        stored = StoredEndpoint(
            id=endpoint_id,
            url=_seal(key, "webhook_url", tx.tenant_id, endpoint_id, url),
            secret=_seal(key, "webhook_secret", tx.tenant_id, endpoint_id, secret),
            old_secret=None,
            old_secret_until=None,
            events=wanted,
            description=described,
            status=EndpointStatus.ENABLED,
            disabled_reason=None,
            disabled_at=None,
            failing_since=None,
            version=1,
            created_at=now,
            updated_at=now,
        )
        await self._store.add(tx, stored)
        await self._note(tx, scope, "created", endpoint_id, {"events": " ".join(wanted)})
        return NewEndpoint(endpoint=open_endpoint(key, tx.tenant_id, stored), secret=secret)

    async def get(self, tx: Transaction, scope: Scope, endpoint_id: UUID) -> Endpoint:
        scope.demand(Permission.WEBHOOKS_READ)
        return open_endpoint(await self._keyring.of(tx), tx.tenant_id, await self._find(tx, endpoint_id))

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[Endpoint]:
        """Newest first."""
        scope.demand(Permission.WEBHOOKS_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, decode_id_cursor(_LISTING, cursor), size + 1)
        key = await self._keyring.of(tx)
        page = page_of(found, size, lambda last: encode_id_cursor(_LISTING, last.id))
        return page.map(lambda stored: open_endpoint(key, tx.tenant_id, stored))

    async def change(
        self,
        tx: Transaction,
        scope: Scope,
        endpoint_id: UUID,
        change: EndpointChange,
        *,
        expected_version: int | None = None,
    ) -> Endpoint:
        """Enabling starts afresh: what still waits is sent, what was missed can be replayed."""
        scope.demand(Permission.WEBHOOKS_MANAGE)
        stored = await self._find(tx, endpoint_id, for_change=True)
        if expected_version is not None and expected_version != stored.version:
            raise PreconditionFailed("The endpoint was changed meanwhile.")
        key, now = await self._keyring.of(tx), self._clock.now()
        changed = stored
        if change.events is not None:
            changed = replace(changed, events=read_patterns(change.events, "/events"))
        if change.description is not None:
            changed = replace(changed, description=_read_description(change.description))
        if change.url is not None:
            await self._check(change.url)
            sealed = _seal(key, "webhook_url", tx.tenant_id, endpoint_id, change.url)
            changed = replace(changed, url=sealed, failing_since=None)
        if change.status is not None and change.status is not stored.status:
            disabled = change.status is EndpointStatus.DISABLED
            changed = replace(
                changed,
                status=change.status,
                disabled_reason=DisabledReason.BY_HAND if disabled else None,
                disabled_at=now if disabled else None,
                failing_since=None,
            )
        if changed != stored:
            changed = replace(changed, version=stored.version + 1, updated_at=now)
            await self._store.change(tx, changed)
            names = [name for name in ("url", "events", "description", "status") if getattr(change, name) is not None]
            detail = {"changed": " ".join(names), "status": changed.status.value}
            await self._note(tx, scope, "changed", endpoint_id, detail)
            if changed.status is EndpointStatus.ENABLED and (change.url is not None or change.status is not None):
                await self._deliveries.wake(tx, endpoint_id, now)
        return open_endpoint(key, tx.tenant_id, changed)

    async def rotate(
        self, tx: Transaction, scope: Scope, endpoint_id: UUID, *, overlap: timedelta = OVERLAP
    ) -> NewEndpoint:
        """A new secret, shown this once. Until the overlap ends the old one signs too."""
        scope.demand(Permission.WEBHOOKS_MANAGE)
        if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
            raise refuse("/overlap", "out_of_range", "The overlap is at most seven days.")
        stored = await self._find(tx, endpoint_id, for_change=True)
        key, now, secret = await self._keyring.of(tx), self._clock.now(), mint_secret()
        old = open_secret(key, "webhook_secret", tx.tenant_id, endpoint_id, stored.secret)
        changed = replace(
            stored,
            secret=_seal(key, "webhook_secret", tx.tenant_id, endpoint_id, secret),
            old_secret=_seal(key, "webhook_old_secret", tx.tenant_id, endpoint_id, old) if overlap else None,
            old_secret_until=now + overlap if overlap else None,
            version=stored.version + 1,
            updated_at=now,
        )
        await self._store.change(tx, changed)
        await self._note(
            tx, scope, "secret_rotated", endpoint_id, {"overlap_seconds": str(round(overlap.total_seconds()))}
        )
        return NewEndpoint(endpoint=open_endpoint(key, tx.tenant_id, changed), secret=secret)

    async def remove(self, tx: Transaction, scope: Scope, endpoint_id: UUID) -> None:
        """Its deliveries and their log go with it."""
        scope.demand(Permission.WEBHOOKS_MANAGE)
        await self._find(tx, endpoint_id, for_change=True)
        await self._store.remove(tx, endpoint_id)
        await self._note(tx, scope, "removed", endpoint_id, {})

    async def _find(self, tx: Transaction, endpoint_id: UUID, *, for_change: bool = False) -> StoredEndpoint:
        found = await self._store.find(tx, endpoint_id, for_change=for_change)
        if found is None:
            raise NotFound("There is no such webhook endpoint.")
        return found

    async def _check(self, url: str) -> None:
        if len(url) > LONGEST_URL:
            raise refuse("/url", "invalid_url", f"A URL has at most {LONGEST_URL} characters.")
        try:
            await self._urls.check(url)
        except UrlFault as fault:
            raise refuse("/url", fault.code, fault.message) from None

    async def _note(self, tx: Transaction, scope: Scope, what: str, endpoint_id: UUID, detail: dict[str, str]) -> None:
        await self._audit.record(tx, scope, f"webhook_endpoint.{what}", show("whe", endpoint_id), dict(detail))


def open_secret(key: TenantKey, column: str, tenant_id: str, endpoint_id: UUID, sealed: bytes) -> str:
    return key.open(sealed, place(column, tenant_id, endpoint_id)).decode()


def open_endpoint(key: TenantKey, tenant_id: str, stored: StoredEndpoint) -> Endpoint:
    return Endpoint(
        id=stored.id,
        url=open_secret(key, "webhook_url", tenant_id, stored.id, stored.url),
        events=stored.events,
        description=stored.description,
        status=stored.status,
        disabled_reason=stored.disabled_reason,
        disabled_at=stored.disabled_at,
        failing_since=stored.failing_since,
        old_secret_until=stored.old_secret_until,
        version=stored.version,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
    )


def _seal(key: TenantKey, column: str, tenant_id: str, endpoint_id: UUID, text: str) -> bytes:
    return key.seal(text.encode(), place(column, tenant_id, endpoint_id))


def _read_description(text: str) -> str:
    if len(text) > LONGEST_DESCRIPTION or not text.isprintable():
        message = f"A description has at most {LONGEST_DESCRIPTION} printable characters."
        raise refuse("/description", "invalid_description", message)
    return text
