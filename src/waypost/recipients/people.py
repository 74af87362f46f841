"""Finds, makes and merges recipients, a thousand as well as one, in a handful of statements.

Locks are taken in one order everywhere: newcomers' addresses, external ids, rows. So calls that overlap wait for each
other and never in a ring, and two calls that make the same person end with one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast
from uuid import UUID

import msgspec

from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, Refused
from waypost.kernel.ids import mint, show
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.vault import Keyring, TenantKey, place
from waypost.kernel.work import Transaction
from waypost.recipients.merge import Merge, merge
from waypost.recipients.model import CheckedFields, Person, RecipientKind, StoredAddress, StoredRecipient
from waypost.recipients.ports import AddressStore, RecipientStore
from waypost.recipients.rules import check_attributes

MOST_ERRORS: Final = 100


@dataclass(slots=True)
class Mention:
    """All that one call says about one recipient."""

    external_id: str
    position: int
    pointer: str
    must_exist: bool
    newcomer_kind: RecipientKind = RecipientKind.USER
    sayings: list[CheckedFields] = field(default_factory=list[CheckedFields])


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    person: Person
    mention: Mention
    created: bool


class People:
    def __init__(self, *, recipients: RecipientStore, addresses: AddressStore, keyring: Keyring, clock: Clock) -> None:
        self._recipients = recipients
        self._addresses = addresses
        self._keyring = keyring
        self._clock = clock

    async def read(self, tx: Transaction, rows: Sequence[StoredRecipient]) -> Sequence[Person]:
        """Rows of people who have not been erased, opened, with their addresses."""
        key = await self._keyring.of(tx)
        return await self._open(tx, key, rows)

    async def bring_in(self, tx: Transaction, mentions: Sequence[Mention]) -> Sequence[Found]:
        """The people mentioned, made or changed as the call says. Refuses the whole call where one cannot be."""
        key = await self._keyring.of(tx)
        wanted = {mention.external_id: mention for mention in mentions}
        known = {row.external_id: row for row in await self._recipients.by_external_ids(tx, sorted(wanted))}
        _refuse_unknown(wanted.values(), known)
        newcomers = [mention for mention in mentions if mention.external_id not in known]
        made = await self._make(tx, key, newcomers)
        late = sorted(mention.external_id for mention in newcomers if mention.external_id not in made)
        if late:
            # Someone else made them between our look and our insert; now they are known.
            known |= {row.external_id: row for row in await self._recipients.by_external_ids(tx, late)}
            _refuse_unknown((wanted[external_id] for external_id in late), known)
        merged = await self._change(tx, key, wanted, list(known.values()))
        return [
            Found(person=person, mention=mention, created=mention.external_id in made)
            for mention in mentions
            if (person := made.get(mention.external_id) or merged[mention.external_id])
        ]

    async def _make(self, tx: Transaction, key: TenantKey, mentions: Sequence[Mention]) -> Mapping[str, Person]:
        if not mentions:
            return {}
        merges = [self._draft(tx, key, mention) for mention in mentions]
        _refuse_overgrown(zip(mentions, merges, strict=True))
        rows = sorted((drafted.person.row for drafted in merges), key=lambda row: row.external_id)
        added = await self._recipients.add(tx, rows)
        ours = [drafted for drafted in merges if drafted.person.row.id in added]
        await self._addresses.add(tx, [address for drafted in ours for address in drafted.added])
        return {drafted.person.row.external_id: drafted.person for drafted in ours}

    def _draft(self, tx: Transaction, key: TenantKey, mention: Mention) -> Merge:
        now = self._clock.now()
        recipient_id = mint(self._clock)
        wrapped, data_key = key.new_data_key(place("data_key", tx.tenant_id, recipient_id))
        row = StoredRecipient(
            id=recipient_id,
            external_id=mention.external_id,
            kind=mention.newcomer_kind,
            locale=None,
            timezone=None,
            attributes=None,
            data_key=wrapped,
            version=0,
            created_at=now,
            updated_at=now,
        )
        blank = Person(row=row, key=data_key, wrapped_key=wrapped, attributes={})
        drafted = merge(tx.tenant_id, blank, mention.sayings, key, self._clock)
        drafted.person = replace(drafted.person, row=replace(drafted.person.row, version=1))
        return drafted

    async def _change(
        self, tx: Transaction, key: TenantKey, wanted: Mapping[str, Mention], rows: Sequence[StoredRecipient]
    ) -> Mapping[str, Person]:
        """Looks without a lock first: most calls change nothing. What does change is locked and looked at again."""
        people = {person.row.external_id: person for person in await self._open(tx, key, rows)}
        stale = sorted(
            person.row.id
            for external_id, person in people.items()
            if merge(tx.tenant_id, person, wanted[external_id].sayings, key, self._clock).changed
        )
        if not stale:
            return people
        fresh = await self._recipients.lock(tx, stale)
        _refuse_unknown((wanted[row.external_id] for row in fresh), {row.external_id: row for row in fresh})
        merges = {
            person.row.external_id: merge(
                tx.tenant_id, person, wanted[person.row.external_id].sayings, key, self._clock
            )
            for person in await self._open(tx, key, fresh)
        }
        _refuse_overgrown((wanted[external_id], merged) for external_id, merged in merges.items())
        await self._write(tx, [merged for merged in merges.values() if merged.changed])
        return people | {external_id: merged.person for external_id, merged in merges.items()}

    async def _write(self, tx: Transaction, merges: Sequence[Merge]) -> None:
        now = self._clock.now()
        if merges:
            await self._recipients.change(tx, [merged.person.row for merged in merges])
        if revoked := [address_id for merged in merges for address_id in merged.revoked]:
            await self._addresses.revoke(tx, revoked, now)
        if fronted := {address_id: at for merged in merges for address_id, at in merged.fronted.items()}:
            await self._addresses.put_in_front(tx, fronted)
        if added := [address for merged in merges for address in merged.added]:
            await self._addresses.add(tx, added)
        if concerned := sorted(merged.person.row.id for merged in merges if merged.concerns_gate):
            await self._recipients.note_gate_changes(tx, concerned, now)

    async def _open(self, tx: Transaction, key: TenantKey, rows: Sequence[StoredRecipient]) -> Sequence[Person]:
        if not rows:
            return []
        addresses: dict[UUID, list[StoredAddress]] = {row.id: [] for row in rows}
        for address in await self._addresses.of_recipients(tx, sorted(addresses)):
            addresses[address.recipient_id].append(address)
        return [_open_person(tx.tenant_id, key, row, tuple(addresses[row.id])) for row in rows]


def mint_external_id(clock: Clock) -> str:
    return show("rcp", mint(clock))


def _open_person(tenant_id: str, key: TenantKey, row: StoredRecipient, addresses: tuple[StoredAddress, ...]) -> Person:
    if row.data_key is None:
        raise ValueError("An erased recipient cannot be opened.")
    data_key = key.unwrap(row.data_key, place("data_key", tenant_id, row.id))
    attributes: JsonObject = {}
    if row.attributes is not None:
        plain = data_key.open(row.attributes, place("attributes", tenant_id, row.id))
        attributes = cast("JsonObject", msgspec.json.decode(plain))
    return Person(row=row, key=data_key, wrapped_key=row.data_key, attributes=attributes, addresses=addresses)


def _refuse_unknown(mentions: Iterable[Mention], known: Mapping[str, StoredRecipient]) -> None:
    errors: list[FieldError] = []
    for mention in mentions:
        row = known.get(mention.external_id)
        if row is None and mention.must_exist:
            message = "There is no recipient of this id. Give an object with its address to make one."
            errors.append(FieldError(pointer=mention.pointer, code="unknown_recipient", message=message))
        elif row is not None and row.erased_at is not None:
            message = "This recipient has been erased, for good."
            errors.append(FieldError(pointer=mention.pointer, code="recipient_erased", message=message))
    refuse_all(errors)


def _refuse_overgrown(merges: Iterable[tuple[Mention, Merge]]) -> None:
    """Each saying fits on its own; what they add up to must fit too."""
    refuse_all(
        [
            error
            for mention, merged in merges
            if merged.changed
            for error in check_attributes(merged.person.attributes, f"{mention.pointer}/attributes")
        ]
    )


def refuse_all(errors: Sequence[FieldError]) -> None:
    if errors:
        ordered = errors[:MOST_ERRORS]
        raise Refused(ordered[0].message, code=ordered[0].code, errors=ordered)
