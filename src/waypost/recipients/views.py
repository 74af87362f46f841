"""Recipients as callers see them: addresses masked, tags beside them."""

from collections.abc import Iterable, Sequence

from waypost.kernel.address import mask
from waypost.kernel.vault import place
from waypost.kernel.work import Transaction
from waypost.recipients.model import AddressStatus, AddressView, Person, Recipient, StoredAddress, StoredRecipient
from waypost.recipients.people import People
from waypost.recipients.ports import AddressStore, TagStore


class Views:
    def __init__(self, *, people: People, addresses: AddressStore, tags: TagStore) -> None:
        self._people = people
        self._addresses = addresses
        self._tags = tags

    async def of_rows(self, tx: Transaction, rows: Sequence[StoredRecipient]) -> list[Recipient]:
        return await self.of_people(tx, await self._people.read(tx, rows))

    async def of_people(self, tx: Transaction, people: Sequence[Person]) -> list[Recipient]:
        if not people:
            return []
        tags = await self._tags.of_recipients(tx, [person.row.id for person in people])
        hashes = sorted({address.hash for person in people for address in person.addresses})
        silenced = await self._addresses.suppressed_among(tx, hashes) if hashes else frozenset[str]()
        return [_recipient(tx.tenant_id, person, tags.get(person.row.id, ()), silenced) for person in people]


def _recipient(tenant_id: str, person: Person, tags: tuple[str, ...], silenced: frozenset[str]) -> Recipient:
    return Recipient(
        id=person.row.external_id,
        kind=person.row.kind,
        locale=person.row.locale,
        timezone=person.row.timezone,
        attributes=person.attributes,
        tags=tags,
        addresses=tuple(_addresses(tenant_id, person, silenced)),
        version=person.row.version,
        created_at=person.row.created_at,
        updated_at=person.row.updated_at,
    )


def _addresses(tenant_id: str, person: Person, silenced: frozenset[str]) -> Iterable[AddressView]:
    front = {address.channel: address.id for address in reversed(person.addresses)}
    for address in person.addresses:
        plain = person.key.open(address.ciphertext, place("address", tenant_id, address.id))
        yield AddressView(
            id=address.id,
            channel=address.channel,
            masked=mask(address.channel, plain.decode()),
            verified=address.verified,
            status=_status(address, silenced),
            current=front[address.channel] == address.id,
            created_at=address.created_at,
        )


def _status(address: StoredAddress, silenced: frozenset[str]) -> AddressStatus:
    """What the suppression list says of an address holds, whenever it was given."""
    return AddressStatus.SUPPRESSED if address.hash in silenced else address.status
