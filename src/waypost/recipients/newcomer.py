"""Someone new: the row, the key and the addresses, made in one go. A thousand of them are made at a time."""

from datetime import datetime
from uuid import UUID

import msgspec

from waypost.kernel.ids import mint_at
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.vault import DataKey, TenantKey, place
from waypost.recipients.merge import Merge
from waypost.recipients.model import AddressStatus, CheckedFields, Person, RecipientKind, StoredAddress, StoredRecipient


def draft_newcomer(
    tenant_id: str, external_id: str, kind: RecipientKind, said: CheckedFields, key: TenantKey, now: datetime
) -> Merge:
    """What `merge` makes of a blank person and one saying, without asking what there was before."""
    recipient_id = mint_at(now)
    wrapped, data_key = key.new_data_key(place("data_key", tenant_id, recipient_id))
    attributes: JsonObject = {}
    if isinstance(said.attributes, dict):
        attributes = {name: value for name, value in said.attributes.items() if value is not None}
    addresses = _addresses(tenant_id, recipient_id, said, key, data_key, now)
    row = StoredRecipient(
        id=recipient_id,
        external_id=external_id,
        kind=said.kind or kind,
        locale=said.locale if isinstance(said.locale, str) else None,
        timezone=said.timezone if isinstance(said.timezone, str) else None,
        attributes=data_key.seal(msgspec.json.encode(attributes), place("attributes", tenant_id, recipient_id))
        if attributes
        else None,
        data_key=wrapped,
        version=1,
        created_at=now,
        updated_at=now,
    )
    person = Person(
        row=row, key=data_key, wrapped_key=wrapped, attributes=attributes, addresses=tuple(reversed(addresses))
    )
    person.told.update((channel, address) for channel, address in said.addresses.items() if address is not None)
    return Merge(person, changed=True, added=addresses)


def _addresses(
    tenant_id: str, recipient_id: UUID, said: CheckedFields, key: TenantKey, data_key: DataKey, now: datetime
) -> list[StoredAddress]:
    made: list[StoredAddress] = []
    for channel, address in said.addresses.items():
        if address is None:
            continue
        address_id = mint_at(now)
        made.append(
            StoredAddress(
                id=address_id,
                recipient_id=recipient_id,
                channel=channel,
                hash=key.hash_address(channel.word, address.text),
                ciphertext=data_key.seal(address.text.encode(), place("address", tenant_id, address_id)),
                verified=False,
                status=AddressStatus.ACTIVE,
                given_at=now,
                created_at=now,
                updated_at=now,
            )
        )
    return made
