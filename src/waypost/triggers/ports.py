"""What triggers, events and timers need from the system of record."""

from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.kernel.work import Transaction
from waypost.triggers.model import FailedEvent, Timer, TimerFilter, TimerView, Trigger


class TriggerStore(Protocol):
    """Reads the tenant's rows and the platform's; writes the tenant's."""

    async def add(self, tx: Transaction, trigger: Trigger) -> bool:
        """False where the key is taken."""
        ...

    async def find(self, tx: Transaction, trigger_id: UUID, *, for_change: bool = False) -> Trigger | None: ...

    async def change(self, tx: Transaction, trigger: Trigger) -> None: ...

    async def remove(self, tx: Transaction, trigger_id: UUID) -> None: ...

    async def page(self, tx: Transaction, event_type: str | None, before: UUID | None, limit: int) -> Sequence[Trigger]:
        """Newest first."""
        ...

    async def by_key(self, tx: Transaction, key: str) -> Sequence[Trigger]:
        """The tenant's own and the platform's."""
        ...

    async def for_types(self, tx: Transaction, types: Sequence[str]) -> Sequence[Trigger]: ...

    async def standing_for(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, Trigger]:
        """What each of these means today: itself, or the tenant's own row that stands in for it."""
        ...


class Audience(Protocol):
    async def tagged(self, tx: Transaction, tags: Sequence[str], limit: int) -> Sequence[tuple[UUID, str]]:
        """Everyone with one of these tags, and their callers' ids."""
        ...


class Zones(Protocol):
    async def of(self, tx: Transaction) -> str:
        """The tenant's time zone."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SealedNews:
    subject_key: str
    consumer: str
    event_id: str
    event_type: str
    occurred_at: datetime
    cancels: bool
    data: bytes | None


class EventStore(Protocol):
    async def consume(self, tx: Transaction, events: Sequence[tuple[str, str]], at: datetime) -> Set[tuple[str, str]]:
        """Takes (consumer, id) of each, and says which were new. Waits for whoever is taking the same."""
        ...

    async def hold_subjects(self, tx: Transaction, keys: Sequence[str]) -> None:
        """Until the transaction ends nobody else plans timers of these subjects."""
        ...

    async def add_news(self, tx: Transaction, news: Sequence[SealedNews], kept_until: datetime) -> None: ...

    async def news(self, tx: Transaction, keys: Sequence[str]) -> Sequence[SealedNews]:
        """The latest of each subject."""
        ...

    def step(self, tx: Transaction) -> AbstractAsyncContextManager[None]:
        """A part of the transaction that is taken back alone when it raises."""
        ...


class TimerStore(Protocol):
    async def add(self, tx: Transaction, timers: Sequence[Timer]) -> Set[UUID]:
        """Says which were new: one per (kind, source, trigger, recipient)."""
        ...

    async def of_subjects(self, tx: Transaction, keys: Sequence[str]) -> Sequence[Timer]:
        """Locked, in the order of their ids."""
        ...

    async def claim(self, tx: Transaction, at: datetime, at_most: int) -> Sequence[Timer]:
        """Due ones that nobody else holds, the longest due first, locked."""
        ...

    async def claim_some(self, tx: Transaction, timer_ids: Sequence[UUID]) -> Sequence[Timer]:
        """Those of these that still wait and that nobody holds."""
        ...

    async def put(self, tx: Transaction, timers: Sequence[Timer]) -> None:
        """What has become of timers that the transaction holds."""
        ...

    async def page(self, tx: Transaction, wanted: TimerFilter, before: UUID | None, limit: int) -> Sequence[TimerView]:
        """Newest first."""
        ...

    async def find(self, tx: Transaction, timer_id: UUID) -> TimerView | None: ...

    async def hold(self, tx: Transaction, timer_id: UUID) -> Timer | None:
        """Locked; waits for whoever holds it."""
        ...

    async def names(self, tx: Transaction, recipients: Sequence[UUID]) -> Mapping[UUID, tuple[str, bytes | None]]:
        """The caller's id of each, and the wrapped data key: None once erased."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Where something is collected."""

    trigger_id: UUID
    recipient_id: UUID
    slot: str


class DigestStore(Protocol):
    async def open_windows(
        self, tx: Transaction, wanted: Mapping[Window, Timer], at: datetime
    ) -> Mapping[Window, Timer]:
        """The open window of each, locked; the given timer where none is open. One that is over is closed."""
        ...

    async def add_items(self, tx: Transaction, items: Sequence[tuple[UUID, int, bytes]]) -> None: ...

    async def count(self, tx: Transaction, collected: Mapping[UUID, int]) -> None: ...

    async def items(self, tx: Transaction, timer_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[bytes]]: ...

    async def drop_items(self, tx: Transaction, timer_ids: Sequence[UUID]) -> None: ...


class ThrottleStore(Protocol):
    async def hold(
        self, tx: Transaction, wanted: Sequence[Window], at: datetime
    ) -> Mapping[Window, Sequence[datetime]]:
        """When the last messages of each went, locked."""
        ...

    async def put(self, tx: Transaction, times: Mapping[Window, Sequence[datetime]], at: datetime) -> None: ...


class EscalationStore(Protocol):
    async def add_messages(self, tx: Transaction, messages: Mapping[UUID, UUID]) -> None:
        """Notification → timer."""
        ...

    async def timer_of(self, tx: Transaction, notification_id: UUID) -> UUID | None: ...

    async def messages(self, tx: Transaction, timer_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[UUID]]:
        """The notifications of each, oldest first."""
        ...


class DueTenants(Protocol):
    async def due_tenants(self, at: datetime, after: str, at_most: int) -> Sequence[str]:
        """Active tenants with due timers, in order, from the one after `after` on. Looks across tenants."""
        ...


class FailureStore(Protocol):
    async def note(self, tx: Transaction, failed: FailedEvent, body: bytes, dead_after: int) -> FailedEvent:
        """One attempt more; dead from so many on."""
        ...

    async def forget(self, tx: Transaction, consumer: str, event_id: str) -> None: ...

    async def find(self, tx: Transaction, failure_id: UUID) -> tuple[FailedEvent, bytes] | None: ...

    async def page(self, tx: Transaction, before: UUID | None, limit: int) -> Sequence[FailedEvent]:
        """The dead ones, newest first."""
        ...


class TriggerTelemetry(Protocol):
    def taken(self, accepted: int, duplicates: int, refused: int) -> None: ...

    def fired(self, word: str, reason: str, count: int) -> None: ...

    def ticked(self, seconds: float) -> None: ...

    def consumed(self, outcome: str) -> None: ...
