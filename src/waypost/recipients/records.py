"""Putting, patching, reading and erasing recipients."""

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from waypost.kernel.address import mask
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, PreconditionFailed
from waypost.kernel.ids import show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import place
from waypost.kernel.work import Transaction
from waypost.recipients.model import AddressView, Person, Recipient, RecipientFields, StoredRecipient
from waypost.recipients.people import Mention, People, refuse_all
from waypost.recipients.ports import AddressStore, RecipientStore
from waypost.recipients.rules import check_external_id, check_fields, is_minted
from waypost.tenants.audit import Audit

_LISTING: Final = "recipients"


@dataclass(frozen=True, kw_only=True, slots=True)
class Put:
    recipient: Recipient
    created: bool


class Recipients:
    def __init__(
        self, *, people: People, recipients: RecipientStore, addresses: AddressStore, audit: Audit, clock: Clock
    ) -> None:
        self._people = people
        self._recipients = recipients
        self._addresses = addresses
        self._audit = audit
        self._clock = clock

    async def put(
        self, tx: Transaction, scope: Scope, external_id: str, fields: RecipientFields, *, version: int | None = None
    ) -> Put:
        """Makes the recipient or merges into it. `version` is what the caller has seen (If-Match)."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        return await self._write(tx, scope, external_id, fields, version, must_exist=is_minted(external_id))

    async def patch(
        self, tx: Transaction, scope: Scope, external_id: str, fields: RecipientFields, *, version: int | None = None
    ) -> Recipient:
        scope.demand(Permission.RECIPIENTS_WRITE)
        return (await self._write(tx, scope, external_id, fields, version, must_exist=True)).recipient

    async def get(self, tx: Transaction, scope: Scope, external_id: str) -> Recipient:
        scope.demand(Permission.RECIPIENTS_READ)
        row = await self._find(tx, external_id)
        return _view(tx.tenant_id, (await self._people.read(tx, [row]))[0])

    async def addresses(self, tx: Transaction, scope: Scope, external_id: str) -> tuple[AddressView, ...]:
        return (await self.get(tx, scope, external_id)).addresses

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[Recipient]:
        """Newest first."""
        scope.demand(Permission.RECIPIENTS_READ)
        size = read_limit(limit)
        rows = await self._recipients.page(tx, decode_id_cursor(_LISTING, cursor), size + 1)
        page = page_of(rows, size, lambda row: encode_id_cursor(_LISTING, row.id))
        people = await self._people.read(tx, page.items)
        return Page(items=[_view(tx.tenant_id, person) for person in people], next=page.next)

    async def revoke_address(self, tx: Transaction, scope: Scope, external_id: str, address_id: UUID) -> None:
        scope.demand(Permission.RECIPIENTS_WRITE)
        row = await self._lock(tx, await self._find(tx, external_id))
        person = (await self._people.read(tx, [row]))[0]
        if address_id not in {address.id for address in person.addresses}:
            raise NotFound("This recipient has no address of this id.")
        now = self._clock.now()
        await self._addresses.revoke(tx, [address_id], now)
        await self._recipients.change(tx, [replace(row, version=row.version + 1, updated_at=now)])
        await self._recipients.note_gate_changes(tx, [row.id], now)
        await self._record(tx, scope, "recipient.address_revoked", row, {"address_id": show("adr", address_id)})

    async def erase(self, tx: Transaction, scope: Scope, external_id: str) -> None:
        """Destroys the data key, and with it everything that was sealed under it. Erasing twice is as good as once."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        found = await self._look_up(tx, external_id)
        if found is None:
            raise _not_found()
        row = (await self._recipients.lock(tx, [found.id]))[0]
        if row.erased_at is not None:
            return
        now = self._clock.now()
        erased = replace(
            row,
            locale=None,
            timezone=None,
            attributes=None,
            data_key=None,
            version=row.version + 1,
            updated_at=now,
            erased_at=now,
        )
        await self._recipients.erase(tx, erased)
        await self._recipients.note_gate_changes(tx, [row.id], now)
        await self._record(tx, scope, "recipient.erased", row, {})

    async def _write(
        self,
        tx: Transaction,
        scope: Scope,
        external_id: str,
        fields: RecipientFields,
        version: int | None,
        *,
        must_exist: bool,
    ) -> Put:
        said, errors = check_fields(fields, "")
        refuse_all([*errors, *([] if must_exist else check_external_id(external_id, "/id"))])
        before = await self._look_up(tx, external_id)
        if must_exist and (before is None or before.erased_at is not None):
            raise _not_found()
        if before is not None and before.erased_at is not None:
            raise Conflict("This recipient has been erased, for good. Use another id.", code="recipient_erased")
        if version is not None and (before is None or (await self._lock(tx, before)).version != version):
            raise PreconditionFailed("The recipient was changed meanwhile. Read it again.")
        mention = Mention(external_id, 0, "", must_exist, sayings=[said])
        found = (await self._people.bring_in(tx, [mention]))[0]
        row = found.person.row
        if found.created:
            await self._record(tx, scope, "recipient.created", row, {})
        elif before is None or row.version != before.version:
            await self._record(tx, scope, "recipient.changed", row, {"version": row.version})
        return Put(recipient=_view(tx.tenant_id, found.person), created=found.created)

    async def _look_up(self, tx: Transaction, external_id: str) -> StoredRecipient | None:
        if any(check_external_id(external_id, "")):
            return None
        found = await self._recipients.by_external_ids(tx, [external_id])
        return found[0] if found else None

    async def _find(self, tx: Transaction, external_id: str) -> StoredRecipient:
        row = await self._look_up(tx, external_id)
        if row is None or row.erased_at is not None:
            raise _not_found()
        return row

    async def _lock(self, tx: Transaction, row: StoredRecipient) -> StoredRecipient:
        locked = (await self._recipients.lock(tx, [row.id]))[0]
        if locked.erased_at is not None:
            raise _not_found()
        return locked

    async def _record(
        self, tx: Transaction, scope: Scope, action: str, row: StoredRecipient, detail: dict[str, JsonValue]
    ) -> None:
        # Named by our own id: the caller's may be an address, and the log outlives an erasure.
        await self._audit.record(tx, scope, action, show("rcp", row.id), detail)


def _not_found() -> NotFound:
    return NotFound("There is no recipient of this id.")


def _view(tenant_id: str, person: Person) -> Recipient:
    front = {address.channel: address.id for address in reversed(person.addresses)}
    return Recipient(
        id=person.row.external_id,
        kind=person.row.kind,
        locale=person.row.locale,
        timezone=person.row.timezone,
        attributes=person.attributes,
        addresses=tuple(
            AddressView(
                id=address.id,
                channel=address.channel,
                masked=mask(
                    address.channel,
                    person.key.open(address.ciphertext, place("address", tenant_id, address.id)).decode(),
                ),
                verified=address.verified,
                status=address.status,
                current=front[address.channel] == address.id,
                created_at=address.created_at,
            )
            for address in person.addresses
        ),
        version=person.row.version,
        created_at=person.row.created_at,
        updated_at=person.row.updated_at,
    )
