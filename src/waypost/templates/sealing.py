"""Content at rest: sealed under the tenant's key, found again by a keyed hash."""

from typing import Final
from uuid import UUID

import msgspec

from waypost.kernel.vault import TenantKey
from waypost.templates.model import Content, Version
from waypost.templates.ports import SealedVersion

_PURPOSE: Final = "template-content"
_decoder: Final = msgspec.msgpack.Decoder(tuple[str, str | None, str | None])


def encode(content: Content) -> bytes:
    return msgspec.msgpack.encode((content.subject, content.html, content.text))


def hash_of(key: TenantKey, content: Content) -> bytes:
    return key.sign(_PURPOSE, encode(content))


def seal(key: TenantKey, tenant_id: str, version_id: UUID, content: Content) -> bytes:
    return key.seal(encode(content), _place(tenant_id, version_id))


def open_version(key: TenantKey, tenant_id: str, sealed: SealedVersion) -> Version:
    subject, html, text = _decoder.decode(key.open(sealed.content, _place(tenant_id, sealed.id)))
    return Version(
        id=sealed.id,
        template_id=sealed.template_id,
        number=sealed.number,
        state=sealed.state,
        content=Content(subject=subject, html=html, text=text),
        variables_schema=sealed.variables_schema,
        created_at=sealed.created_at,
        published_at=sealed.published_at,
    )


def _place(tenant_id: str, version_id: UUID) -> str:
    return f"template_versions.content:{tenant_id}:{version_id.hex}"
