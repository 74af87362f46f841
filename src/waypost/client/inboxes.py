"""Inboxes, what is posted to them, and tokens for those who read them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

import msgspec

from waypost.client.answers import Json, JsonObject
from waypost.client.transport import Transport, segment


class Inbox(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    title: str
    description: str
    ttl: dict[str, str]
    version: int


class Posted(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    recipients: int | None
    expires_at: datetime


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    delivered: int
    seen: int
    read: int


class Post(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    audience: str
    received_at: datetime
    expires_at: datetime
    title: str | None = None
    body: str | None = None
    topic: str | None = None
    label: str | None = None
    recipients: int | None = None
    redacted_at: datetime | None = None
    reach: Reach | None = None


class RecipientToken(msgspec.Struct, frozen=True, kw_only=True):
    token: str
    expires_at: datetime

    def __repr__(self) -> str:
        return f"RecipientToken(token=…, expires_at={self.expires_at!r})"


class InboxSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for all inboxes."""

    ttl: str
    visible_since: str
    allowed_origins: tuple[str, ...]
    identity_secret: bool


class IdentitySecret(msgspec.Struct, frozen=True, kw_only=True):
    secret: str

    def __repr__(self) -> str:
        return "IdentitySecret(secret=…)"


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    where: str
    counted: int
    there: int


class Drifts(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[Drift, ...]


class Inboxes:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def put(self, key: str, *, title: str, description: str = "", ttl: Mapping[str, str] | None = None) -> Inbox:
        body = {"title": title, "description": description, "ttl": dict(ttl or {})}
        return await self._transport.ask("PUT", _path(key), Inbox, body=body)

    async def get(self, key: str) -> Inbox:
        return await self._transport.ask("GET", _path(key), Inbox)

    def list(self, *, page_size: int | None = None) -> AsyncIterator[Inbox]:
        return self._transport.pages("/v1/inboxes", Inbox, limit=page_size)

    async def post(
        self,
        key: str,
        title: str,
        *,
        recipients: Sequence[str] | None = None,
        audience: Mapping[str, Json] | None = None,
        body: str = "",
        topic: str | None = None,
        ttl: str | None = None,
        **more: Json,
    ) -> Posted:
        """To these recipients, to an audience such as `{"kind": "list", "list": "vip"}`, or else to everyone."""
        chosen: JsonObject = dict(audience or {"kind": "everyone"})
        if recipients is not None:
            chosen = {"kind": "users", "recipients": [*recipients]}
        said: JsonObject = {"audience": chosen, "title": title, "body": body, "topic": topic, "ttl": ttl, **more}
        return await self._transport.ask("POST", _path(key, "/posts"), Posted, body=said)

    def posts(self, key: str, *, page_size: int | None = None) -> AsyncIterator[Post]:
        return self._transport.pages(_path(key, "/posts"), Post, limit=page_size)

    async def get_post(self, key: str, post_id: str) -> Post:
        """With its reach."""
        return await self._transport.ask("GET", _path(key, f"/posts/{segment(post_id)}"), Post)

    async def redact(self, key: str, post_id: str) -> None:
        await self._transport.raw("DELETE", _path(key, f"/posts/{segment(post_id)}"))

    async def token(self, recipient_id: str, *, expires_in: str | None = None) -> RecipientToken:
        """For the recipient's own browser."""
        path = f"/v1/recipients/{segment(recipient_id)}/token"
        query = None if expires_in is None else {"expires_in": expires_in}
        return await self._transport.ask("POST", path, RecipientToken, query=query)

    async def end_tokens(self, recipient_id: str) -> None:
        await self._transport.raw("DELETE", f"/v1/recipients/{segment(recipient_id)}/token")

    async def settings(self) -> InboxSettings:
        return await self._transport.ask("GET", "/v1/inbox-settings", InboxSettings)

    async def change_settings(self, fields: Mapping[str, Json]) -> InboxSettings:
        """An absent field keeps."""
        return await self._transport.ask("PATCH", "/v1/inbox-settings", InboxSettings, body=fields)

    async def make_identity_secret(self) -> IdentitySecret:
        """With which your server proves a recipient's id without asking; an older one is void."""
        return await self._transport.ask("POST", "/v1/inbox-settings/identity-secret", IdentitySecret)

    async def drop_identity_secret(self) -> None:
        await self._transport.raw("DELETE", "/v1/inbox-settings/identity-secret")

    async def verify_counters(self) -> Sequence[Drift]:
        """What is counted wrong: nothing."""
        return (await self._transport.ask("GET", "/v1/inbox-counters", Drifts)).items


def _path(key: str, rest: str = "") -> str:
    return f"/v1/inboxes/{segment(key)}{rest}"
