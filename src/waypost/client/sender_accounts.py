"""Sender accounts, and how each channel's messages leave."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

import msgspec

from waypost.client.transport import Transport, segment
from waypost.kernel.jsontypes import JsonValue


class SenderDay(msgspec.Struct, frozen=True, kw_only=True):
    sent: int
    bounced: int
    errors: int
    deferred: int
    reserved: int
    limit: int | None
    remaining: int | None
    limit_reached: bool
    next_reset: datetime


class WarmUpStage(msgspec.Struct, frozen=True, kw_only=True):
    limit: int
    delay_ms: int
    batch_size: int
    days: int


class WarmUp(msgspec.Struct, frozen=True, kw_only=True):
    stage: int | None
    stages: tuple[WarmUpStage, ...]
    started_on: tuple[str, ...]
    next_stage_on: str | None
    finished_on: str | None


class SenderPace(msgspec.Struct, frozen=True, kw_only=True):
    provider: str
    per_hour: float | None
    limit: int | None
    taken_this_hour: int
    next_at: datetime | None
    slowed_at: datetime | None


class SenderHealth(msgspec.Struct, frozen=True, kw_only=True):
    bounce_rate: float | None
    error_rate: float | None
    errors_in_a_row: int


class SenderAccount(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    name: str
    display_name: str
    from_address: str
    domain: str
    categories: tuple[str, ...] | None
    daily_limit: int | None
    batch_size: int
    delay_ms: int
    provider_limits: dict[str, int]
    adaptive: bool
    host: str
    port: int
    tls: str
    auth: str
    username: str
    subject: str
    helo_name: str
    max_connections: int
    messages_per_connection: int
    has_secret: bool
    secret_is_reference: bool
    status: str
    status_reason: str | None
    status_at: datetime
    today: SenderDay
    next_send_at: datetime | None
    warmup: WarmUp | None
    paces: tuple[SenderPace, ...]
    health: SenderHealth
    version: int
    created_at: datetime
    updated_at: datetime


class SenderTrial(msgspec.Struct, frozen=True, kw_only=True):
    ok: bool
    message: str
    reason: str | None
    reply: str | None
    encrypted: bool


class SenderDayCount(msgspec.Struct, frozen=True, kw_only=True):
    day: str
    sent: int
    bounced: int
    errors: int
    deferred: int


class _Days(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[SenderDayCount, ...]


class ChannelWay(msgspec.Struct, frozen=True, kw_only=True):
    channel: str
    way: str
    sender_accounts: int
    able: int


class _Channels(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[ChannelWay, ...]


class SenderAccounts:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, kind: str, name: str, from_address: str, **fields: JsonValue) -> SenderAccount:
        """`fields` as `POST /v1/sender-accounts` takes them: `host`, `auth`, `username`, `secret`, `daily_limit`, …"""
        body = {"kind": kind, "name": name, "from_address": from_address, **fields}
        return await self._transport.ask("POST", "/v1/sender-accounts", SenderAccount, body=body)

    def list(self, *, archived: bool = False, page_size: int | None = None) -> AsyncIterator[SenderAccount]:
        query = {"archived": "true"} if archived else {}
        return self._transport.pages("/v1/sender-accounts", SenderAccount, query=query, limit=page_size)

    async def get(self, account_id: str) -> SenderAccount:
        return await self._transport.ask("GET", _path(account_id), SenderAccount)

    async def change(self, account_id: str, changes: Mapping[str, JsonValue]) -> SenderAccount:
        """What is left out stays; None takes a limit away."""
        return await self._transport.ask("PATCH", _path(account_id), SenderAccount, body=dict(changes))

    async def archive(self, account_id: str) -> None:
        await self._transport.raw("DELETE", _path(account_id))

    async def pause(self, account_id: str) -> SenderAccount:
        return await self._transport.ask("POST", _path(account_id, "pause"), SenderAccount)

    async def resume(self, account_id: str) -> SenderAccount:
        return await self._transport.ask("POST", _path(account_id, "resume"), SenderAccount)

    async def test(self, account_id: str) -> SenderTrial:
        """Enters the server and leaves at once. Nothing is sent."""
        return await self._transport.ask("POST", _path(account_id, "test"), SenderTrial)

    async def days(self, account_id: str) -> Sequence[SenderDayCount]:
        return (await self._transport.ask("GET", _path(account_id, "days"), _Days)).items

    async def channels(self) -> Sequence[ChannelWay]:
        """How each channel's messages leave."""
        return (await self._transport.ask("GET", "/v1/channels", _Channels)).items


def _path(account_id: str, part: str | None = None) -> str:
    path = f"/v1/sender-accounts/{segment(account_id)}"
    return f"{path}/{part}" if part else path
