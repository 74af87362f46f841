"""What messages say, sealed: under the tenant's key where it is stored once, under its owner's where it is a copy."""

from uuid import UUID

import msgspec

from waypost.inbox.model import PostContent
from waypost.kernel.vault import DataKey, place

_decoder = msgspec.msgpack.Decoder(PostContent)


def seal_shared(tenant_id: str, key: DataKey, post_id: UUID, content: PostContent) -> bytes:
    return key.seal(msgspec.msgpack.encode(content), place("inbox_post", tenant_id, post_id))


def open_shared(tenant_id: str, key: DataKey, post_id: UUID, sealed: bytes) -> PostContent:
    return _decoder.decode(key.open(sealed, place("inbox_post", tenant_id, post_id)))


def seal_copy(tenant_id: str, key: DataKey, post_id: UUID, content: PostContent) -> bytes:
    return key.seal(msgspec.msgpack.encode(content), place("inbox_copy", tenant_id, post_id))


def open_copy(tenant_id: str, key: DataKey, post_id: UUID, sealed: bytes) -> PostContent:
    return _decoder.decode(key.open(sealed, place("inbox_copy", tenant_id, post_id)))
