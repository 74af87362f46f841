"""Long work: files of people, in and out, and how it stands."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime

import msgspec

from waypost.client.answers import Json, JsonObject
from waypost.client.transport import Transport, segment


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    done: int
    total: int | None
    unit: str


class Job(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    state: str
    progress: Progress
    result: JsonObject
    links: dict[str, str]
    error: str | None = None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    files_until: datetime | None = None

    @property
    def has_ended(self) -> bool:
        return self.state in ("finished", "failed", "cancelled")


class Jobs:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, job_id: str) -> Job:
        return await self._transport.ask("GET", f"/v1/jobs/{segment(job_id)}", Job)

    async def cancel(self, job_id: str) -> Job:
        return await self._transport.ask("POST", f"/v1/jobs/{segment(job_id)}/cancel", Job)

    def list(self, *, kind: str | None = None, page_size: int | None = None) -> AsyncIterator[Job]:
        return self._transport.pages("/v1/jobs", Job, query={"kind": kind}, limit=page_size)

    async def follow(self, job_id: str, *, every: float = 1.0) -> AsyncIterator[Job]:
        """As it stands, again and again, until it has ended."""
        while True:
            job = await self.get(job_id)
            yield job
            if job.has_ended:
                return
            await self._transport.sleep(every)


class Imports:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def start(self, file: bytes, options: Mapping[str, Json] | None = None) -> Job:
        """Sends a CSV file in UTF-8; its first line names the columns."""
        query = {"options": msgspec.json.encode(options).decode()} if options else None
        raw = await self._transport.raw("POST", "/v1/imports", content=(file, "text/csv"), query=query, patience=900.0)
        return msgspec.json.decode(raw, type=Job)

    async def report(self, job_id: str) -> bytes:
        """What was wrong with which row, as CSV."""
        return await self._transport.raw("GET", f"/v1/imports/{segment(job_id)}/report")


class Exports:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def start(self, kind: str, *, tag: str | None = None, list_key: str | None = None) -> Job:
        body = {"kind": kind, "tag": tag, "list": list_key}
        return await self._transport.ask("POST", "/v1/exports", Job, body=body)

    async def file(self, job_id: str) -> bytes:
        return await self._transport.raw("GET", f"/v1/exports/{segment(job_id)}/file", patience=900.0)
