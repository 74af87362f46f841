"""Operations: pauses, the queue, dead letters, alerts."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from waypost.client.transport import Transport, segment


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    scope: str
    subject: str
    reason: str
    by_platform: bool
    is_settling: bool
    created_at: datetime
    created_by: str


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    channel: str
    priority: str
    waiting: int
    scheduled: int
    held: int
    in_flight: int
    oldest_age_seconds: float | None
    paused: bool
    capped: bool


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    lanes: tuple[Lane, ...]
    oldest_age_seconds: float
    workers_alive: int


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    notification_id: str
    at: datetime
    reason: str
    detail: str | None
    explanation: str
    channel: str
    category: str
    template: str | None
    recipient_id: str | None
    attempts: int
    expires_at: datetime | None
    can_be_redriven: bool


class NotRedriven(msgspec.Struct, frozen=True, kw_only=True):
    notification_id: str
    reason: str


class Redriven(msgspec.Struct, frozen=True, kw_only=True):
    redriven: int
    refused: tuple[NotRedriven, ...]
    job_id: str | None


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    subject: str
    summary: str
    facts: dict[str, Any]
    opened_at: datetime
    seen_at: datetime
    closed_at: datetime | None
    told: int


class AlertTarget(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    target: str
    kinds: tuple[str, ...]
    description: str
    status: str
    last_told_at: datetime | None
    last_fault: str | None
    version: int
    created_at: datetime
    updated_at: datetime


class NewAlertTarget(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    secret: str | None

    def __repr__(self) -> str:
        return f"NewAlertTarget({self.id})"


class Pauses:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, scope: str, subject: str | None = None, *, reason: str = "") -> Pause:
        """`scope` is tenant, channel, account, broadcast or category; `subject` says which."""
        body = {"scope": scope, "id": subject, "reason": reason}
        return await self._transport.ask("POST", "/v1/pauses", Pause, body=body)

    async def list(self, *, tenant: str | None = None) -> Sequence[Pause]:
        """All in force, newest first; `tenant` is for platform keys."""
        return await self._transport.whole("/v1/pauses", Pause, query={"tenant": tenant})

    async def resume(self, pause_id: str, *, tenant: str | None = None) -> None:
        await self._transport.raw("DELETE", f"/v1/pauses/{segment(pause_id)}", query={"tenant": tenant})


class DeadLetters:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        reason: str | None = None,
        channel: str | None = None,
        category: str | None = None,
        template: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        page_size: int | None = None,
    ) -> AsyncIterator[DeadLetter]:
        """The latest first."""
        query = _filter(reason, channel, category, template, since, until)
        return self._transport.pages("/v1/dead-letters", DeadLetter, query=query, limit=page_size)

    async def redrive(
        self,
        ids: Sequence[str] | None = None,
        *,
        reason: str | None = None,
        channel: str | None = None,
        category: str | None = None,
        template: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        extend: str | None = None,
    ) -> Redriven:
        """Those named, or all that the filter matches. `extend` gives expired ones more time."""
        body: dict[str, object] = {} if extend is None else {"extend": extend}
        if ids is not None:
            body["ids"] = list(ids)
        else:
            wanted = _filter(reason, channel, category, template, since, until)
            body["filter"] = {name: value for name, value in wanted.items() if value is not None}
        return await self._transport.ask("POST", "/v1/dead-letters/redrive", Redriven, body=body)


class Alerts:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self, *, is_open: bool | None = None, kind: str | None = None, page_size: int | None = None
    ) -> AsyncIterator[Alert]:
        opened = None if is_open is None else str(is_open).lower()
        return self._transport.pages("/v1/alerts", Alert, query={"open": opened, "kind": kind}, limit=page_size)

    async def get(self, alert_id: str) -> Alert:
        return await self._transport.ask("GET", f"/v1/alerts/{segment(alert_id)}", Alert)

    async def add_target(
        self, *, email: str | None = None, url: str | None = None, kinds: Sequence[str] = (), description: str = ""
    ) -> NewAlertTarget:
        body = {"email": email, "url": url, "kinds": list(kinds), "description": description}
        return await self._transport.ask("POST", "/v1/alert-targets", NewAlertTarget, body=body)

    async def targets(self) -> Sequence[AlertTarget]:
        """All of them, newest first."""
        return await self._transport.whole("/v1/alert-targets", AlertTarget)

    async def target(self, target_id: str) -> AlertTarget:
        return await self._transport.ask("GET", _target(target_id), AlertTarget)

    async def change_target(
        self,
        target_id: str,
        *,
        kinds: Sequence[str] | None = None,
        description: str | None = None,
        status: str | None = None,
    ) -> AlertTarget:
        """What is None stays. `status` is `enabled` or `disabled`."""
        given = {"kinds": kinds, "description": description, "status": status}
        body = {name: value for name, value in given.items() if value is not None}
        return await self._transport.ask("PATCH", _target(target_id), AlertTarget, body=body)

    async def test_target(self, target_id: str) -> AlertTarget:
        return await self._transport.ask("POST", f"{_target(target_id)}/test", AlertTarget)

    async def remove_target(self, target_id: str) -> None:
        await self._transport.raw("DELETE", _target(target_id))


async def look_at_queue(transport: Transport) -> Queue:
    return await transport.ask("GET", "/v1/queue", Queue)


def _target(target_id: str) -> str:
    return f"/v1/alert-targets/{segment(target_id)}"


def _filter(
    reason: str | None,
    channel: str | None,
    category: str | None,
    template: str | None,
    since: datetime | None,
    until: datetime | None,
) -> Mapping[str, str | None]:
    return {
        "reason": reason,
        "channel": channel,
        "category": category,
        "template": template,
        "since": since.isoformat() if since else None,
        "until": until.isoformat() if until else None,
    }
