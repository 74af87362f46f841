"""Looking at dead letters, and sending them again: under the same Message-ID, with their attempts counted on."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

import msgspec

from waypost.delivery.dead_letter_model import (
    DeadLetter,
    DeadLetterFilter,
    Redriven,
    RedriveResult,
    RedriveSpec,
)
from waypost.jobs.model import Job, JobKind, JobState, Step
from waypost.jobs.ports import JobStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.paging import Page, bad_cursor, decode_cursor, encode_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring, place
from waypost.kernel.work import Transaction
from waypost.tenants.audit import Audit

AT_ONCE: Final = 1_000
"""More than this is a job."""
LONGEST_EXTENSION: Final = timedelta(days=30)
_LISTING: Final = "dead-letters"
Place = tuple[datetime, UUID]


class DeadLetterStore(Protocol):
    async def page(
        self, tx: Transaction, wanted: DeadLetterFilter, before: Place | None, limit: int
    ) -> Sequence[DeadLetter]:
        """The latest first."""
        ...

    async def ids(self, tx: Transaction, wanted: DeadLetterFilter, after: Place | None, limit: int) -> Sequence[Place]:
        """The oldest first."""
        ...

    async def redrive(
        self, tx: Transaction, ids: Sequence[UUID], until: datetime | None
    ) -> Mapping[UUID, RedriveResult]:
        """Those found. `until` is what an expired one gets; None leaves it where it is."""
        ...


class DeadLetters:
    def __init__(self, *, store: DeadLetterStore, jobs: JobStore, keyring: Keyring, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._jobs = jobs
        self._keyring = keyring
        self._audit = audit
        self._clock = clock

    async def page(
        self, tx: Transaction, scope: Scope, wanted: DeadLetterFilter, cursor: str | None, limit: int | None
    ) -> Page[DeadLetter]:
        scope.demand(Permission.OPERATIONS_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, wanted, _read_place(decode_cursor(_LISTING, cursor)), size + 1)
        return page_of(found, size, lambda one: encode_cursor(_LISTING, _written(one.at, one.notification_id)))

    async def redrive(
        self,
        tx: Transaction,
        scope: Scope,
        *,
        ids: Sequence[UUID] | None,
        wanted: DeadLetterFilter | None,
        extend: timedelta | None = None,
    ) -> Redriven:
        """By ids or by filter. Twice is as good as once: what has been sent again is no dead letter any more."""
        scope.demand(Permission.OPERATIONS_WRITE)
        if (ids is None) == (wanted is None):
            raise refuse("/ids", "one_filter_only", "Give ids, or a filter; an empty filter means all.")
        if ids is not None and not 1 <= len(ids) <= AT_ONCE:
            raise refuse("/ids", "out_of_range", f"Name 1 to {AT_ONCE} notifications; use a filter for more.")
        if extend is not None and not timedelta(0) < extend <= LONGEST_EXTENSION:
            raise refuse("/extend", "out_of_range", "Give more than nothing and at most 30 days.")
        if ids is None:
            found = await self._store.ids(tx, wanted or DeadLetterFilter(), None, AT_ONCE + 1)
            if len(found) > AT_ONCE:
                return await self._start_job(tx, scope, wanted or DeadLetterFilter(), extend)
            ids = [one for _, one in found]
        results = await self._store.redrive(tx, sorted(set(ids)), self._until(extend))
        done = _sum(ids, results)
        await self._audit.record(
            tx, scope, "dead_letters.redriven", scope.tenant_id, {"redriven": done.redriven, "asked": len(set(ids))}
        )
        return done

    async def _start_job(
        self, tx: Transaction, scope: Scope, wanted: DeadLetterFilter, extend: timedelta | None
    ) -> Redriven:
        now, job_id = self._clock.now(), mint(self._clock)
        # What fails while the job runs is not its business.
        until = min(wanted.until or now, now)
        spec = RedriveSpec(
            filter=msgspec.structs.replace(wanted, until=until),
            extend_seconds=None if extend is None else extend.total_seconds(),
        )
        key = await self._keyring.of(tx)
        job = Job(
            id=job_id,
            kind=JobKind.REDRIVE,
            state=JobState.WAITING,
            spec=key.seal(msgspec.json.encode(spec), place("job_spec", tx.tenant_id, job_id)),
            place={},
            done=0,
            total=None,
            result={},
            error=None,
            actor=show("key", scope.key_id),
            cancel_asked=False,
            created_at=now,
            started_at=None,
            finished_at=None,
            files_until=None,
            failures=0,
        )
        await self._jobs.add(tx, job)
        await self._audit.record(tx, scope, "dead_letters.redriven", scope.tenant_id, {"job": show("job", job_id)})
        return Redriven(redriven=0, job_id=job_id)

    def _until(self, extend: timedelta | None) -> datetime | None:
        return None if extend is None else self._clock.now() + extend


class RedriveSteps:
    """Implements `jobs.ports.JobSteps`."""

    def __init__(self, *, store: DeadLetterStore, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._keyring = keyring
        self._clock = clock

    async def step(self, tx: Transaction, job: Job) -> Step:
        key = await self._keyring.of(tx)
        opened = key.open(job.spec, place("job_spec", tx.tenant_id, job.id))
        spec = msgspec.json.decode(opened, type=RedriveSpec)
        after = job.place.get("after")
        found = await self._store.ids(tx, spec.filter, _read_place(after if isinstance(after, str) else None), AT_ONCE)
        until = None if spec.extend_seconds is None else self._clock.now() + timedelta(seconds=spec.extend_seconds)
        results = await self._store.redrive(tx, sorted(one for _, one in found), until)
        totals = {result.value: _number(job.result.get(result.value)) for result in RedriveResult}
        for result in results.values():
            totals[result.value] += 1
        return Step(
            place={"after": _written(*found[-1])} if found else dict(job.place),
            done=job.done + len(found),
            total=None,
            result={name: count for name, count in totals.items() if count},
            is_last=len(found) < AT_ONCE,
        )

    async def end(self, tx: Transaction, job: Job) -> None:
        """It keeps nothing but its job."""


def _sum(asked: Sequence[UUID], results: Mapping[UUID, RedriveResult]) -> Redriven:
    told = {one: results.get(one, RedriveResult.GONE) for one in asked}
    return Redriven(
        redriven=sum(result is RedriveResult.REDRIVEN for result in told.values()),
        refused=tuple((one, result) for one, result in told.items() if result is not RedriveResult.REDRIVEN),
    )


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _written(at: datetime, notification_id: UUID) -> str:
    return f"{at.isoformat()}/{notification_id.hex}"


def _read_place(text: str | None) -> Place | None:
    if text is None:
        return None
    try:
        moment, _, identity = text.partition("/")
        at, notification_id = datetime.fromisoformat(moment), UUID(hex=identity)
        if at.utcoffset() is None:
            raise bad_cursor()
        return at.astimezone(UTC), notification_id
    except (ValueError, OverflowError) as broken:
        raise bad_cursor() from broken
