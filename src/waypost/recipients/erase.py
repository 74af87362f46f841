"""Erasing someone for good: the data key is destroyed, and with it everything that was ever sealed under it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict
from waypost.kernel.ids import mint, show
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction
from waypost.recipients.certificate import Certificate, is_genuine, read, sign, write
from waypost.recipients.lookup import Lookup, erased_hash, not_found, record
from waypost.recipients.model import Erasure, StoredRecipient
from waypost.recipients.ports import AddressStore, AlsoForgets, EraseStore, RecipientStore
from waypost.recipients.rules import check_external_id
from waypost.tenants.audit import OPERATOR, Audit

_LISTING: Final = "erasures"
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
        hashes = sorted({address.hash for address in await self._addresses.of_recipients(tx, ids)})
        destroyed: dict[str, int] = {}
        for other in self._also:
            destroyed |= await other.forget(tx, ids, hashes)
        now = self._clock.now()
        destroyed |= await self._store.shred(tx, ids, now)
        certificate = await self._certify(tx, scope, row, rows, {n: c for n, c in destroyed.items() if c}, now)
        await self._recipients.note_gate_changes(tx, ids, now)
        await record(self._audit, tx, scope, "recipient.erased", row, {"certificate": certificate.id})
        return certificate

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
