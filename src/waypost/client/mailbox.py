"""What the catch-all received for the tenant; exists only where `waypost up` runs it."""

from collections.abc import AsyncIterator

from waypost.client.answers import CaughtMail
from waypost.client.transport import Transport, segment


class Mailbox:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page_size: int | None = None) -> AsyncIterator[CaughtMail]:
        """Newest first."""
        return self._transport.pages("/v1/mailbox", CaughtMail, limit=page_size)

    async def raw(self, mail_id: str) -> bytes:
        """The whole message as it came over SMTP."""
        return await self._transport.raw("GET", f"/v1/mailbox/{segment(mail_id)}")
