"""Templates, their versions, and trying them out."""

from collections.abc import AsyncIterator, Mapping

from waypost.client.answers import Json, Rendered, Template, TemplateVersion
from waypost.client.transport import Transport, segment


class Templates:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, key: str, *, name: str, category: str, channel: str = "email") -> Template:
        body = {"key": key, "name": name, "category": category, "channel": channel}
        return await self._transport.ask("POST", "/v1/templates", Template, body=body)

    async def get(self, key: str, channel: str = "email") -> Template:
        return await self._transport.ask("GET", _path(key, channel), Template)

    def list(self, *, page_size: int | None = None) -> AsyncIterator[Template]:
        return self._transport.pages("/v1/templates", Template, limit=page_size)

    async def add_version(
        self,
        key: str,
        content: Mapping[str, str],
        *,
        channel: str = "email",
        variables_schema: Mapping[str, Json] | None = None,
    ) -> TemplateVersion:
        body: dict[str, object] = {"content": content}
        if variables_schema is not None:
            body["variables_schema"] = variables_schema
        return await self._transport.ask("POST", _path(key, channel, "/versions"), TemplateVersion, body=body)

    async def version(self, key: str, number: int, *, channel: str = "email") -> TemplateVersion:
        return await self._transport.ask("GET", _path(key, channel, f"/versions/{number}"), TemplateVersion)

    def versions(self, key: str, channel: str = "email") -> AsyncIterator[TemplateVersion]:
        return self._transport.pages(_path(key, channel, "/versions"), TemplateVersion)

    async def publish(self, key: str, number: int, *, channel: str = "email") -> TemplateVersion:
        path = _path(key, channel, f"/versions/{number}/publish")
        return await self._transport.ask("POST", path, TemplateVersion)

    async def preview(
        self, key: str, number: int, variables: Mapping[str, Json], *, channel: str = "email"
    ) -> Rendered:
        path = _path(key, channel, f"/versions/{number}/preview")
        return await self._transport.ask("POST", path, Rendered, body={"variables": variables})


def _path(key: str, channel: str, rest: str = "") -> str:
    return f"/v1/templates/{segment(key)}/{segment(channel)}{rest}"
