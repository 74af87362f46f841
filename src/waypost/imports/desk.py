"""Uploading a file, starting its import, and reading the report."""

import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final, cast
from uuid import UUID

import msgspec

from waypost.imports.agreements import Agreements
from waypost.imports.layout import read_layout
from waypost.imports.model import MOST_BYTES, PART_BYTES, ImportOptions, Spec
from waypost.imports.steps import Place, part_place, spec_place
from waypost.jobs.desk import Jobs
from waypost.jobs.model import Job, JobFile, JobKind, JobState
from waypost.jobs.ports import FileStore, JobStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import TooLarge, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.spreadsheet import csv_line
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction, Work
from waypost.recipients.lists import ListKeys
from waypost.recipients.people import refuse_all
from waypost.recipients.rules import check_tags
from waypost.tenants.audit import Audit

_UPLOAD_KEPT: Final = timedelta(hours=1)
_HEADER: Final = ("line", "column", "code", "message")
_DELIMITERS: Final = frozenset(",;\t|")


class Upload:
    """A file on its way in, kept part by part as it comes."""

    def __init__(self, *, job_id: UUID, tenant_id: str, imports: "Imports") -> None:
        self.job_id = job_id
        self.tenant_id = tenant_id
        self.size = 0
        self.head = b""
        """The first part, from which the columns are read."""
        self._imports = imports
        self._waiting = bytearray()
        self._digest = hashlib.sha256()
        self._parts = 0

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    async def feed(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > MOST_BYTES:
            raise TooLarge(f"A file has at most {MOST_BYTES} bytes; split it.", code="file_too_large")
        self._digest.update(piece)
        self._waiting += piece
        while len(self._waiting) >= PART_BYTES:
            await self._keep(bytes(self._waiting[:PART_BYTES]))
            del self._waiting[:PART_BYTES]

    async def close(self) -> None:
        if self._waiting:
            await self._keep(bytes(self._waiting))
            self._waiting.clear()

    async def _keep(self, part: bytes) -> None:
        if self._parts == 0:
            self.head = part
        await self._imports.keep_part(self.tenant_id, self.job_id, self._parts, part)
        self._parts += 1


class Imports:
    def __init__(
        self,
        *,
        work: Work,
        store: JobStore,
        files: FileStore,
        jobs: Jobs,
        lists: ListKeys,
        agreements: Agreements,
        keyring: Keyring,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._work = work
        self._store = store
        self._files = files
        self._jobs = jobs
        self._lists = lists
        self._agreements = agreements
        self._keyring = keyring
        self._audit = audit
        self._clock = clock

    async def open_upload(self, scope: Scope) -> Upload:
        """Parts are committed as they come, so that no transaction waits for a slow sender."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        now, job_id = self._clock.now(), mint(self._clock)
        job = Job(
            id=job_id,
            kind=JobKind.IMPORT,
            state=JobState.UPLOADING,
            spec=b"",
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
            files_until=now + _UPLOAD_KEPT,
            failures=0,
        )
        async with self._work.begin(scope.tenant_id) as tx:
            await self._store.add(tx, job)
        return Upload(job_id=job_id, tenant_id=scope.tenant_id, imports=self)

    async def keep_part(self, tenant_id: str, job_id: UUID, number: int, part: bytes) -> None:
        async with self._work.begin(tenant_id) as tx:
            key = await self._keyring.of(tx)
            sealed = key.seal(part, part_place(tx, job_id, JobFile.UPLOAD, number))
            await self._files.put(tx, job_id, JobFile.UPLOAD, number, sealed)

    async def abandon(self, upload: Upload) -> None:
        async with self._work.begin(upload.tenant_id) as tx:
            await self._store.drop_upload(tx, upload.job_id)

    async def start(self, tx: Transaction, scope: Scope, upload: Upload, options: ImportOptions) -> Job:
        """The file is complete. What can be seen from its first line is refused now; rows are judged by the job."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        await self._check(tx, options)
        layout = read_layout(upload.head, options, is_whole=upload.size <= len(upload.head))
        spec = Spec(options=options, layout=layout, size=upload.size, sha256=upload.sha256)
        key = await self._keyring.of(tx)
        sealed = key.seal(msgspec.json.encode(spec), spec_place(tx, upload.job_id))
        place = Place(offset=layout.begins_at, line=layout.first_line)
        await self._store.begin_waiting(
            tx, upload.job_id, sealed, cast("JsonObject", msgspec.to_builtins(place)), upload.size, self._clock.now()
        )
        detail = {"bytes": upload.size, "sha256": upload.sha256, "dry_run": options.dry_run}
        await self._audit.record(tx, scope, "import.started", show("job", upload.job_id), detail)
        return await self._jobs.get(tx, scope, upload.job_id, JobKind.IMPORT)

    async def report(self, tx: Transaction, scope: Scope, job_id: UUID) -> AsyncIterator[bytes]:
        """What was wrong with which row, as CSV. It names lines and columns and never what stood there."""
        await self._jobs.get(tx, scope, job_id, JobKind.IMPORT)
        return self._report_parts(tx.tenant_id, job_id)

    async def _report_parts(self, tenant_id: str, job_id: UUID) -> AsyncIterator[bytes]:
        part: bytes | None = csv_line(_HEADER).encode()
        number = 0
        while part is not None:
            yield part
            async with self._work.begin(tenant_id) as tx:
                key = await self._keyring.of(tx)
                sealed = await self._files.get(tx, job_id, JobFile.REPORT, number)
                part = None if sealed is None else key.open(sealed, part_place(tx, job_id, JobFile.REPORT, number))
            number += 1

    async def _check(self, tx: Transaction, options: ImportOptions) -> None:
        if options.delimiter is not None and options.delimiter not in _DELIMITERS:
            raise refuse("/options/delimiter", "invalid_delimiter", "Cells are separated by `,`, `;`, `|` or a tab.")
        refuse_all(check_tags(options.tags, "/options/tags")[1])
        if options.list_key is not None:
            await self._lists.id_of(tx, options.list_key, "/options/list")
        if options.consents:
            await self._agreements.check(tx, options.consents, "/options/consents")
