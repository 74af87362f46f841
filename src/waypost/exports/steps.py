"""An export as a job: each step writes one sealed part of the file."""

from collections.abc import Sequence
from typing import Final, cast
from uuid import UUID

import msgspec

from waypost.exports.lines import header_line, person_lines
from waypost.exports.model import MOST_NAMES, ExportKind, ExportSpec, Place
from waypost.exports.ports import ExportStore
from waypost.jobs.model import Job, JobFile, Step
from waypost.jobs.ports import FileStore
from waypost.kernel.errors import Refused
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.spreadsheet import csv_line
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction
from waypost.recipients.lists import ListKeys
from waypost.recipients.people import People
from waypost.recipients.ports import TagStore
from waypost.suppression.model import Suppression
from waypost.suppression.ports import SuppressionStore

ROWS_PER_STEP: Final = 2_000
_FIRST: Final = UUID(int=0)
_SUPPRESSION_COLUMNS: Final = ("channel", "address", "reason", "topic", "source", "created_at", "expires_at")


class ExportSteps:
    """Implements `jobs.ports.JobSteps`."""

    def __init__(
        self,
        *,
        store: ExportStore,
        suppressions: SuppressionStore,
        files: FileStore,
        people: People,
        tags: TagStore,
        lists: ListKeys,
        keyring: Keyring,
    ) -> None:
        self._store = store
        self._suppressions = suppressions
        self._files = files
        self._people = people
        self._tags = tags
        self._lists = lists
        self._keyring = keyring

    async def step(self, tx: Transaction, job: Job) -> Step:
        spec = await read_spec(tx, self._keyring, job)
        place = msgspec.convert(job.place, Place)
        take = self._take_people if spec.kind is ExportKind.RECIPIENTS else self._take_suppressions
        text, rows = await take(tx, spec, place)
        if text:
            await self._put(tx, job.id, place.parts, text)
            place.parts += 1
        place.rows += rows
        is_last = rows < ROWS_PER_STEP
        if is_last:
            first = header_line(place.names) if spec.kind is ExportKind.RECIPIENTS else csv_line(_SUPPRESSION_COLUMNS)
            await self._put(tx, job.id, 0, first)
        return Step(
            place=cast("JsonObject", msgspec.to_builtins(place)),
            done=place.rows,
            total=place.rows if is_last else max(place.total or 0, place.rows),
            result={"kind": spec.kind.value, "rows": place.rows, "parts": place.parts},
            is_last=is_last,
        )

    async def end(self, tx: Transaction, job: Job) -> None:
        """What is there of the file stays for as long as files do."""

    async def _take_people(self, tx: Transaction, spec: ExportSpec, place: Place) -> tuple[str, int]:
        list_id = None if spec.list_key is None else await self._lists.id_of(tx, spec.list_key, "/list")
        if place.total is None:
            place.total = await self._store.count(tx, tag=spec.tag, list_id=list_id)
        after = _FIRST if place.after is None else UUID(hex=place.after)
        rows = await self._store.people(tx, after, ROWS_PER_STEP, tag=spec.tag, list_id=list_id)
        people = await self._people.read(tx, rows)
        tags = await self._tags.of_recipients(tx, [row.id for row in rows])
        columns = {name: number for number, name in enumerate(place.names)}
        lines = [
            line
            for person in people
            for line in person_lines(tx.tenant_id, person, tags.get(person.row.id, ()), columns)
        ]
        if len(columns) > MOST_NAMES:
            message = f"These people have more than {MOST_NAMES} attributes by name. Export them by tag or list."
            raise Refused(message, code="too_many")
        place.names = list(columns)
        if rows:
            place.after = rows[-1].id.hex
        return "".join(lines), len(rows)

    async def _take_suppressions(self, tx: Transaction, spec: ExportSpec, place: Place) -> tuple[str, int]:
        del spec
        before = None if place.after is None else UUID(hex=place.after)
        found: Sequence[Suppression] = await self._suppressions.page(tx, before, ROWS_PER_STEP)
        if found:
            place.after = found[-1].id.hex
        return "".join(map(_suppression_line, found)), len(found)

    async def _put(self, tx: Transaction, job_id: UUID, number: int, text: str) -> None:
        key = await self._keyring.of(tx)
        sealed = key.seal(text.encode(), part_place(tx, job_id, number))
        await self._files.put(tx, job_id, JobFile.RESULT, number, sealed)


async def read_spec(tx: Transaction, keyring: Keyring, job: Job) -> ExportSpec:
    key = await keyring.of(tx)
    return msgspec.json.decode(key.open(job.spec, spec_place(tx, job.id)), type=ExportSpec)


def spec_place(tx: Transaction, job_id: UUID) -> str:
    return f"export_spec:{tx.tenant_id}:{job_id}"


def part_place(tx: Transaction, job_id: UUID, number: int) -> str:
    return f"job_file:{tx.tenant_id}:{job_id}:{JobFile.RESULT.value}:{number}"


def _suppression_line(one: Suppression) -> str:
    return csv_line(
        (
            one.channel.word,
            one.masked,
            one.reason.value,
            one.topic or "",
            one.source,
            one.created_at.isoformat(),
            one.expires_at.isoformat() if one.expires_at else "",
        )
    )
