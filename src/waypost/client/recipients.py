"""The people who are reached."""

from collections.abc import AsyncIterator, Mapping

from waypost.client.answers import Address, Addresses, Json, Recipient
from waypost.client.transport import Transport, segment


class Recipients:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def put(self, recipient_id: str, fields: Mapping[str, Json]) -> Recipient:
        """Makes or merges: an absent field keeps, null removes."""
        return await self._transport.ask("PUT", _path(recipient_id), Recipient, body=fields)

    async def patch(self, recipient_id: str, fields: Mapping[str, Json]) -> Recipient:
        return await self._transport.ask("PATCH", _path(recipient_id), Recipient, body=fields)

    async def get(self, recipient_id: str) -> Recipient:
        return await self._transport.ask("GET", _path(recipient_id), Recipient)

    async def erase(self, recipient_id: str) -> None:
        """Destroys the recipient's data key: what was sealed under it is gone."""
        await self._transport.raw("DELETE", _path(recipient_id))

    async def addresses(self, recipient_id: str) -> tuple[Address, ...]:
        answer = await self._transport.ask("GET", _path(recipient_id, "/addresses"), Addresses)
        return answer.items

    async def remove_address(self, recipient_id: str, address_id: str) -> None:
        await self._transport.raw("DELETE", _path(recipient_id, f"/addresses/{segment(address_id)}"))

    def list(self, *, page_size: int | None = None) -> AsyncIterator[Recipient]:
        return self._transport.pages("/v1/recipients", Recipient, limit=page_size)


def _path(recipient_id: str, rest: str = "") -> str:
    return f"/v1/recipients/{segment(recipient_id)}{rest}"
