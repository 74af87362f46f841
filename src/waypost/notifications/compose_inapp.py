"""What a rendered notification says in an inbox: the subject is the title, the rest comes as text or as JSON."""

from collections.abc import Mapping
from typing import cast

import msgspec

from waypost.delivery.model import Claimed, InboxCopy
from waypost.inbox.rules import content_from_road, inbox_from_road
from waypost.inbox.sealing import seal_copy
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vault import DataKey
from waypost.templates.ports import RenderedParts


def inbox_copy(claimed: Claimed, parts: RenderedParts, key: DataKey) -> InboxCopy:
    """Sealed under the reader's own key."""
    said = _said(parts)
    content = content_from_road(parts.subject, said)
    return InboxCopy(
        recipient_id=claimed.recipient_id,
        inbox=inbox_from_road(said),
        topic=claimed.topic or "",
        content=seal_copy(claimed.tenant_id, key, claimed.id, content),
    )


def _said(parts: RenderedParts) -> Mapping[str, JsonValue]:
    """`{"body", "cta_url", "actions", "data", "sender", "inbox"}` of a JSON content; of any other, its text."""
    if parts.json is None:
        return {"body": parts.text}
    try:
        said = msgspec.json.decode(parts.json)
    except msgspec.DecodeError:
        return {"body": parts.text}
    return cast("Mapping[str, JsonValue]", said) if isinstance(said, dict) else {"body": parts.text}
