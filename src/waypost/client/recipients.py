"""The people who are reached."""

from collections.abc import AsyncIterator, Mapping, Sequence

from waypost.client.answers import (
    Address,
    Addresses,
    Certificate,
    Json,
    Recipient,
    ReplayedErasures,
    Tags,
    VerifiedErasure,
)
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

    async def erase(self, recipient_id: str) -> Certificate:
        """Destroys the recipient's data key: what was sealed under it is gone. Answers with a signed certificate."""
        return await self._transport.ask("DELETE", _path(recipient_id), Certificate)

    def erasures(self, *, page_size: int | None = None) -> AsyncIterator[Certificate]:
        """Certificates of all erasures, newest first."""
        return self._transport.pages("/v1/erasures", Certificate, limit=page_size)

    async def replay_erasures(self, certificates: Sequence[Certificate]) -> ReplayedErasures:
        """Up to 100, after an older backup was restored: whoever came back with it is erased again."""
        body = {"certificates": list(certificates)}
        return await self._transport.ask("POST", "/v1/erasures/replay", ReplayedErasures, body=body)

    async def verify_erasure(self, certificate: Certificate, *, recipient_id: str | None = None) -> VerifiedErasure:
        """Whether a certificate is genuine and on record, and is about this recipient."""
        body = {"certificate": certificate, "id": recipient_id}
        return await self._transport.ask("POST", "/v1/erasures/verify", VerifiedErasure, body=body)

    async def merge(self, recipient_id: str, *, source: str) -> Recipient:
        """The source becomes part of the recipient, and its id leads there for ever."""
        return await self._transport.ask("POST", _path(recipient_id, "/merge"), Recipient, body={"from": source})

    async def tags(self, recipient_id: str) -> tuple[str, ...]:
        return (await self._transport.ask("GET", _path(recipient_id, "/tags"), Tags)).tags

    async def set_tags(self, recipient_id: str, tags: Sequence[str]) -> tuple[str, ...]:
        answer = await self._transport.ask("PUT", _path(recipient_id, "/tags"), Tags, body={"tags": list(tags)})
        return answer.tags

    async def add_tags(self, recipient_id: str, tags: Sequence[str]) -> tuple[str, ...]:
        answer = await self._transport.ask("POST", _path(recipient_id, "/tags"), Tags, body={"tags": list(tags)})
        return answer.tags

    async def remove_tag(self, recipient_id: str, tag: str) -> tuple[str, ...]:
        answer = await self._transport.ask("DELETE", _path(recipient_id, f"/tags/{segment(tag)}"), Tags)
        return answer.tags

    async def add_address(
        self, recipient_id: str, channel: str, address: str, *, verified: bool = False, current: bool = True
    ) -> Address:
        body = {"channel": channel, "address": address, "verified": verified, "current": current}
        return await self._transport.ask("POST", _path(recipient_id, "/addresses"), Address, body=body)

    async def change_address(
        self, recipient_id: str, address_id: str, *, verified: bool | None = None, current: bool = False
    ) -> Address:
        body = {"verified": verified, "current": True if current else None}
        path = _path(recipient_id, f"/addresses/{segment(address_id)}")
        return await self._transport.ask("PATCH", path, Address, body=body)

    async def addresses(self, recipient_id: str) -> tuple[Address, ...]:
        answer = await self._transport.ask("GET", _path(recipient_id, "/addresses"), Addresses)
        return answer.items

    async def remove_address(self, recipient_id: str, address_id: str) -> None:
        await self._transport.raw("DELETE", _path(recipient_id, f"/addresses/{segment(address_id)}"))

    def list(self, *, page_size: int | None = None, **wanted: str | None) -> AsyncIterator[Recipient]:
        """All of them, or by one of `id_prefix`, `email`, `phone`, `tag` and `list`."""
        return self._transport.pages("/v1/recipients", Recipient, query=wanted, limit=page_size)


def _path(recipient_id: str, rest: str = "") -> str:
    return f"/v1/recipients/{segment(recipient_id)}{rest}"
