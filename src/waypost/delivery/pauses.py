"""Pausing and resuming. A pause takes effect within a second everywhere; what it held comes back by itself."""

from collections.abc import Sequence
from typing import Final, Protocol
from uuid import UUID

from waypost.delivery.pause_model import Pause, PauseScope
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, Forbidden, NotFound, refuse
from waypost.kernel.ids import mint, read, show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS, Category, Channel
from waypost.kernel.work import Transaction
from waypost.tenants.audit import OPERATOR, Audit

MOST_PAUSES: Final = 1_000
LONGEST_REASON: Final = 500
MOVED_AT_ONCE: Final = 5_000
_LISTING: Final = "pauses"
_PREFIXES: Final = {PauseScope.ACCOUNT: "acc", PauseScope.BROADCAST: "dbt"}


class PauseStore(Protocol):
    """Inside one transaction; `tenant_id` may be another than the transaction's where the platform acts."""

    async def add(self, tx: Transaction, tenant_id: str, pause: Pause) -> Pause:
        """Answers with the one in force where the same is paused already."""
        ...

    async def count(self, tx: Transaction, tenant_id: str) -> int: ...

    async def find(self, tx: Transaction, tenant_id: str, pause_id: UUID) -> Pause | None: ...

    async def all(self, tx: Transaction, tenant_id: str) -> Sequence[Pause]:
        """In force, newest first."""
        ...

    async def page(self, tx: Transaction, tenant_id: str, before: UUID | None, limit: int) -> Sequence[Pause]:
        """In force, newest first."""
        ...

    async def resume(self, tx: Transaction, tenant_id: str, pause_id: UUID, scope: PauseScope, at_once: int) -> None:
        """Lanes go on, and the first held rows are back when this commits; workers bring back the rest."""
        ...

    async def exists(self, tx: Transaction, tenant_id: str, scope: PauseScope, subject: str) -> bool:
        """Whether the tenant has such an account or batch, or is there at all."""
        ...


