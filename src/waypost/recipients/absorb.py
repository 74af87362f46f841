"""One recipient becomes part of another: an anonymous visitor turns out to be someone known.

The merged row stays, and its id leads to the other one for ever. What was sent to it long ago stays sealed under its
own key and is read through it; what still waits, and everything about the person, moves and is sealed again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import msgspec
from msgspec.structs import replace

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.shared_payload import SharedPayload, is_shared, read_shared
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import place
from waypost.kernel.work import Transaction
from waypost.recipients.lookup import Lookup, record
from waypost.recipients.model import Person, Recipient, StoredAddress, WaitingMessage
from waypost.recipients.people import People, refuse_all
from waypost.recipients.ports import AddressStore, AlsoMerges, MergeStore, RecipientStore, TagStore
from waypost.recipients.rules import MOST_ADDRESSES, check_attributes
from waypost.recipients.views import Views
from waypost.tenants.audit import Audit


@dataclass(frozen=True, kw_only=True, slots=True)
class AbsorbParts:
    people: People
    recipients: RecipientStore
    addresses: AddressStore
    tags: TagStore
    merges: MergeStore
    also: Sequence[AlsoMerges]
    """Whoever else keeps something about people: preferences, consents, the inbox."""
    lookup: Lookup
    views: Views
    audit: Audit
    clock: Clock


class Absorb:
    def __init__(self, parts: AbsorbParts) -> None:
        self._parts = parts

    async def __call__(self, tx: Transaction, scope: Scope, into_id: str, from_id: str) -> Recipient:
        """Merging twice is as good as once. Of what both say, the known one's word holds."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        parts = self._parts
        target_row = await parts.lookup.find(tx, into_id)
        source_row = await parts.lookup.maybe(tx, from_id)
        if source_row is None:
            raise refuse("/from", "unknown_recipient", "There is no recipient of this id.")
        if source_row.id == target_row.id:
            if from_id == into_id:
                raise refuse("/from", "same_recipient", "A recipient cannot be merged into itself.")
            return (await parts.views.of_rows(tx, [target_row]))[0]
        rows = {row.id: row for row in await parts.recipients.lock(tx, sorted([target_row.id, source_row.id]))}
        if any(row.erased_at or row.merged_into for row in rows.values()):
            raise Conflict("One of them was merged or erased meanwhile. Look again.", code="changed_meanwhile")
        target, source = await parts.people.read(tx, [rows[target_row.id], rows[source_row.id]])
        united = await self._unite(tx, target, source)
        for other in parts.also:
            await other.merge(tx, source.row.id, target.row.id)
        now = parts.clock.now()
        await parts.merges.mark_merged(tx, source.row.id, target.row.id, now)
        await parts.recipients.note_gate_changes(tx, sorted([target.row.id, source.row.id]), now)
        await record(parts.audit, tx, scope, "recipient.merged", target.row, {"from": show("rcp", source.row.id)})
        return (await parts.views.of_people(tx, [united]))[0]

    async def _unite(self, tx: Transaction, target: Person, source: Person) -> Person:
        parts, now = self._parts, self._parts.clock.now()
        attributes = {**source.attributes, **target.attributes}
        refuse_all(list(check_attributes(attributes, "/from")))
        sealed = target.row.attributes
        if attributes != target.attributes:
            here = place("attributes", tx.tenant_id, target.row.id)
            sealed = target.key.seal(msgspec.json.encode(attributes), here)
        row = replace(
            target.row,
            locale=target.row.locale or source.row.locale,
            timezone=target.row.timezone or source.row.timezone,
            attributes=sealed,
            version=target.row.version + 1,
            updated_at=now,
        )
        await parts.recipients.change(tx, [row])
        moved = self._moved(tx.tenant_id, target, source)
        new = [address for address in moved.values() if address not in target.addresses]
        if new:
            await parts.addresses.add(tx, new)
        await self._keep_verified(tx, target, source)
        tags = await parts.tags.of_recipients(tx, [source.row.id])
        await parts.tags.add(tx, [(target.row.id, tag) for tag in tags.get(source.row.id, ())])
        await parts.merges.move_memberships(tx, source.row.id, target.row.id)
        ids = {address_id: address.id for address_id, address in moved.items()}
        await parts.merges.move_messages(
            tx, source.row.id, target.row.id, _resealing(tx.tenant_id, source, target, ids)
        )
        addresses = sorted([*target.addresses, *new], key=lambda one: (one.given_at, one.id), reverse=True)
        return replace(target, row=row, attributes=attributes, addresses=tuple(addresses))

    def _moved(self, tenant_id: str, target: Person, source: Person) -> Mapping[UUID, StoredAddress]:
        """From each address of the merged one to the address that stands for it now."""
        have = {(address.channel, address.hash): address for address in target.addresses}
        moved: dict[UUID, StoredAddress] = {}
        for address in source.addresses:
            known = have.get((address.channel, address.hash))
            if known is None:
                on_channel = [one for one in have.values() if one.channel is address.channel]
                if len(on_channel) >= MOST_ADDRESSES:
                    continue
                known = self._sealed_again(tenant_id, target, source, address, on_channel)
                have[address.channel, address.hash] = known
            moved[address.id] = known
        return moved

    def _sealed_again(
        self, tenant_id: str, target: Person, source: Person, address: StoredAddress, others: Sequence[StoredAddress]
    ) -> StoredAddress:
        plain = source.key.open(address.ciphertext, place("address", tenant_id, address.id))
        address_id = mint(self._parts.clock)
        # The known one's current address stays in front.
        given_at = min([address.given_at, *(one.given_at for one in others)])
        return replace(
            address,
            id=address_id,
            recipient_id=target.row.id,
            ciphertext=target.key.seal(plain, place("address", tenant_id, address_id)),
            given_at=given_at - timedelta(microseconds=1) if others else given_at,
        )

    async def _keep_verified(self, tx: Transaction, target: Person, source: Person) -> None:
        """Shown to be theirs once is shown."""
        proved = {(one.channel, one.hash) for one in source.addresses if one.verified}
        for address in target.addresses:
            if not address.verified and (address.channel, address.hash) in proved:
                await self._parts.addresses.verify(tx, address.id, self._parts.clock.now(), verified=True)


def _resealing(
    tenant_id: str, source: Person, target: Person, addresses: Mapping[UUID, UUID]
) -> Callable[[WaitingMessage], WaitingMessage]:
    def move(sealed: bytes, column: str, owner: UUID, heir: UUID) -> bytes:
        return target.key.seal(source.key.open(sealed, place(column, tenant_id, owner)), place(column, tenant_id, heir))

    def again(one: WaitingMessage) -> WaitingMessage:
        address_id = one.address_id and addresses.get(one.address_id, one.address_id)
        if one.address_id is not None and address_id is not None and is_shared(one.payload):
            own = read_shared(one.payload)
            payload = SharedPayload(
                own.inputs,
                move(own.address, "address", one.address_id, address_id),
                move(own.attributes, "attributes", source.row.id, target.row.id) if own.attributes else b"",
            ).written()
        else:
            payload = move(one.payload, "payload", one.id, one.id)
        secrets = None if one.secrets is None else move(one.secrets, "secrets", one.id, one.id)
        return WaitingMessage(id=one.id, address_id=address_id, payload=payload, secrets=secrets)

    return again
