"""Content at rest: sealed under its owner's key, inline content found again by a keyed hash.

What the platform publishes is sealed under the platform's own key. Every process that serves tenants holds the master
key, and its keyring opens the platform's key beside the tenant's; the database alone opens neither.
"""

from typing import Final
from uuid import UUID, uuid5

import msgspec

from waypost.kernel.attachments import FileRef
from waypost.kernel.tracking import UNSAID, Tracking
from waypost.kernel.vault import TenantKey
from waypost.templates.model import (
    Content,
    Direction,
    InlineSource,
    JsonObject,
    LocaleSource,
    Profile,
    Version,
    Wording,
    Written,
)
from waypost.templates.stores import SealedContent, SealedVersion

_PURPOSE: Final = "template-content"


class _Stored(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The order never changes; what is new comes last and has a default."""

    subject: str
    html: str | None = None
    text: str | None = None
    json: str | None = None
    preheader: str | None = None
    profile: Profile = Profile.JINJA
    direction: Direction = Direction.LTR
    locale: str | None = None
    mentioned: tuple[str, ...] = ()
    tracking: Tracking = UNSAID
    files: tuple[FileRef, ...] = ()


class _Sources(msgspec.Struct, frozen=True, omit_defaults=True):
    locales: dict[str, LocaleSource]
    layout: str | None = None
    samples: dict[str, JsonObject] = {}
    tracking: Tracking = UNSAID
    files: tuple[FileRef, ...] = ()


_CONTENT_FIELDS: Final = tuple(name for name in _Stored.__struct_fields__ if name != "mentioned")
_content_decoder: Final = msgspec.msgpack.Decoder(_Stored)
_sources_decoder: Final = msgspec.msgpack.Decoder(_Sources)


def hash_content(key: TenantKey, content: Content) -> bytes:
    return key.sign(_PURPOSE, _encode(content, frozenset()))


def hash_source(key: TenantKey, inline: InlineSource) -> bytes:
    return key.sign(_PURPOSE, msgspec.msgpack.encode(inline))


def seal_content(
    key: TenantKey, owner: str, version_id: UUID, locale: str, content: Content, mentioned: frozenset[str]
) -> bytes:
    return key.seal(_encode(content, mentioned), _content_place(owner, version_id, locale))


def open_content(key: TenantKey, sealed: SealedContent) -> Wording:
    place = _content_place(sealed.owner, sealed.version_id, sealed.locale)
    stored = _content_decoder.decode(key.open(sealed.content, place))
    return Wording(
        id=wording_id(sealed.version_id, sealed.locale),
        content=Content(**{name: getattr(stored, name) for name in _CONTENT_FIELDS}),
        mentioned=frozenset(stored.mentioned),
    )


def wording_id(version_id: UUID, locale: str) -> UUID:
    """One for each locale of a version; inline content goes by the version's own."""
    if not locale:
        return version_id
    return uuid5(version_id, locale)


def seal_written(key: TenantKey, owner: str, version_id: UUID, written: Written) -> bytes:
    return key.seal(_encode_written(written), _sources_place(owner, version_id))


def hash_written(key: TenantKey, written: Written) -> bytes:
    about = (written.profile, written.fallback_chain, written.variables_schema)
    return key.sign(_PURPOSE, _encode_written(written) + msgspec.msgpack.encode(about, order="sorted"))


def open_version(key: TenantKey, sealed: SealedVersion) -> Version:
    sources = _sources_decoder.decode(key.open(sealed.sources, _sources_place(sealed.owner, sealed.id)))
    written = Written(
        locales=sources.locales,
        layout=sources.layout,
        profile=sealed.profile,
        fallback_chain=sealed.fallback_chain,
        variables_schema=sealed.variables_schema,
        samples=sources.samples,
        tracking=sources.tracking,
        files=sources.files,
    )
    return Version(
        id=sealed.id,
        template_id=sealed.template_id,
        owner=sealed.owner,
        number=sealed.number,
        semver=sealed.semver,
        state=sealed.state,
        written=written,
        origin=sealed.origin,
        provenance=sealed.provenance,
        created_by=sealed.created_by,
        approval=sealed.approval,
        created_at=sealed.created_at,
        published_at=sealed.published_at,
    )


def _encode(content: Content, mentioned: frozenset[str]) -> bytes:
    fields = {name: getattr(content, name) for name in _CONTENT_FIELDS}
    return msgspec.msgpack.encode(_Stored(**fields, mentioned=tuple(sorted(mentioned))))


def _encode_written(written: Written) -> bytes:
    sources = _Sources(
        locales=dict(sorted(written.locales.items())),
        layout=written.layout,
        samples=dict(written.samples),
        files=written.files,
        tracking=written.tracking,
    )
    return msgspec.msgpack.encode(sources)


def _content_place(owner: str, version_id: UUID, locale: str) -> str:
    if not locale:
        return f"template_versions.content:{owner}:{version_id.hex}"
    return f"template_contents.content:{owner}:{version_id.hex}:{locale}"


def _sources_place(owner: str, version_id: UUID) -> str:
    return f"template_versions.sources:{owner}:{version_id.hex}"
