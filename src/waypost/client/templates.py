"""Templates, their versions, and trying them out."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from waypost.client.answers import Json
from waypost.client.template_answers import Findings, Rendered, Template, TemplateVersion, VersionDiff
from waypost.client.transport import Transport, segment


class Templates:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self,
        key: str,
        *,
        category: str,
        channel: str = "email",
        name: str | None = None,
        topic: str | None = None,
        default_locale: str = "en",
        kind: str = "message",
    ) -> Template:
        body = {
            "key": key,
            "channel": channel,
            "category": category,
            "name": name,
            "topic": topic,
            "default_locale": default_locale,
            "kind": kind,
        }
        return await self._transport.ask("POST", "/v1/templates", Template, body=body)

    async def get(self, key: str, channel: str = "email") -> Template:
        """The tenant's own; where there is none, the platform's."""
        return await self._transport.ask("GET", _path(key, channel), Template)

    def list(self, *, owner: str = "tenant", page_size: int | None = None) -> AsyncIterator[Template]:
        return self._transport.pages("/v1/templates", Template, query={"owner": owner}, limit=page_size)

    async def change(
        self, key: str, change: Mapping[str, Json], *, channel: str = "email", revision: int | None = None
    ) -> Template:
        return await self._transport.ask(
            "PATCH", _path(key, channel), Template, body=change, headers=_if_match(revision)
        )

    async def archive(self, key: str, channel: str = "email") -> Template:
        return await self._transport.ask("POST", _path(key, channel, "/archive"), Template)

    async def add_version(
        self,
        key: str,
        locales: Mapping[str, Mapping[str, Json]],
        *,
        channel: str = "email",
        semver: str | None = None,
        revision: int | None = None,
        **more: Any,
    ) -> TemplateVersion:
        """`more`: `variables_schema`, `fallback_chain`, `layout`, `profile`, `samples`, `tracking`, `source`,
        `provenance`."""
        body: dict[str, object] = {"locales": locales, **more}
        if semver is not None:
            body["semver"] = semver
        path = _path(key, channel, "/versions")
        return await self._transport.ask("POST", path, TemplateVersion, body=body, headers=_if_match(revision))

    async def version(self, key: str, semver: str, *, channel: str = "email") -> TemplateVersion:
        return await self._transport.ask("GET", _version(key, channel, semver), TemplateVersion)

    def versions(self, key: str, channel: str = "email") -> AsyncIterator[TemplateVersion]:
        """Newest first."""
        return self._transport.pages(_path(key, channel, "/versions"), TemplateVersion)

    async def publish(
        self, key: str, semver: str, *, channel: str = "email", revision: int | None = None
    ) -> TemplateVersion:
        path = _version(key, channel, semver, "/publish")
        return await self._transport.ask("POST", path, TemplateVersion, headers=_if_match(revision))

    async def archive_version(self, key: str, semver: str, *, channel: str = "email") -> TemplateVersion:
        return await self._transport.ask("POST", _version(key, channel, semver, "/archive"), TemplateVersion)

    async def approve(self, key: str, semver: str, *, approver: str, channel: str = "email") -> TemplateVersion:
        path = _version(key, channel, semver, "/approve")
        return await self._transport.ask("POST", path, TemplateVersion, body={"approver": approver})

    async def preview(
        self,
        key: str,
        semver: str,
        variables: Mapping[str, Json] | None = None,
        *,
        channel: str = "email",
        locale: str | None = None,
        recipient: str | None = None,
        sample: str | None = None,
    ) -> Rendered:
        body = {"variables": variables, "locale": locale, "recipient": recipient, "sample": sample}
        path = _version(key, channel, semver, "/preview")
        return await self._transport.ask("POST", path, Rendered, body=body)

    async def try_out(
        self,
        key: str,
        version: Mapping[str, Json],
        variables: Mapping[str, Json] | None = None,
        *,
        channel: str = "email",
        locale: str | None = None,
        recipient: str | None = None,
    ) -> Rendered:
        """Of what is not stored yet: `version` is what `POST …/versions` takes."""
        body = {"version": version, "variables": variables, "locale": locale, "recipient": recipient}
        return await self._transport.ask("POST", _path(key, channel, "/preview"), Rendered, body=body)

    async def lint(self, key: str, semver: str, *, channel: str = "email") -> Findings:
        return await self._transport.ask("POST", _version(key, channel, semver, "/lint"), Findings)

    async def diff(self, key: str, before: str, after: str, *, channel: str = "email") -> VersionDiff:
        query = {"from": before, "to": after}
        return await self._transport.ask("GET", _path(key, channel, "/diff"), VersionDiff, query=query)


def _path(key: str, channel: str, rest: str = "") -> str:
    return f"/v1/templates/{segment(key)}/{segment(channel)}{rest}"


def _version(key: str, channel: str, semver: str, rest: str = "") -> str:
    return _path(key, channel, f"/versions/{segment(semver)}{rest}")


def _if_match(revision: int | None) -> dict[str, str]:
    return {} if revision is None else {"If-Match": f'"{revision}"'}
