"""Telling events, and what they start: triggers and timers."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

import msgspec

from waypost.client.answers import AcceptedNotification, Json, JsonObject
from waypost.client.transport import Transport, segment
from waypost.kernel.clock import SystemClock


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fact. The same `consumer` and `id` again changes nothing."""

    id: str
    type: str
    occurred_at: datetime
    data: Mapping[str, Json] = {}
    consumer: str | None = None


class Timer(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    state: str
    created_at: datetime
    trigger_id: str | None = None
    recipient: str | None = None
    subject_key: str | None = None
    reason: str | None = None
    due: datetime | None = None
    collected: int = 0
    request_id: str | None = None
    ended_at: datetime | None = None


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What an event has started."""

    accepted: bool
    notifications: tuple[AcceptedNotification, ...]
    counts: dict[str, int]
    timers: tuple[Timer, ...]


class TakenMany(msgspec.Struct, frozen=True, kw_only=True):
    accepted: int
    refused: tuple[JsonObject, ...]
    """Each with its `index` and its `error`."""
    counts: dict[str, int]


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    key: str
    event_type: str
    scope: str
    enabled: bool
    version: int
    template: str | None = None
    recipient: str | None = None
    anchor: str | None = None
    offset: str | None = None
    subject_key: str | None = None
    reschedules: str | None = None
    cancels: str | None = None


class FailedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One that was pulled from a stream and could not be taken in."""

    id: str
    consumer: str
    event_id: str
    attempts: int
    code: str
    problem: str
    failed_at: datetime
    dead_at: datetime | None = None


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    escalation_ended: bool
    cancelled: tuple[str, ...]


class Events:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, event: Event) -> Taken:
        return await self._transport.ask("POST", "/v1/events", Taken, body=event)

    async def tell(self, kind: str, event_id: str, data: Mapping[str, Json]) -> Taken:
        """An event that has happened just now."""
        return await self.send(Event(id=event_id, type=kind, occurred_at=SystemClock().now(), data=data))

    async def send_many(self, events: Sequence[Event]) -> TakenMany:
        """Up to 10,000; each bad one is told by its index."""
        return await self._transport.ask("POST", "/v1/events/bulk", TakenMany, body=events)

    def failed(self, *, page_size: int | None = None) -> AsyncIterator[FailedEvent]:
        """What `waypost worker --consume` has given up, newest first."""
        return self._transport.pages("/v1/events/failed", FailedEvent, limit=page_size)

    async def redrive(self, failed_id: str) -> Taken:
        """By the triggers of today."""
        return await self._transport.ask("POST", f"/v1/events/failed/{segment(failed_id)}/redrive", Taken)

    async def seen(self, notification_id: str) -> Seen:
        """Somebody has read it: what would go on until seen ends."""
        return await self._transport.ask("POST", f"/v1/notifications/{segment(notification_id)}/seen", Seen)


class Triggers:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, **fields: Json) -> Trigger:
        """The fields are those of `POST /v1/triggers`."""
        return await self._transport.ask("POST", "/v1/triggers", Trigger, body=fields)

    async def get(self, trigger_id: str) -> Trigger:
        return await self._transport.ask("GET", f"/v1/triggers/{segment(trigger_id)}", Trigger)

    async def change(self, trigger_id: str, **fields: Json) -> Trigger:
        return await self._transport.ask("PATCH", f"/v1/triggers/{segment(trigger_id)}", Trigger, body=fields)

    async def delete(self, trigger_id: str) -> None:
        await self._transport.raw("DELETE", f"/v1/triggers/{segment(trigger_id)}")

    def list(self, *, event_type: str | None = None, page_size: int | None = None) -> AsyncIterator[Trigger]:
        return self._transport.pages("/v1/triggers", Trigger, query={"event_type": event_type}, limit=page_size)


class Timers:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        recipient: str | None = None,
        subject_key: str | None = None,
        state: str | None = None,
        page_size: int | None = None,
    ) -> AsyncIterator[Timer]:
        query = {"recipient": recipient, "subject_key": subject_key, "state": state}
        return self._transport.pages("/v1/timers", Timer, query=query, limit=page_size)

    async def get(self, timer_id: str) -> Timer:
        return await self._transport.ask("GET", f"/v1/timers/{segment(timer_id)}", Timer)

    async def cancel(self, timer_id: str) -> Timer:
        return await self._transport.ask("POST", f"/v1/timers/{segment(timer_id)}/cancel", Timer)
