"""Named sets of recipients."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import msgspec

from waypost.client.transport import Transport, segment


class RecipientList(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    title: str
    version: int
    created_at: datetime
    updated_at: datetime


class Member(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    added_at: datetime


class MembersChanged(msgspec.Struct, frozen=True, kw_only=True):
    added: int
    removed: int


class Lists:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def put(self, key: str, *, title: str | None = None) -> RecipientList:
        return await self._transport.ask("PUT", f"/v1/lists/{segment(key)}", RecipientList, body={"title": title})

    async def get(self, key: str) -> RecipientList:
        return await self._transport.ask("GET", f"/v1/lists/{segment(key)}", RecipientList)

    async def remove(self, key: str) -> None:
        await self._transport.raw("DELETE", f"/v1/lists/{segment(key)}")

    async def change_members(self, key: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> MembersChanged:
        """Up to 10,000 at a time; all of it or nothing."""
        body = {"add": list(add), "remove": list(remove)}
        return await self._transport.ask("POST", f"/v1/lists/{segment(key)}/members", MembersChanged, body=body)

    def members(self, key: str, *, page_size: int | None = None) -> AsyncIterator[Member]:
        return self._transport.pages(f"/v1/lists/{segment(key)}/members", Member, limit=page_size)

    def list(self, *, page_size: int | None = None) -> AsyncIterator[RecipientList]:
        return self._transport.pages("/v1/lists", RecipientList, limit=page_size)
