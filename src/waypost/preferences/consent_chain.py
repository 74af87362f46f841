"""The history of consent as a chain: each proof covers its row and the proof before it, under the tenant's key.

Whoever can write to the database but does not hold the key cannot change, drop, insert or reorder a row unseen; the
head says how long the history is, so its end cannot go missing either.
"""

import hmac
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import msgspec

from waypost.preferences.model import Consent, ConsentHead, NewConsent

Sign = Callable[[str, bytes], bytes]
"""`TenantKey.sign`: purpose and message to an HMAC of 32 bytes."""

_ROW: Final = "consent-row"
_HEAD: Final = "consent-head"
NO_PROOF: Final = bytes(32)


def link(
    sign: Sign,
    tenant_id: str,
    recipient_id: UUID,
    last: Consent | None,
    consent_id: UUID,
    new: NewConsent,
    at: datetime,
) -> Consent:
    """The next row of a history."""
    n = last.n + 1 if last else 1
    row = Consent(
        n=n,
        id=consent_id,
        channel=new.channel,
        topic=new.topic,
        state=new.state,
        source=new.source,
        text_version=new.text_version,
        at=at,
        proof=b"",
    )
    previous = last.proof if last else NO_PROOF
    return replace(row, proof=_proof(sign, tenant_id, recipient_id, row, previous))


def head_of(sign: Sign, tenant_id: str, recipient_id: UUID, last: Consent) -> ConsentHead:
    return ConsentHead(n=last.n, proof=_head_proof(sign, tenant_id, recipient_id, last.n, last.proof))


def first_fault(
    sign: Sign, tenant_id: str, recipient_id: UUID, rows: Sequence[Consent], head: ConsentHead | None
) -> int | None:
    """The number of the first row that is not what was written, in a history from its beginning; None where all are.

    A history that ends too early or too late is at fault where it ends."""
    previous = NO_PROOF
    for place, row in enumerate(rows, start=1):
        expected = _proof(sign, tenant_id, recipient_id, row, previous)
        if row.n != place or not hmac.compare_digest(row.proof, expected):
            return place
        previous = row.proof
    if head is None:
        return 1 if rows else None
    ends = _head_proof(sign, tenant_id, recipient_id, len(rows), previous)
    if head.n != len(rows) or not hmac.compare_digest(head.proof, ends):
        return len(rows) + 1 if head.n > len(rows) else len(rows)
    return None


def _proof(sign: Sign, tenant_id: str, recipient_id: UUID, row: Consent, previous: bytes) -> bytes:
    said = (
        previous,
        tenant_id,
        recipient_id.bytes,
        row.n,
        row.id.bytes,
        int(row.channel),
        row.topic,
        row.state.value,
        row.source,
        row.text_version,
        row.at.astimezone(UTC).isoformat(timespec="microseconds"),
    )
    return sign(_ROW, msgspec.msgpack.encode(said))


def _head_proof(sign: Sign, tenant_id: str, recipient_id: UUID, n: int, last: bytes) -> bytes:
    return sign(_HEAD, msgspec.msgpack.encode((tenant_id, recipient_id.bytes, n, last)))
