"""Events pulled from elsewhere: the same road, and a bound on how often one that fails is tried."""

from enum import Enum
from typing import Final
from uuid import UUID

import structlog

from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound, Refused, Unavailable, WaypostError
from waypost.kernel.ids import mint
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction, Work
from waypost.tenants.audit import OPERATOR
from waypost.tenants.model import TenantStatus
from waypost.tenants.ports import TenantStore
from waypost.triggers.model import FailedEvent, Taken
from waypost.triggers.ports import FailureStore, TriggerTelemetry
from waypost.triggers.pulled import NotAnEvent, Pulled, read_pulled
from waypost.triggers.take import Events

_log: Final = structlog.stdlib.get_logger()
DEAD_AFTER: Final = 10
_LISTING: Final = "failed-events"
_LONGEST_PROBLEM: Final = 500


class Fate(Enum):
    """What becomes of a pulled message."""

    DONE = "done"
    DEAD = "dead"
    AGAIN = "again"


class Intake:
    """Takes in what a consumer pulls. The caller confirms a message once it is done or dead."""

    def __init__(
        self,
        *,
        work: Work,
        events: Events,
        tenants: TenantStore,
        failures: FailureStore,
        keyring: Keyring,
        telemetry: TriggerTelemetry,
        clock: Clock,
    ) -> None:
        self._work = work
        self._events = events
        self._tenants = tenants
        self._failures = failures
        self._keyring = keyring
        self._telemetry = telemetry
        self._clock = clock

    async def take(self, body: bytes, *, consumer: str, tenant: str | None, message_id: str) -> Fate:
        """Raises `Unavailable` while the database is away: then the message is nobody's fault."""
        pulled = read_pulled(body, consumer=consumer, tenant=tenant)
        if isinstance(pulled, NotAnEvent):
            fate = await self._give_up(body, consumer, message_id, pulled)
        else:
            fate = await self._try(pulled, body)
        self._telemetry.consumed(fate.value)
        if fate is Fate.DEAD:
            _log.error("event given up", action="event_given_up", consumer=consumer)
        return fate

    async def _try(self, pulled: Pulled, body: bytes) -> Fate:
        event = pulled.event
        try:
            async with self._work.begin(pulled.tenant) as tx:
                tenant = await self._tenants.find(tx, pulled.tenant)
                if tenant is None or tenant.status is not TenantStatus.ACTIVE:
                    raise Refused("The tenant is not active.", code="tenant_inactive")
                await self._events.take(tx, _scope(pulled.tenant), event)
                await self._failures.forget(tx, event.consumer, event.id)
            return Fate.DONE
        except Unavailable:
            raise
        except Exception as error:
            code, problem = _words(error)
            return await self._note(pulled.tenant, event.consumer, event.id, code, problem, body, DEAD_AFTER)

    async def _give_up(self, body: bytes, consumer: str, message_id: str, problem: NotAnEvent) -> Fate:
        """What cannot be read at all will not become readable: it is kept for the operator, at once."""
        return await self._note(PLATFORM, consumer, message_id, problem.code, problem.message, body, 1)

    async def _note(
        self, tenant_id: str, consumer: str, event_id: str, code: str, problem: str, body: bytes, dead_after: int
    ) -> Fate:
        async with self._work.begin(tenant_id) as tx:
            if await self._tenants.find(tx, tenant_id) is None:
                # Nobody's event: the operator's to look at, because the message names a tenant that is not there.
                tenant_id = PLATFORM
        async with self._work.begin(tenant_id) as tx:
            failure_id, key = mint(self._clock), await self._keyring.of(tx)
            failed = FailedEvent(
                id=failure_id,
                consumer=consumer,
                event_id=event_id[:128],
                attempts=1,
                code=code,
                problem=problem[:_LONGEST_PROBLEM],
                failed_at=self._clock.now(),
                dead_at=None,
            )
            sealed = key.seal(body, _place(tenant_id, consumer, failed.event_id))
            kept = await self._failures.note(tx, failed, sealed, dead_after)
        return Fate.AGAIN if kept.dead_at is None else Fate.DEAD


class DeadEvents:
    """Pulled events that were given up, and the way back for them."""

    def __init__(self, *, events: Events, failures: FailureStore, keyring: Keyring) -> None:
        self._events = events
        self._failures = failures
        self._keyring = keyring

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[FailedEvent]:
        scope.demand(Permission.TRIGGERS_READ)
        size = read_limit(limit)
        found = await self._failures.page(tx, decode_id_cursor(_LISTING, cursor), size + 1)
        return page_of(found, size, lambda failed: encode_id_cursor(_LISTING, failed.id))

    async def redrive(self, tx: Transaction, scope: Scope, failure_id: UUID) -> Taken:
        """Takes it in now, by today's triggers; refused again, it stays where it is."""
        scope.demand(Permission.EVENTS_SEND)
        found = await self._failures.find(tx, failure_id)
        if found is None:
            raise NotFound("There is no such event.")
        failed, sealed = found
        key = await self._keyring.of(tx)
        body = key.open(sealed, _place(tx.tenant_id, failed.consumer, failed.event_id))
        pulled = read_pulled(body, consumer=failed.consumer, tenant=tx.tenant_id)
        if isinstance(pulled, NotAnEvent):
            raise Refused(pulled.message, code=pulled.code)
        taken = await self._events.take(tx, scope, pulled.event)
        await self._failures.forget(tx, failed.consumer, failed.event_id)
        return taken


def _words(error: Exception) -> tuple[str, str]:
    """What may be kept of an error: words of ours, never the text of an exception nobody expected."""
    if isinstance(error, WaypostError):
        return error.code, error.detail
    return "internal_error", f"Something nobody expected: {type(error).__name__}."


def _scope(tenant_id: str) -> Scope:
    return Scope(
        tenant_id=tenant_id,
        mode=TenantMode.LIVE,
        key_id=OPERATOR,
        key_tenant=tenant_id,
        permissions=frozenset({Permission.EVENTS_SEND}),
        request_id="consumer",
    )


def _place(tenant_id: str, consumer: str, event_id: str) -> str:
    return f"event_failure:{tenant_id}:{consumer}/{event_id}"
