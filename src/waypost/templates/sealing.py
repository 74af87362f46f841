"""Content at rest: sealed under the tenant's key, found again by a keyed hash."""

from typing import Final
from uuid import UUID

import msgspec

from waypost.kernel.vault import TenantKey
from waypost.templates.model import Content, Direction, Profile, Version
from waypost.templates.ports import SealedVersion

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


_decoder: Final = msgspec.msgpack.Decoder(_Stored)


def encode(content: Content) -> bytes:
    return msgspec.msgpack.encode(msgspec.convert(content, _Stored, from_attributes=True))


def decode(raw: bytes) -> Content:
    stored = _decoder.decode(raw)
    return Content(**{name: getattr(stored, name) for name in _Stored.__struct_fields__})


def hash_of(key: TenantKey, content: Content) -> bytes:
    return key.sign(_PURPOSE, encode(content))


def seal(key: TenantKey, tenant_id: str, version_id: UUID, content: Content) -> bytes:
    return key.seal(encode(content), _place(tenant_id, version_id))


def open_version(key: TenantKey, tenant_id: str, sealed: SealedVersion) -> Version:
    return Version(
        id=sealed.id,
        template_id=sealed.template_id,
        number=sealed.number,
        state=sealed.state,
        content=decode(key.open(sealed.content, _place(tenant_id, sealed.id))),
        variables_schema=sealed.variables_schema,
        created_at=sealed.created_at,
        published_at=sealed.published_at,
    )


def _place(tenant_id: str, version_id: UUID) -> str:
    return f"template_versions.content:{tenant_id}:{version_id.hex}"
