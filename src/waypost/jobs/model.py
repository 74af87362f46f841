"""A job, where it stands, and what one step of it tells."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from waypost.kernel.jsontypes import JsonObject


class JobKind(StrEnum):
    IMPORT = "import"
    EXPORT = "export"
    REDRIVE = "redrive"

    @property
    def unit(self) -> str:
        """What `done` and `total` count."""
        return "bytes" if self is JobKind.IMPORT else "rows"


class JobState(StrEnum):
    UPLOADING = "uploading"
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        return self in ENDED


ENDED: Final = frozenset({JobState.FINISHED, JobState.FAILED, JobState.CANCELLED})


class JobFile(StrEnum):
    """What a job may keep, in numbered parts, each sealed under the tenant's key."""

    UPLOAD = "upload"
    REPORT = "report"
    RESULT = "result"


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    id: UUID
    kind: JobKind
    state: JobState
    spec: bytes = field(repr=False)
    """What is to be done, sealed under the tenant's key."""
    place: JsonObject
    """Where the next step begins."""
    done: int
    total: int | None
    result: JsonObject
    error: str | None
    actor: str
    cancel_asked: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    files_until: datetime | None
    failures: int
    """Steps that broke down since the last one that did not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What one step did. It is written in the step's own transaction, so it holds exactly when the step does."""

    place: JsonObject
    done: int
    total: int | None
    result: Mapping[str, object]
    is_last: bool = False
