"""How what a caller says changes one person: the person afterwards, and what has to be written."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from waypost.kernel.address import Address
from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.vault import TenantKey, place
from waypost.kernel.vocabulary import Channel
from waypost.recipients.model import AddressStatus, CheckedFields, Person, StoredAddress
from waypost.recipients.rules import MOST_ADDRESSES, merge_attributes


class Merge(msgspec.Struct, gc=False):
    person: Person
    changed: bool = False
    added: list[StoredAddress] = []
    fronted: dict[UUID, datetime] = {}
    revoked: list[UUID] = []
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
    before = person.row
    kind, locale, timezone, attributes = before.kind, before.locale, before.timezone, person.attributes
    for said in sayings:
        kind = said.kind or kind
        locale = locale if said.locale is UNSET else said.locale
        timezone = timezone if said.timezone is UNSET else said.timezone
        if said.attributes is not attributes:
            attributes = merge_attributes(attributes, said.attributes)
        for channel, address in said.addresses.items():
            _merge_address(tenant_id, result, channel, address, tenant_key, clock)
    rewritten = attributes is not person.attributes and not _same_json(attributes, person.attributes)
    if timezone != before.timezone:
        result.moved = True
    described = result.moved or rewritten or kind is not before.kind or locale != before.locale
    if described or result.added or result.fronted or result.revoked:
        result.changed = True
        row = replace(
            before,
            kind=kind,
            locale=locale,
            timezone=timezone,
            attributes=_seal_attributes(tenant_id, person, attributes) if rewritten else before.attributes,
            version=before.version + 1,
            updated_at=clock.now(),
        )
        result.person = replace(result.person, row=row, attributes=attributes)
    return result


def _same_json(one: JsonObject, other: JsonObject) -> bool:
    """Python holds True, 1 and 1.0 for equal; JSON does not."""
    if one != other:
        return False
    # Mostly they come in one order.
    same = msgspec.json.encode(one) == msgspec.json.encode(other)
    return same or msgspec.json.encode(one, order="sorted") == msgspec.json.encode(other, order="sorted")


def _seal_attributes(tenant_id: str, person: Person, attributes: JsonObject) -> bytes | None:
    if not attributes:
        return None
    return person.key.seal(msgspec.json.encode(attributes), place("attributes", tenant_id, person.row.id))


def _merge_address(
    tenant_id: str, result: Merge, channel: Channel, address: Address | None, tenant_key: TenantKey, clock: Clock
) -> None:
    person = result.person
    if address is None:
        _drop(result, [known for known in person.addresses if known.channel is channel])
        return
    hashed = tenant_key.hash_address(channel.word, address.text)
    person.told[channel] = address
    in_front = person.address_on(channel)
    if in_front is not None and in_front.hash == hashed:
        return
    on_channel = [known for known in person.addresses if known.channel is channel]
    now = clock.now()
    # Strictly after the one in front, so that the newest given is one and the same for everybody.
    given_at = max(now, on_channel[0].given_at + timedelta(microseconds=1)) if on_channel else now
    known = next((other for other in on_channel if other.hash == hashed), None)
    if known is not None:
        front = replace(known, given_at=given_at)
        if known in result.added:
            result.added = [front if added is known else added for added in result.added]
        else:
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
    if not addresses:
        return
    gone = {address.id for address in addresses}
    just_added = {address.id for address in result.added}
    result.added = [address for address in result.added if address.id not in gone]
    result.revoked.extend(sorted(gone - just_added))
    for address_id in gone:
        result.fronted.pop(address_id, None)
    kept = tuple(address for address in result.person.addresses if address.id not in gone)
    result.person = replace(result.person, addresses=kept)
