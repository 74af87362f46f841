"""What alerts ask of others: the store, the two ways of telling somebody, and what the installation looks like."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.alerts.model import Alert, AlertKind, StalledLane, StoredTarget, Telling, TellingKind, TroubleCount
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.work import Transaction


class Alarm(Protocol):
    """For whoever finds something wrong. `alerts.alarms.Alarms` implements it; declare the same in your own ports."""

    async def open(
        self, tx: Transaction, kind: AlertKind, subject: str, facts: Mapping[str, JsonValue] | None = None
    ) -> None:
        """In the caller's transaction, for its tenant. Opens once: later calls only say that it is still so."""
        ...

    async def close(self, tx: Transaction, kind: AlertKind, subject: str) -> None:
        """It is well again. Nothing happens where no such alert is open."""
        ...


class AlertStore(Protocol):
    """Inside one tenant's transaction."""

    async def open(
        self,
        tx: Transaction,
        alert_id: UUID,
        kind: AlertKind,
        subject: str,
        facts: Mapping[str, JsonValue],
        at: datetime,
    ) -> bool:
        """False where it was open already; its facts are renewed then."""
        ...

    async def close(self, tx: Transaction, kind: AlertKind, subject: str, at: datetime) -> bool: ...

    async def open_subjects(self, tx: Transaction, kind: AlertKind) -> Set[str]: ...

    async def find(self, tx: Transaction, alert_id: UUID) -> Alert | None: ...

    async def page(
        self, tx: Transaction, *, is_open: bool | None, kind: AlertKind | None, before: UUID | None, limit: int
    ) -> Sequence[Alert]:
        """Newest first."""
        ...

    async def due(self, tx: Transaction, now: datetime, limit: int) -> Sequence[Alert]:
        """Alerts of which somebody must be told now, held until the transaction ends; others pass them over."""
        ...

    async def note_told(self, tx: Transaction, alert_id: UUID, again_at: datetime | None, *, told: bool) -> None: ...


class TargetStore(Protocol):
    async def add(self, tx: Transaction, target: StoredTarget) -> None: ...

    async def find(self, tx: Transaction, target_id: UUID, *, for_change: bool = False) -> StoredTarget | None: ...

    async def all(self, tx: Transaction) -> Sequence[StoredTarget]:
        """Newest first; there are few."""
        ...

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[StoredTarget]:
        """Newest first."""
        ...

    async def change(self, tx: Transaction, target: StoredTarget) -> None: ...

    async def remove(self, tx: Transaction, target_id: UUID) -> None: ...

    async def note_outcome(self, tx: Transaction, target_id: UUID, at: datetime, fault: str | None) -> None: ...


class TellingStore(Protocol):
    async def add(
        self, tx: Transaction, targets: Sequence[UUID], alert_id: UUID, n: int, kind: TellingKind, due: datetime
    ) -> None: ...

    async def take(self, tx: Transaction, now: datetime, until: datetime, limit: int) -> Sequence[Telling]:
        """Those due, put off until then, so that nobody else takes them meanwhile."""
        ...

    async def done(self, tx: Transaction, telling: Telling) -> None: ...

    async def put_off(self, tx: Transaction, telling: Telling, due: datetime) -> None: ...


class AlertBoard(Protocol):
    """Looks over all tenants; names only who has something to do, and numbers."""

    async def tenants_to_tell(self, now: datetime) -> Sequence[str]: ...

    async def stalled(self, due_before: datetime) -> Sequence[StalledLane]:
        """Lanes that nobody has paused, oldest first."""
        ...

    async def workers_alive(self) -> int: ...

    async def troubles(self, since: datetime) -> Sequence[TroubleCount]: ...

    async def tenants_with_open(self, kinds: Sequence[AlertKind]) -> Sequence[str]: ...


class AlertMail(Protocol):
    async def send(self, tx: Transaction, address: str, subject: str, text: str, key: str) -> None:
        """As an operational message on the ordinary road, once for each key."""
        ...


class AlertCall(Protocol):
    async def post(self, url: str, secret: str, message_id: str, at: datetime, body: bytes) -> str | None:
        """Signed, through the one way out. Answers with a fault in a word, or None."""
        ...


class UrlChecker(Protocol):
    async def check(self, url: str) -> None:
        """Raises `Refused` for a URL that may not be called."""
        ...

    def new_secret(self) -> str: ...
