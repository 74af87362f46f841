"""What pushing a folder would do, and doing it: drafts where something differs, conflicts told and left alone."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from waypost.cli.template_folder import Entry, entry_of, write_entry
from waypost.client import ApiError, Client
from waypost.client.template_answers import Template, TemplateVersion

_NOT_FOUND: Final = 404
_ABOUT: Final = ("name", "category", "topic", "default_locale")


UNCHANGED: Final = "unchanged"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, or would be, about one template."""

    key: str
    channel: str
    action: str
    """`unchanged`, `created`, `changed`, `drafted`, `published`, `pulled`, `conflict` or `refused`."""
    version: str | None = None
    message: str | None = None

    @property
    def is_trouble(self) -> bool:
        return self.action in ("conflict", "refused")


@dataclass(frozen=True, kw_only=True)
class There:
    """A template as the server has it."""

    template: Template
    active: TemplateVersion | None
    newest: TemplateVersion | None
    """Active or draft."""


async def look(client: Client, key: str, channel: str, *, owner: str = "tenant") -> There | None:
    """The caller's own template, if there is one."""
    try:
        template = await client.templates.get(key, channel)
    except ApiError as error:
        if error.status == _NOT_FOUND:
            return None
        raise
    if template.owner != owner:
        return None
    active = newest = None
    async for version in client.templates.versions(key, channel):
        if version.state == "archived":
            continue
        newest = newest or version
        if version.state == "active":
            active = version
            break
    return There(template=template, active=active, newest=newest)


async def pull(client: Client, folder: Path, template: Template, *, owner: str, drafts: bool) -> Step:
    there = await look(client, template.key, template.channel, owner=owner)
    version = there and (there.newest if drafts else there.active or there.newest)
    about = Step(key=template.key, channel=template.channel, action=UNCHANGED)
    if there is None or version is None:
        return msgspec.structs.replace(about, message="has no versions")
    newest = there.newest
    changed = write_entry(folder, entry_of(template, version))
    return msgspec.structs.replace(
        about,
        action="pulled" if changed else UNCHANGED,
        version=version.semver,
        message=f"{newest.semver} is a newer draft: --drafts pulls it" if newest and newest != version else None,
    )


async def push(client: Client, entry: Entry, *, owner: str, publish: bool, force: bool) -> Step:
    try:
        return await _push(client, entry, await look(client, entry.key, entry.channel, owner=owner), publish, force)
    except ApiError as error:
        return _step(entry, "refused", message=str(error))


async def _push(client: Client, entry: Entry, there: There | None, publish: bool, force: bool) -> Step:  # noqa: FBT001
    action = UNCHANGED
    if there is None:
        about = {
            name: getattr(entry, name) for name in ("category", "channel", "name", "topic", "default_locale", "kind")
        }
        await client.templates.create(entry.key, **about)
        action = "created"
    elif _about(entry) != _about(entry_of_template(there.template)):
        await client.templates.change(entry.key, _about(entry), channel=entry.channel)
        action = "changed"
    newest = there.newest if there else None
    same = _same_there(entry, there)
    if same is None:
        if newest is not None and newest.semver != entry.version and not force:
            began = entry.version or "none"
            first = "pull --drafts" if newest.state == "draft" else "pull"
            message = f"The server has {newest.semver}, this folder began with {began}: {first} first, or use --force."
            return _step(entry, "conflict", version=newest.semver, message=message)
        same = await client.templates.add_version(entry.key, channel=entry.channel, **entry.written)
        action = "drafted"
    if publish and same.state != "active":
        same = await client.templates.publish(entry.key, same.semver, channel=entry.channel)
        action = "published"
    warnings = "; ".join(f"{each.pointer} {each.message}" for each in same.findings) or None
    return _step(entry, action, version=same.semver, message=warnings)


def differences(entry: Entry, there: There | None) -> str:
    """What pushing would change, as a patch; empty where nothing would."""
    version = _same_there(entry, there) or _begun_with(entry, there)
    old = _flat(entry_of(there.template, version).written) if there and version else {}
    old |= {f"/{name}": value for name, value in _about(entry_of_template(there.template)).items()} if there else {}
    new = _flat(entry.written) | {f"/{name}": value for name, value in _about(entry).items()}
    lines: list[str] = []
    for pointer in sorted({*old, *new}):
        before, after = _lines(old.get(pointer)), _lines(new.get(pointer))
        place = f"{entry.key}/{entry.channel}{pointer}"
        lines += difflib.unified_diff(before, after, fromfile=f"server/{place}", tofile=f"folder/{place}")
    return "".join(lines)


def entry_of_template(template: Template) -> Entry:
    return Entry(
        key=template.key,
        channel=template.channel,
        category=template.category,
        name=template.name,
        topic=template.topic,
        default_locale=template.default_locale,
        kind=template.kind,
    )


def _about(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in _ABOUT}


def _same_there(entry: Entry, there: There | None) -> TemplateVersion | None:
    """The version that reads as the folder does: pushing it would change nothing."""
    found = (there.active, there.newest) if there else ()
    return next((one for one in found if there and one and _same(entry, there.template, one)), None)


def _begun_with(entry: Entry, there: There | None) -> TemplateVersion | None:
    """The version that the folder was pulled from, where it is still there; else the newest."""
    if there is None:
        return None
    return next((one for one in (there.active, there.newest) if one and one.semver == entry.version), there.newest)


def _same(entry: Entry, template: Template, version: TemplateVersion) -> bool:
    return _flat(entry.written) == _flat(entry_of(template, version).written)


def _flat(value: object, pointer: str = "") -> dict[str, Any]:
    """By pointer, without what is empty: that is the same as nothing. Schemas and samples stay whole."""
    if isinstance(value, Mapping) and pointer.rpartition("/")[2] not in ("variables_schema", "samples"):
        found: dict[str, Any] = {}
        for name, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            found |= _flat(inner, f"{pointer}/{name}")  # pyright: ignore[reportUnknownArgumentType]
        return found
    return {} if value in (None, "", [], {}) else {pointer: value}


def _lines(value: object) -> list[str]:
    if value is None:
        return []
    text = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return [f"{line}\n" for line in text.splitlines()]


def _step(entry: Entry, action: str, *, version: str | None = None, message: str | None = None) -> Step:
    return Step(key=entry.key, channel=entry.channel, action=action, version=version, message=message)
