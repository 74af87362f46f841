"""Who is told of alerts: an address, or a URL. Each belongs to a tenant, or to the platform."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from waypost.alerts.model import (
    AlertKind,
    NewTarget,
    StoredTarget,
    Target,
    TargetKind,
    TargetStatus,
    TellingKind,
)
from waypost.alerts.ports import TargetStore, TellingStore, UrlChecker
from waypost.kernel.address import mask, read_address
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, PreconditionFailed, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring, TenantKey, place
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.tenants.audit import Audit

MOST_TARGETS: Final = 20
LONGEST_URL: Final = 2_000
LONGEST_DESCRIPTION: Final = 500
_LISTING: Final = "alert-targets"


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetChange:
    """What is None stays."""

    kinds: Sequence[AlertKind] | None = None
    description: str | None = None
    status: TargetStatus | None = None


class Targets:
    def __init__(
        self,
        *,
        store: TargetStore,
        tellings: TellingStore,
        urls: UrlChecker,
        keyring: Keyring,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._store = store
        self._tellings = tellings
        self._urls = urls
        self._keyring = keyring
        self._audit = audit
        self._clock = clock

    async def create(
        self,
        tx: Transaction,
        scope: Scope,
        *,
        email: str | None = None,
        url: str | None = None,
        kinds: Sequence[AlertKind] = (),
        description: str = "",
    ) -> NewTarget:
        """A webhook's secret is shown this once."""
        scope.demand(Permission.OPERATIONS_WRITE)
        if (email is None) == (url is None):
            raise refuse("/email", "one_target_only", "Give an email address or a URL.")
        described = _read_description(description)
        if email is not None:
            kind, led, secret = TargetKind.EMAIL, read_address(Channel.EMAIL, email, "/email").text, None
        else:
            kind, led, secret = TargetKind.WEBHOOK, await self._check(url or ""), self._urls.new_secret()
        if len(await self._store.all(tx)) >= MOST_TARGETS:
            raise Conflict(f"There are at most {MOST_TARGETS} alert targets.", code="too_many_targets")
        now, target_id = self._clock.now(), mint(self._clock)
        key = await self._keyring.of(tx)
        stored = StoredTarget(
            id=target_id,
            kind=kind,
            target=key.seal(led.encode(), place("alert_target", tx.tenant_id, target_id)),
            secret=None if secret is None else key.seal(secret.encode(), _secret_place(tx.tenant_id, target_id)),
            kinds=tuple(dict.fromkeys(kinds)),
            description=described,
            status=TargetStatus.ENABLED,
            last_told_at=None,
            last_fault=None,
            version=1,
            created_at=now,
            updated_at=now,
        )
        await self._store.add(tx, stored)
        await self._note(tx, scope, "created", target_id, {"kind": kind.value})
        return NewTarget(target=shown(key, tx.tenant_id, stored), secret=secret)

    async def all(self, tx: Transaction, scope: Scope) -> Sequence[Target]:
        scope.demand(Permission.OPERATIONS_READ)
        key = await self._keyring.of(tx)
        return [shown(key, tx.tenant_id, stored) for stored in await self._store.all(tx)]

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[Target]:
        """Newest first."""
        scope.demand(Permission.OPERATIONS_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, decode_id_cursor(_LISTING, cursor), size + 1)
        key = await self._keyring.of(tx)
        page = page_of(found, size, lambda last: encode_id_cursor(_LISTING, last.id))
        return page.map(lambda stored: shown(key, tx.tenant_id, stored))

    async def get(self, tx: Transaction, scope: Scope, target_id: UUID) -> Target:
        scope.demand(Permission.OPERATIONS_READ)
        return shown(await self._keyring.of(tx), tx.tenant_id, await self._find(tx, target_id))

    async def change(
        self,
        tx: Transaction,
        scope: Scope,
        target_id: UUID,
        change: TargetChange,
        *,
        expected_version: int | None = None,
    ) -> Target:
        scope.demand(Permission.OPERATIONS_WRITE)
        stored = await self._find(tx, target_id, for_change=True)
        if expected_version is not None and expected_version != stored.version:
            raise PreconditionFailed("The target was changed meanwhile.")
        changed = replace(
            stored,
            kinds=stored.kinds if change.kinds is None else tuple(dict.fromkeys(change.kinds)),
            description=stored.description if change.description is None else _read_description(change.description),
            status=change.status or stored.status,
        )
        if changed != stored:
            changed = replace(changed, version=stored.version + 1, updated_at=self._clock.now())
            await self._store.change(tx, changed)
            await self._note(tx, scope, "changed", target_id, {"status": changed.status.value})
        return shown(await self._keyring.of(tx), tx.tenant_id, changed)

    async def remove(self, tx: Transaction, scope: Scope, target_id: UUID) -> None:
        scope.demand(Permission.OPERATIONS_WRITE)
        await self._find(tx, target_id, for_change=True)
        await self._store.remove(tx, target_id)
        await self._note(tx, scope, "removed", target_id, {})

    async def test(self, tx: Transaction, scope: Scope, target_id: UUID) -> Target:
        """It is told something harmless within seconds; `last_told_at` and `last_fault` say how that went."""
        scope.demand(Permission.OPERATIONS_WRITE)
        stored = await self._find(tx, target_id)
        if stored.status is TargetStatus.DISABLED:
            raise Conflict("The target is disabled.", code="target_disabled")
        now = self._clock.now()
        await self._tellings.add(tx, [target_id], mint(self._clock), 0, TellingKind.TEST, now)
        await self._note(tx, scope, "tested", target_id, {})
        return shown(await self._keyring.of(tx), tx.tenant_id, stored)

    async def _find(self, tx: Transaction, target_id: UUID, *, for_change: bool = False) -> StoredTarget:
        found = await self._store.find(tx, target_id, for_change=for_change)
        if found is None:
            raise NotFound("There is no such alert target.")
        return found

    async def _check(self, url: str) -> str:
        if len(url) > LONGEST_URL:
            raise refuse("/url", "invalid_url", f"A URL has at most {LONGEST_URL} characters.")
        await self._urls.check(url)
        return url

    async def _note(
        self, tx: Transaction, scope: Scope, what: str, target_id: UUID, detail: dict[str, JsonValue]
    ) -> None:
        await self._audit.record(tx, scope, f"alert_target.{what}", show("alt", target_id), detail)


def open_target(key: TenantKey, tenant_id: str, stored: StoredTarget) -> str:
    return key.open(stored.target, place("alert_target", tenant_id, stored.id)).decode()


def open_secret(key: TenantKey, tenant_id: str, stored: StoredTarget) -> str:
    return "" if stored.secret is None else key.open(stored.secret, _secret_place(tenant_id, stored.id)).decode()


def shown(key: TenantKey, tenant_id: str, stored: StoredTarget) -> Target:
    led = open_target(key, tenant_id, stored)
    return Target(
        id=stored.id,
        kind=stored.kind,
        shown=mask(Channel.EMAIL, led) if stored.kind is TargetKind.EMAIL else led,
        kinds=stored.kinds,
        description=stored.description,
        status=stored.status,
        last_told_at=stored.last_told_at,
        last_fault=stored.last_fault,
        version=stored.version,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
    )


def _secret_place(tenant_id: str, target_id: UUID) -> str:
    return place("alert_secret", tenant_id, target_id)


def _read_description(text: str) -> str:
    if len(text) > LONGEST_DESCRIPTION or not text.isprintable():
        message = f"A description has at most {LONGEST_DESCRIPTION} printable characters."
        raise refuse("/description", "invalid_description", message)
    return text