class Pauses:
    def __init__(self, *, store: PauseStore, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._audit = audit
        self._clock = clock

    async def pause(
        self, tx: Transaction, scope: Scope, *, kind: PauseScope, subject: str | None, reason: str = ""
    ) -> Pause:
        """New vendor calls stop within two seconds. Pausing what is paused answers with the pause that is there."""
        scope.demand(Permission.OPERATIONS_WRITE)
        tenant_id = _whose(scope, kind, subject)
        stored = _stored(tenant_id, kind, subject)
        if len(reason) > LONGEST_REASON or not reason.isprintable():
            message = f"A reason has at most {LONGEST_REASON} printable characters."
            raise refuse("/reason", "invalid_reason", message)
        if not await self._store.exists(tx, tenant_id, kind, stored):
            raise refuse("/id", "unknown_id", f"There is no such {kind.value}.")
        if await self._store.count(tx, tenant_id) >= MOST_PAUSES:
            raise Conflict(f"A tenant has at most {MOST_PAUSES} pauses in force.", code="too_many_pauses")
        pause = Pause(
            id=mint(self._clock),
            scope=kind,
            subject=stored,
            reason=reason,
            by_platform=scope.key_tenant == PLATFORM,
            created_at=self._clock.now(),
            created_by=show("key", scope.key_id) if scope.key_id != OPERATOR else "operator",
            is_settling=not kind.stops_lanes,
        )
        kept = await self._store.add(tx, tenant_id, pause)
        if kept.id == pause.id:
            await self._note(tx, scope, "created", tenant_id, pause)
        return kept

    async def all(self, tx: Transaction, scope: Scope) -> Sequence[Pause]:
        """In force, newest first; there are at most a thousand."""
        scope.demand(Permission.OPERATIONS_READ)
        return await self._store.all(tx, tx.tenant_id)

    async def page(
        self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None, *, tenant_id: str | None = None
    ) -> Page[Pause]:
        """In force, newest first. The platform may name whose."""
        scope.demand(Permission.OPERATIONS_READ)
        size, before = read_limit(limit), decode_id_cursor(_LISTING, cursor)
        whose = tenant_id if scope.is_platform and tenant_id else tx.tenant_id
        found = await self._store.page(tx, whose, before, size + 1)
        return page_of(found, size, lambda last: encode_id_cursor(_LISTING, last.id))

    async def get(self, tx: Transaction, scope: Scope, pause_id: UUID) -> Pause:
        scope.demand(Permission.OPERATIONS_READ)
        return await self._find(tx, tx.tenant_id, pause_id)

    async def resume(self, tx: Transaction, scope: Scope, pause_id: UUID, tenant_id: str | None = None) -> None:
        """At once. What the platform has paused only the platform can resume."""
        scope.demand(Permission.OPERATIONS_WRITE)
        whose = tenant_id if scope.is_platform and tenant_id else tx.tenant_id
        pause = await self._find(tx, whose, pause_id)
        if pause.by_platform and scope.key_tenant != PLATFORM:
            raise Forbidden("This was paused by the platform.", code="paused_by_platform")
        await self._store.resume(tx, whose, pause_id, pause.scope, MOVED_AT_ONCE)
        await self._note(tx, scope, "ended", whose, pause)

    async def _find(self, tx: Transaction, tenant_id: str, pause_id: UUID) -> Pause:
        pause = await self._store.find(tx, tenant_id, pause_id)
        if pause is None:
            raise NotFound("There is no such pause.")
        return pause

    async def _note(self, tx: Transaction, scope: Scope, what: str, tenant_id: str, pause: Pause) -> None:
        detail: dict[str, JsonValue] = {"scope": pause.scope.value, "id": shown_subject(tenant_id, pause)}
        if pause.reason and what == "created":
            detail["reason"] = pause.reason
        await self._audit.record(tx, scope, f"pause.{what}", show("pau", pause.id), detail, about=tenant_id)


def shown_subject(tenant_id: str, pause: Pause) -> str:
    """What is paused, as the caller named it."""
    match pause.scope:
        case PauseScope.TENANT:
            return tenant_id
        case PauseScope.CHANNEL:
            return Channel(int(pause.subject)).word
        case PauseScope.CATEGORY:
            return Category(int(pause.subject)).word
        case scope:
            return show(_PREFIXES[scope], UUID(hex=pause.subject))


def _whose(scope: Scope, kind: PauseScope, subject: str | None) -> str:
    """The platform may name a tenant; everything else is paused in the tenant that asks."""
    if not scope.is_platform:
        if kind is PauseScope.TENANT and subject not in (None, scope.tenant_id):
            raise refuse("/id", "unknown_id", "There is no such tenant.")
        return scope.tenant_id
    if kind is not PauseScope.TENANT:
        raise refuse("/scope", "tenant_needed", "Name the tenant in the header Waypost-Tenant.")
    if not subject or subject == PLATFORM:
        raise refuse("/id", "required", "Name the tenant to pause.")
    return subject


_FORMS: Final = {
    PauseScope.CHANNEL: f"Write one of {', '.join(CHANNELS)}.",
    PauseScope.CATEGORY: f"Write one of {', '.join(CATEGORIES)}.",
    PauseScope.ACCOUNT: "Write the id of a sender account, `acc_…`.",
    PauseScope.BROADCAST: "Write the id of a broadcast, `dbt_…`.",
}


def _stored(tenant_id: str, kind: PauseScope, subject: str | None) -> str:
    if kind is PauseScope.TENANT:
        return ""
    if not subject:
        raise refuse("/id", "required", f"Say which {kind.value}.")
    if kind is PauseScope.CHANNEL and subject in CHANNELS:
        return str(int(CHANNELS[subject]))
    if kind is PauseScope.CATEGORY and subject in CATEGORIES:
        return str(int(CATEGORIES[subject]))
    if (prefix := _PREFIXES.get(kind)) is not None and (found := read(prefix, subject)) is not None:
        return found.hex
    raise refuse("/id", "unknown_id", f"There is no such {kind.value}. {_FORMS[kind]}")
