"""Erasing someone for good: the data key is destroyed, and with it everything that was ever sealed under it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, FieldError, Refused
from waypost.kernel.ids import mint, show
from waypost.kernel.ids import read as read_id
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring, TenantKey
from waypost.kernel.work import Transaction
from waypost.recipients.certificate import Certificate, is_genuine, read, sign, write
from waypost.recipients.lookup import Lookup, erased_hash, not_found, record
from waypost.recipients.model import Erasure, StoredRecipient
from waypost.recipients.ports import AddressStore, AlsoForgets, EraseStore, RecipientStore
from waypost.recipients.rules import check_external_id
from waypost.tenants.audit import OPERATOR, Audit

_LISTING: Final = "erasures"
_FORGED: Final = "This certificate is not this tenant's, or was altered."
_KEPT: Final = (
    "keyed hashes of addresses, so that suppressions still hold",
    "a keyed hash of the id, so that it stays taken",
    "times and outcomes of messages, without their contents",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """What can be said about a certificate that someone shows."""

    is_genuine: bool
    is_on_record: bool
    is_about: bool | None
    """Whether it is about the id that was asked about; None where none was."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """What came of certificates that were shown again."""

    erased: int
    """People who were back, and are gone again."""
    noted: int
    """Erasures that were not on record any more, and are again."""


class Erase:
    def __init__(
        self,
        *,
        store: EraseStore,
        recipients: RecipientStore,
        addresses: AddressStore,
        also: Sequence[AlsoForgets],
        lookup: Lookup,
        keyring: Keyring,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._store = store
        self._recipients = recipients
        self._addresses = addresses
        self._also = also
        self._lookup = lookup
        self._keyring = keyring
        self._audit = audit
        self._clock = clock

    async def __call__(self, tx: Transaction, scope: Scope, external_id: str) -> Certificate:
        """Erasing twice is as good as once, and is answered with the same certificate."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        found = await self._lookup.maybe(tx, external_id)
        if found is None:
            return await self._earlier(tx, external_id)
        ids = sorted(await self._lookup.all_of(tx, found.id))
        rows = await self._recipients.lock(tx, ids)
        row = next(one for one in rows if one.id == found.id)
        if row.merged_into is not None:
            raise Conflict("It was merged into another one meanwhile. Look again.", code="changed_meanwhile")
        if row.erased_at is not None:
            return await self._earlier(tx, external_id)
        now = self._clock.now()
        destroyed = await self._destroy(tx, ids, now)
        certificate = await self._certify(tx, scope, row, rows, {n: c for n, c in destroyed.items() if c}, now)
        await record(self._audit, tx, scope, "recipient.erased", row, {"certificate": certificate.id})
        return certificate

    async def replay(self, tx: Transaction, scope: Scope, shown: Sequence[Certificate]) -> Replayed:
        """After an older backup was restored: whoever these certificates are about is erased again, all or none.

        The certificates hold as they were given. Whoever is not there any more, or not yet, is known as erased all
        the same, so that their id stays taken."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        key, now = await self._keyring.of(tx), self._clock.now()
        faults = [
            FieldError(pointer=f"/certificates/{place}", code="not_genuine", message=_FORGED)
            for place, one in enumerate(shown)
            if one.tenant != tx.tenant_id or not is_genuine(one, key)
        ]
        if faults:
            raise Refused(_FORGED, code="not_genuine", errors=faults)
        again = noted = 0
        for certificate in shown:
            returned = await self._returned(tx, certificate)
            if returned:
                await self._destroy(tx, [row.id for row in returned], now)
                again += 1
            if await self._store.by_hash(tx, certificate.subject) is None:
                await self._store.add(tx, _records(certificate, key, returned))
                noted += 1
        detail = {"certificates": len(shown), "erased": again, "noted": noted}
        await self._audit.record(tx, scope, "erasures.replayed", tx.tenant_id, dict(detail))
        return Replayed(erased=again, noted=noted)

    async def check(self, tx: Transaction, scope: Scope, shown: Certificate, external_id: str | None) -> Checked:
        """Whether a certificate is ours, unaltered, and on record."""
        scope.demand(Permission.RECIPIENTS_READ)
        key = await self._keyring.of(tx)
        genuine = shown.tenant == tx.tenant_id and is_genuine(shown, key)
        known = await self._store.by_hash(tx, shown.subject) if genuine else None
        about = None if external_id is None else erased_hash(key, external_id) == shown.subject
        return Checked(is_genuine=genuine, is_on_record=known is not None, is_about=about)

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[Certificate]:
        """Newest first."""
        scope.demand(Permission.RECIPIENTS_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, decode_id_cursor(_LISTING, cursor), size + 1)
        page = page_of(found, size, lambda one: encode_id_cursor(_LISTING, one.id))
        return page.map(lambda one: read(one.certificate or ""))

    async def _destroy(self, tx: Transaction, ids: Sequence[UUID], now: datetime) -> dict[str, int]:
        """What went, by name and number. Their rows are locked."""
        hashes = sorted({address.hash for address in await self._addresses.of_recipients(tx, ids)})
        destroyed: dict[str, int] = {}
        for other in self._also:
            destroyed |= await other.forget(tx, ids, hashes)
        destroyed |= await self._store.shred(tx, ids, now)
        await self._recipients.note_gate_changes(tx, ids, now)
        return destroyed

    async def _returned(self, tx: Transaction, certificate: Certificate) -> Sequence[StoredRecipient]:
        """Those of the erased who are back, locked: by their id of ours, or by a key that had been destroyed. The
        latter finds who was merged into the erased one only after the backup."""
        named = read_id("rcp", certificate.recipient)
        known = {*await self._store.of_keys(tx, certificate.destroyed_keys)} | ({named} if named else set[UUID]())
        ids = {one for each in known for one in await self._lookup.all_of(tx, each)}
        return [row for row in await self._recipients.lock(tx, sorted(ids)) if row.erased_at is None]

    async def _earlier(self, tx: Transaction, external_id: str) -> Certificate:
        if any(check_external_id(external_id, "")):
            raise not_found()
        known = await self._store.by_hash(tx, erased_hash(await self._keyring.of(tx), external_id))
        if known is None or known.certificate is None:
            raise not_found()
        return read(known.certificate)

    async def _certify(
        self,
        tx: Transaction,
        scope: Scope,
        row: StoredRecipient,
        rows: Sequence[StoredRecipient],
        destroyed: dict[str, int],
        now: datetime,
    ) -> Certificate:
        key = await self._keyring.of(tx)
        erasure_id = mint(self._clock)
        hashes: dict[UUID, str] = {one.id: erased_hash(key, one.external_id) for one in rows}
        certificate = sign(
            Certificate(
                id=show("ers", erasure_id),
                tenant=tx.tenant_id,
                subject=hashes[row.id],
                recipient=show("rcp", row.id),
                erased_at=now.isoformat(),
                erased_by="operator" if scope.key_id == OPERATOR else show("key", scope.key_id),
                request_id=scope.request_id,
                destroyed_keys=tuple(hashlib.sha256(one.data_key).hexdigest() for one in rows if one.data_key),
                destroyed=destroyed,
                kept=_KEPT,
            ),
            key,
        )
        erasures = [
            Erasure(
                id=erasure_id,
                id_hash=hashes[one.id],
                recipient_id=row.id,
                erased_at=now,
                certificate=write(certificate) if one.id == row.id else None,
            )
            for one in rows
        ]
        await self._store.add(tx, erasures)
        return certificate


def _records(certificate: Certificate, key: TenantKey, returned: Sequence[StoredRecipient]) -> list[Erasure]:
    """As they stood before: the certificate under the id it is about, and each other id that is gone with it."""
    erasure_id, recipient_id = read_id("ers", certificate.id), read_id("rcp", certificate.recipient)
    if erasure_id is None or recipient_id is None:
        raise Refused(_FORGED, code="not_genuine")
    others = {erased_hash(key, row.external_id) for row in returned} - {certificate.subject}
    return [
        Erasure(
            id=erasure_id,
            id_hash=id_hash,
            recipient_id=recipient_id,
            erased_at=datetime.fromisoformat(certificate.erased_at),
            certificate=write(certificate) if id_hash == certificate.subject else None,
        )
        for id_hash in (certificate.subject, *sorted(others))
    ]
