"""Webhook endpoints, and what they were told."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from waypost.client.transport import Transport, segment
from waypost.client.webhook_answers import NewWebhookSecret, WebhookDelivery, WebhookEndpoint, WebhookReplay


class Webhooks:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, url: str, *, events: Sequence[str], description: str = "") -> NewWebhookSecret:
        body = {"url": url, "events": events, "description": description}
        return await self._transport.ask("POST", "/v1/webhook-endpoints", NewWebhookSecret, body=body)

    def list(self, *, page_size: int | None = None) -> AsyncIterator[WebhookEndpoint]:
        return self._transport.pages("/v1/webhook-endpoints", WebhookEndpoint, limit=page_size)

    async def get(self, endpoint_id: str) -> WebhookEndpoint:
        return await self._transport.ask("GET", _path(endpoint_id), WebhookEndpoint)

    async def change(
        self,
        endpoint_id: str,
        *,
        url: str | None = None,
        events: Sequence[str] | None = None,
        description: str | None = None,
        status: str | None = None,
    ) -> WebhookEndpoint:
        """What is None stays. `status` is `enabled` or `disabled`."""
        given = {"url": url, "events": events, "description": description, "status": status}
        body = {name: value for name, value in given.items() if value is not None}
        return await self._transport.ask("PATCH", _path(endpoint_id), WebhookEndpoint, body=body)

    async def delete(self, endpoint_id: str) -> None:
        await self._transport.raw("DELETE", _path(endpoint_id))

    async def rotate_secret(self, endpoint_id: str, *, overlap: str = "24h") -> NewWebhookSecret:
        path = _path(endpoint_id, "rotate-secret")
        return await self._transport.ask("POST", path, NewWebhookSecret, body={"overlap": overlap})

    async def test(self, endpoint_id: str) -> WebhookDelivery:
        return await self._transport.ask("POST", _path(endpoint_id, "test"), WebhookDelivery)

    def deliveries(
        self, endpoint_id: str, *, status: str | None = None, page_size: int | None = None
    ) -> AsyncIterator[WebhookDelivery]:
        path = _path(endpoint_id, "deliveries")
        return self._transport.pages(path, WebhookDelivery, query={"status": status}, limit=page_size)

    async def retry(self, endpoint_id: str, delivery_id: str) -> WebhookDelivery:
        path = f"{_path(endpoint_id, 'deliveries')}/{segment(delivery_id)}/retry"
        return await self._transport.ask("POST", path, WebhookDelivery)

    async def replay(self, endpoint_id: str, *, since: datetime, until: datetime | None = None) -> WebhookReplay:
        body: dict[str, object] = {"from": since}
        if until is not None:
            body["to"] = until
        return await self._transport.ask("POST", _path(endpoint_id, "replay"), WebhookReplay, body=body)

    async def replays(self, endpoint_id: str) -> Sequence[WebhookReplay]:
        """All of them, newest first."""
        return await self._transport.whole(_path(endpoint_id, "replays"), WebhookReplay)


def _path(endpoint_id: str, part: str | None = None) -> str:
    path = f"/v1/webhook-endpoints/{segment(endpoint_id)}"
    return f"{path}/{part}" if part else path
