"""An import as a job: a step reads some rows, takes them in and writes its part of the report, in one transaction."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, cast
from uuid import UUID

import msgspec

from waypost.imports.model import MOST_REPORTED, PART_BYTES, RowFault, Spec, Tally
from waypost.imports.records import Cut, cut
from waypost.imports.rows import Row, read_row
from waypost.imports.take_in import TakeIn
from waypost.jobs.model import Job, JobFile, Step
from waypost.jobs.ports import FileStore
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.spreadsheet import csv_line
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction

ROWS_PER_STEP: Final = 2_000
_READ_AHEAD: Final = 393_216
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

    def __init__(self, *, files: FileStore, keyring: Keyring, take_in: TakeIn) -> None:
        self._files = files
        self._keyring = keyring
        self._take_in = take_in

    async def step(self, tx: Transaction, job: Job) -> Step:
        spec = await read_spec(tx, self._keyring, job)
        place = msgspec.convert(job.place, Place)
        tally = Tally(**place.tally)
        buffer = await self._read(tx, job.id, place.offset, spec.size)
        is_end = place.offset + len(buffer) >= spec.size
        found = cut(buffer, place.line, ROWS_PER_STEP, is_end=is_end, is_skipping=place.is_skipping)
        faults = await self._take(tx, found, spec, tally)
        if reported := faults[: MOST_REPORTED - tally.reported]:
            await self._report(tx, job.id, place.reports, reported)
            place.reports += 1
        tally.faults += len(faults)
        tally.reported += len(reported)
        place.offset += found.consumed
        place.line, place.is_skipping, place.tally = found.line, found.is_skipping, asdict(tally)
        return Step(
            place=cast("JsonObject", msgspec.to_builtins(place)),
            done=place.offset,
            total=spec.size,
            result=tally.told(spec.layout, dry_run=spec.options.dry_run),
            is_last=is_end and found.consumed == len(buffer),
        )

    async def end(self, tx: Transaction, job: Job) -> None:
        """The file holds people's addresses and goes as soon as nobody needs it."""
        await self._files.drop(tx, job.id, JobFile.UPLOAD)

    async def _take(self, tx: Transaction, found: Cut, spec: Spec, tally: Tally) -> Sequence[RowFault]:
        rows: list[Row] = []
        faults: list[RowFault] = []
        for record in found.records:
            read = read_row(record, spec.layout, spec.options)
            if isinstance(read, Row):
                rows.append(read)
            else:
                faults.append(read)
        tally.rows += len(found.records)
        tally.rejected += len(faults)
        if rows:
            faults += await self._take_in(tx, rows, spec, tally)
        return sorted(faults, key=lambda fault: fault.line)

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
