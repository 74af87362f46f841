"""What a tenant allows itself: reading and setting its limits."""

from collections.abc import Iterable

from waypost.delivery.limits import HIGHEST_CAP, HIGHEST_LIMIT, LONGEST_WINDOW, Limits, Rate, words_of
from waypost.delivery.ports import LimitStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, Refused
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.tenants.audit import Audit


class LimitDesk:
    def __init__(self, *, store: LimitStore, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._audit = audit
        self._clock = clock

    async def get(self, tx: Transaction, scope: Scope) -> Limits:
        scope.demand(Permission.SETTINGS_READ)
        return await self._store.limits(tx) or Limits()

    async def put(self, tx: Transaction, scope: Scope, limits: Limits) -> Limits:
        """In force from the next batch of each worker on, also for what is queued already."""
        scope.demand(Permission.SETTINGS_WRITE)
        errors = [*_check(limits)]
        if errors:
            raise Refused(errors[0].message, code=errors[0].code, errors=errors)
        await self._store.put(tx, limits, self._clock.now())
        await self._audit.record(tx, scope, "limits.changed", tx.tenant_id, {"limits": words_of(limits)})
        return limits


def _check(limits: Limits) -> Iterable[FieldError]:
    yield from _check_rate(limits.tenant, "/tenant")
    yield from _check_rate(limits.recipient, "/recipient")
    for word, rate in limits.channels.items():
        yield from _check_rate(rate, f"/channels/{word}")
    cap = limits.marketing_cap
    if cap is not None and not 1 <= cap.max <= HIGHEST_CAP:
        message = f"From 1 to {HIGHEST_CAP} messages."
        yield FieldError(pointer="/marketing_cap/max", code="out_of_range", message=message)
    if cap is not None and not 1 <= cap.seconds <= LONGEST_WINDOW.total_seconds():
        message = f"From a second to {LONGEST_WINDOW.days} days."
        yield FieldError(pointer="/marketing_cap/per", code="out_of_range", message=message)


def _check_rate(rate: Rate, pointer: str) -> Iterable[FieldError]:
    for name, limit in (("minute", rate.minute), ("day", rate.day)):
        if limit is not None and not 1 <= limit <= HIGHEST_LIMIT:
            message = "At least 1; leave it out for no limit."
            yield FieldError(pointer=f"{pointer}/{name}", code="out_of_range", message=message)
