"""An import as a job: a step reads some rows, takes them in and writes its part of the report, in one transaction."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, cast
from uuid import UUID

import msgspec

from waypost.imports.model import MOST_REPORTED, PART_BYTES, RowFault, Spec, Tally
from waypost.imports.prepare import Prepared, Start, prepare
from waypost.imports.take_in import TakeIn
from waypost.jobs.model import Job, JobFile, Step
from waypost.jobs.ports import FileStore
from waypost.kernel.clock import Clock
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.spreadsheet import csv_line
from waypost.kernel.vault import Keyring, TenantKey
from waypost.kernel.work import Transaction

ROWS_PER_STEP: Final = 2_000
_READ_AHEAD: Final = 2 * PART_BYTES
SPEC: Final = "import_spec"


class Place(msgspec.Struct, kw_only=True):
    """Where the next step begins, and what the steps before it counted."""

    offset: int
    line: int
    is_skipping: bool = False
    reports: int = 0
    tally: dict[str, int] = {}


class ImportSteps:
    """Implements `jobs.ports.JobSteps`."""

    def __init__(self, *, files: FileStore, keyring: Keyring, take_in: TakeIn, clock: Clock) -> None:
        self._files = files
        self._keyring = keyring
        self._take_in = take_in
        self._clock = clock
        self._ahead: dict[UUID, Prepared] = {}

    async def step(self, tx: Transaction, job: Job) -> Step:
        spec = await read_spec(tx, self._keyring, job)
        place = msgspec.convert(job.place, Place)
        tally = Tally(**place.tally)
        prepared = await self._prepared(tx, job.id, place, spec, tally)
        key = await self._keyring.of(tx)
        made_before = tally.created
        tally.rows += len(prepared.found.records)
        tally.rejected += len({fault.line for fault in prepared.faults})
        faults = list(prepared.faults)
        if prepared.rows:

            def look_ahead() -> None:
                mostly_new = tally.created - made_before > len(prepared.rows) // 2
                self._look_ahead(tx.tenant_id, job.id, prepared, spec, key, mostly_new=mostly_new)

            faults += await self._take_in(tx, prepared, spec, tally, look_ahead)
        faults.sort(key=lambda fault: fault.line)
        if reported := faults[: MOST_REPORTED - tally.reported]:
            await self._report(tx, job.id, place.reports, reported)
            place.reports += 1
        tally.faults += len(faults)
        tally.reported += len(reported)
        start = prepared.next
        place.offset, place.line, place.is_skipping = start.offset, start.line, start.is_skipping
        place.tally = asdict(tally)
        return Step(
            place=cast("JsonObject", msgspec.to_builtins(place)),
            done=place.offset,
            total=spec.size,
            result=tally.told(spec.layout, dry_run=spec.options.dry_run),
            is_last=place.offset >= spec.size,
        )

    async def end(self, tx: Transaction, job: Job) -> None:
        """The file holds people's addresses and goes as soon as nobody needs it."""
        self._ahead.pop(job.id, None)
        await self._files.drop(tx, job.id, JobFile.UPLOAD)

    async def _prepared(self, tx: Transaction, job_id: UUID, place: Place, spec: Spec, tally: Tally) -> Prepared:
        start = Start(offset=place.offset, line=place.line, is_skipping=place.is_skipping)
        ahead = self._ahead.pop(job_id, None)
        if ahead is not None and ahead.start == start:
            return ahead
        buffer = await self._read(tx, job_id, place.offset, spec.size)
        return prepare(
            tx.tenant_id,
            buffer,
            start,
            spec,
            ROWS_PER_STEP,
            await self._keyring.of(tx),
            self._clock.now(),
            is_end=place.offset + len(buffer) >= spec.size,
            mostly_new=tally.rows == 0 or tally.created > tally.rows // 2,
        )

    def _look_ahead(
        self, tenant_id: str, job_id: UUID, now: Prepared, spec: Spec, key: TenantKey, *, mostly_new: bool
    ) -> None:
        """Whoever takes the step after this one does not miss it where it is not there."""
        if now.has_more_at_hand:
            self._ahead = {
                job_id: prepare(
                    tenant_id,
                    now.rest,
                    now.next,
                    spec,
                    ROWS_PER_STEP,
                    key,
                    self._clock.now(),
                    is_end=now.is_end,
                    mostly_new=mostly_new,
                )
            }

    async def _read(self, tx: Transaction, job_id: UUID, offset: int, size: int) -> bytes:
        """From the offset on, enough for a step and never more than three parts."""
        key = await self._keyring.of(tx)
        number, skip = divmod(offset, PART_BYTES)
        pieces: list[bytes] = []
        while sum(map(len, pieces)) < _READ_AHEAD and number * PART_BYTES < size:
            sealed = await self._files.get(tx, job_id, JobFile.UPLOAD, number)
            if sealed is None:
                raise RuntimeError("A part of an uploaded file is missing.")
            pieces.append(key.open(sealed, part_place(tx, job_id, JobFile.UPLOAD, number))[skip:])
            number, skip = number + 1, 0
        return b"".join(pieces)

    async def _report(self, tx: Transaction, job_id: UUID, number: int, faults: Sequence[RowFault]) -> None:
        lines = "".join(csv_line((str(one.line), one.column, one.code, one.message)) for one in faults)
        key = await self._keyring.of(tx)
        sealed = key.seal(lines.encode(), part_place(tx, job_id, JobFile.REPORT, number))
        await self._files.put(tx, job_id, JobFile.REPORT, number, sealed)


async def read_spec(tx: Transaction, keyring: Keyring, job: Job) -> Spec:
    key = await keyring.of(tx)
    return msgspec.json.decode(key.open(job.spec, spec_place(tx, job.id)), type=Spec)


def spec_place(tx: Transaction, job_id: UUID) -> str:
    return f"{SPEC}:{tx.tenant_id}:{job_id}"


def part_place(tx: Transaction, job_id: UUID, file: JobFile, number: int) -> str:
    return f"job_file:{tx.tenant_id}:{job_id}:{file.value}:{number}"
