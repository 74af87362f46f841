"""How what a caller says changes one person: the person afterwards, and what has to be written."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import UnsetType

from waypost.kernel.address import Address
from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint
from waypost.kernel.vault import TenantKey, place
from waypost.kernel.vocabulary import Channel
from waypost.recipients.model import AddressStatus, CheckedFields, Person, StoredAddress
from waypost.recipients.rules import MOST_ADDRESSES, merge_attributes


@dataclass(slots=True)
class Merge:
    person: Person
    changed: bool = False
    added: list[StoredAddress] = field(default_factory=list[StoredAddress])
    fronted: dict[UUID, datetime] = field(default_factory=dict[UUID, datetime])
    revoked: list[UUID] = field(default_factory=list[UUID])
    moved: bool = False
    """The time zone changed, and with it the hours in which the person may be disturbed."""

    @property
    def concerns_gate(self) -> bool:
        return bool(self.added or self.fronted or self.revoked or self.moved)


def merge(
    tenant_id: str, person: Person, sayings: Sequence[CheckedFields], tenant_key: TenantKey, clock: Clock
) -> Merge:
    """Applies the sayings in order. Nothing is marked as changed that ends as it was."""
    result = Merge(person)
    attributes = person.attributes
    row = person.row
    for said in sayings:
        attributes = merge_attributes(attributes, said.attributes)
        row = replace(
            row,
            kind=said.kind or row.kind,
            locale=row.locale if isinstance(said.locale, UnsetType) else said.locale,
            timezone=row.timezone if isinstance(said.timezone, UnsetType) else said.timezone,
        )
        for channel, address in said.addresses.items():
            _merge_address(tenant_id, result, channel, address, tenant_key, clock)
    if attributes != person.attributes:
        sealed = person.key.seal(msgspec.json.encode(attributes), place("attributes", tenant_id, row.id))
        row = replace(row, attributes=sealed if attributes else None)
    result.moved = row.timezone != person.row.timezone
    result.changed = row != person.row or bool(result.added or result.fronted or result.revoked)
    if result.changed:
        row = replace(row, version=row.version + 1, updated_at=clock.now())
    result.person = replace(result.person, row=row, attributes=attributes)
    return result


def _merge_address(
    tenant_id: str, result: Merge, channel: Channel, address: Address | None, tenant_key: TenantKey, clock: Clock
) -> None:
    on_channel = [known for known in result.person.addresses if known.channel is channel]
    if address is None:
        _drop(result, on_channel)
        return
    hashed = tenant_key.hash_address(channel.word, address.text)
    now = clock.now()
    # Strictly after the one in front, so that the newest given is one and the same for everybody.
    given_at = max(now, on_channel[0].given_at + timedelta(microseconds=1)) if on_channel else now
    known = next((other for other in on_channel if other.hash == hashed), None)
    if known is not None and known is on_channel[0]:
        return
    if known is not None:
        front = replace(known, given_at=given_at)
        result.fronted[known.id] = given_at
    else:
        address_id = mint(clock)
        front = StoredAddress(
            id=address_id,
            recipient_id=result.person.row.id,
            channel=channel,
            hash=hashed,
            ciphertext=result.person.key.seal(address.text.encode(), place("address", tenant_id, address_id)),
            verified=False,
            status=AddressStatus.ACTIVE,
            given_at=given_at,
            created_at=now,
            updated_at=now,
        )
        result.added.append(front)
    others = tuple(other for other in result.person.addresses if other is not known)
    result.person = replace(result.person, addresses=(front, *others))
    _drop(result, [other for other in on_channel if other is not known][MOST_ADDRESSES - 1 :])


def _drop(result: Merge, addresses: Sequence[StoredAddress]) -> None:
    gone = {address.id for address in addresses}
    just_added = {address.id for address in result.added}
    result.added = [address for address in result.added if address.id not in gone]
    result.revoked.extend(sorted(gone - just_added))
    for address_id in gone:
        result.fronted.pop(address_id, None)
    kept = tuple(address for address in result.person.addresses if address.id not in gone)
    result.person = replace(result.person, addresses=kept)
