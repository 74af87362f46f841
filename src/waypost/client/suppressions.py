"""Addresses that must not be written to."""

from collections.abc import AsyncIterator
from datetime import datetime

from waypost.client.answers import Suppression
from waypost.client.transport import Transport, segment
from waypost.client.wish_answers import SuppressionImport


class Suppressions:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def add(
        self,
        address: str,
        *,
        reason: str = "manual",
        channel: str = "email",
        expires_at: datetime | None = None,
        topic: str | None = None,
        notes: str | None = None,
    ) -> Suppression:
        said = {"expires_at": expires_at, "topic": topic, "notes": notes}
        body: dict[str, object] = {"channel": channel, "address": address, "reason": reason}
        body |= {name: value for name, value in said.items() if value is not None}
        return await self._transport.ask("POST", "/v1/suppressions", Suppression, body=body)

    def list(
        self,
        *,
        channel: str | None = None,
        reason: str | None = None,
        address: str | None = None,
        page_size: int | None = None,
    ) -> AsyncIterator[Suppression]:
        """Those in force, newest first; with `address`, those against one address (of email, unless `channel` says)."""
        query = {"channel": channel, "reason": reason, "address": address}
        return self._transport.pages("/v1/suppressions", Suppression, query=query, limit=page_size)

    async def get(self, suppression_id: str) -> Suppression:
        return await self._transport.ask("GET", f"/v1/suppressions/{segment(suppression_id)}", Suppression)

    async def take_in(self, csv: str) -> SuppressionImport:
        """The first line names the columns; one of them is `address`."""
        return await self._transport.ask("POST", "/v1/suppressions/import", SuppressionImport, body={"csv": csv})

    async def export(self) -> str:
        """CSV of what is in force, addresses masked."""
        return (await self._transport.raw("GET", "/v1/suppressions/export")).decode()

    async def release(self, suppression_id: str) -> None:
        await self._transport.raw("DELETE", f"/v1/suppressions/{segment(suppression_id)}")
