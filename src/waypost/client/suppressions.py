"""Addresses that must not be written to."""

from collections.abc import AsyncIterator
from datetime import datetime

from waypost.client.answers import Suppression
from waypost.client.transport import Transport, segment


class Suppressions:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def add(
        self, address: str, *, reason: str = "manual", channel: str = "email", expires_at: datetime | None = None
    ) -> Suppression:
        body: dict[str, object] = {"channel": channel, "address": address, "reason": reason}
        if expires_at is not None:
            body["expires_at"] = expires_at
        return await self._transport.ask("POST", "/v1/suppressions", Suppression, body=body)

    def list(self, *, page_size: int | None = None) -> AsyncIterator[Suppression]:
        return self._transport.pages("/v1/suppressions", Suppression, limit=page_size)

    async def release(self, suppression_id: str) -> None:
        await self._transport.raw("DELETE", f"/v1/suppressions/{segment(suppression_id)}")
