"""What people want: topics, preferences, consent, the tenant's settings, and why a message would go or not."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime

from waypost.client.answers import Json
from waypost.client.transport import Transport, segment
from waypost.client.wish_answers import (
    Consent,
    ConsentCheck,
    Explanation,
    Limits,
    Preferences,
    TenantSettings,
    Topic,
)


class Topics:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def put(self, key: str, fields: Mapping[str, Json]) -> Topic:
        """`title`, `category` and `default` are needed; a topic is put whole."""
        return await self._transport.ask("PUT", f"/v1/topics/{segment(key)}", Topic, body=fields)

    async def get(self, key: str) -> Topic:
        return await self._transport.ask("GET", f"/v1/topics/{segment(key)}", Topic)

    async def list(self) -> tuple[Topic, ...]:
        """All of them, in the tenant's order."""
        return await self._transport.whole("/v1/topics", Topic)

    async def delete(self, key: str) -> None:
        await self._transport.raw("DELETE", f"/v1/topics/{segment(key)}")


class RecipientWishes:
    """The preferences and consents of recipients."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, recipient_id: str) -> Preferences:
        return await self._transport.ask("GET", _path(recipient_id, "preferences"), Preferences)

    async def put(self, recipient_id: str, fields: Mapping[str, Json]) -> Preferences:
        """Merges: an absent field keeps, null removes."""
        return await self._transport.ask("PUT", _path(recipient_id, "preferences"), Preferences, body=fields)

    async def consent(self, recipient_id: str, fields: Mapping[str, Json]) -> Consent:
        """`state` and `source` are needed."""
        return await self._transport.ask("POST", _path(recipient_id, "consents"), Consent, body=fields)

    def consents(self, recipient_id: str, *, page_size: int | None = None) -> AsyncIterator[Consent]:
        return self._transport.pages(_path(recipient_id, "consents"), Consent, limit=page_size)

    async def verify_consents(self, recipient_id: str) -> ConsentCheck:
        return await self._transport.ask("GET", _path(recipient_id, "consents/verify"), ConsentCheck)


class Settings:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self) -> TenantSettings:
        return await self._transport.ask("GET", "/v1/settings", TenantSettings)

    async def change(self, fields: Mapping[str, Json]) -> TenantSettings:
        """An absent field keeps, null goes back to the default."""
        return await self._transport.ask("PATCH", "/v1/settings", TenantSettings, body=fields)

    async def limits(self) -> Limits:
        return await self._transport.ask("GET", "/v1/settings/limits", Limits)

    async def set_limits(self, limits: Limits) -> Limits:
        """All of them: what is left out has no limit."""
        return await self._transport.ask("PUT", "/v1/settings/limits", Limits, body=limits)


async def explain(
    transport: Transport,
    recipient: str,
    *,
    channel: str = "email",
    category: str | None = None,
    topic: str | None = None,
    template: str | None = None,
    priority: str = "normal",
    at: datetime | None = None,
) -> Explanation:
    body = {
        "recipient": recipient,
        "channel": channel,
        "category": category,
        "topic": topic,
        "template": template,
        "priority": priority,
        "at": at,
    }
    return await transport.ask("POST", "/v1/explain", Explanation, body=body)


def _path(recipient_id: str, rest: str) -> str:
    return f"/v1/recipients/{segment(recipient_id)}/{rest}"
