"""Finds, makes and merges recipients, a thousand as well as one, in a handful of statements.

Locks are taken in one order everywhere: newcomers' addresses, external ids, rows. So calls that overlap wait for each
other and never in a ring, and two calls that make the same person end with one.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, cast
from uuid import UUID

import msgspec
from msgspec.structs import replace

from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, Refused
from waypost.kernel.ids import mint, show
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.vault import Keyring, TenantKey, place
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.lookup import erased_hash
from waypost.recipients.merge import Merge, merge
from waypost.recipients.model import CheckedFields, Known, Person, RecipientKind, StoredAddress, StoredRecipient
from waypost.recipients.newcomer import draft_newcomer
from waypost.recipients.ports import AddressStore, RecipientStore
from waypost.recipients.rules import check_attributes

MOST_ERRORS: Final = 100


class Mention(msgspec.Struct, gc=False):
    """All that one call says about one recipient."""

    external_id: str
    position: int
    pointer: str
    must_exist: bool
    newcomer_kind: RecipientKind = RecipientKind.USER
    sayings: list[CheckedFields] = []


class Planned(msgspec.Struct, frozen=True, gc=False):
    """A mention beside what is known, and what would come of it. Nothing is written yet."""

    mention: Mention
    known: Known | None
    merge: Merge | None
    """None where the mention must be refused."""
    faults: Sequence[FieldError] = ()


class Found(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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

    async def look_up(
        self, tx: Transaction, ids: Sequence[str], spots: Sequence[tuple[Channel, str]] = (), *, moments: bool = True
    ) -> Sequence[Known]:
        """Everyone who is meant, and a tombstone for each id that stays taken by someone who was erased."""
        found = await self._recipients.look_up(tx, ids, spots, moments=moments)
        if not found.has_erased:
            return found.known
        known = {asked for one in found.known for asked in one.asked}
        key = await self._keyring.of(tx)
        hashes = {erased_hash(key, name): name for name in ids if name not in known}
        gone = await self._recipients.erased_among(tx, list(hashes)) if hashes else ()
        return [*found.known, *(_tombstone(hashes[hashed], self._clock.now()) for hashed in gone)]

    async def bring_in(self, tx: Transaction, mentions: Sequence[Mention]) -> Sequence[Found]:
        """The people mentioned, made or changed as the call says. Refuses the whole call where one cannot be."""
        key = await self._keyring.of(tx)
        known = {
            asked: one
            for one in await self.look_up(tx, sorted({mention.external_id for mention in mentions}))
            for asked in one.asked
        }
        planned = [self.plan(tx, key, mention, known.get(mention.external_id)) for mention in mentions]
        refuse_all([fault for one in planned for fault in one.faults])
        return await self.write(tx, key, planned)

    def plan(
        self, tx: Transaction, key: TenantKey, mention: Mention, known: Known | None, drafted: Merge | None = None
    ) -> Planned:
        """What would come of a mention: a newcomer (`drafted`, where that has been done), a change, or nothing new."""
        if (fault := _unusable(mention, known)) is not None:
            return Planned(mention, known, None, [fault])
        if known is None:
            merged = drafted or self._draft(tx, key, mention)
            if len(mention.sayings) == 1:
                # One saying was looked at when it was read.
                return Planned(mention, None, merged)
        else:
            said = mention.sayings[0] if mention.sayings else None
            person = _open_person(tx.tenant_id, key, known.row, known.addresses, said)
            merged = merge(tx.tenant_id, person, mention.sayings, key, self._clock)
        return Planned(mention, known, merged, _overgrown(mention, merged) if merged.changed else ())

    async def write(self, tx: Transaction, key: TenantKey, planned: Sequence[Planned]) -> Sequence[Found]:
        """Makes and changes people as planned, and says who they are now, in the order given.

        Refuses only what has become impossible since the look."""
        drafts = {one.mention.external_id: one.merge for one in planned if one.known is None and one.merge}
        made = await self._make(tx, drafts)
        late = [one.mention for one in planned if one.known is None and one.mention.external_id not in made]
        stale = [one for one in planned if one.known is not None and one.merge and one.merge.changed]
        stale += await self._plan_again(tx, key, late)
        changed = await self._change(tx, key, stale)
        return [
            Found(
                person=changed.get(name) or made.get(name) or one.merge.person,
                mention=one.mention,
                created=name in made,
            )
            for one in planned
            if one.merge is not None and (name := one.mention.external_id)
        ]

    async def _make(self, tx: Transaction, drafts: Mapping[str, Merge]) -> Mapping[str, Person]:
        if not drafts:
            return {}
        merges = [drafts[external_id] for external_id in sorted(drafts)]
        addresses = [address for drafted in merges for address in drafted.added]
        added = await self._recipients.add(tx, [drafted.person.row for drafted in merges], addresses)
        return {drafted.person.row.external_id: drafted.person for drafted in merges if drafted.person.row.id in added}

    async def _plan_again(self, tx: Transaction, key: TenantKey, late: Sequence[Mention]) -> Sequence[Planned]:
        """Someone else made them between our look and our insert; now they are known."""
        if not late:
            return []
        names = sorted(mention.external_id for mention in late)
        known = {asked: one for one in await self.look_up(tx, names) for asked in one.asked}
        planned = [self.plan(tx, key, mention, known.get(mention.external_id)) for mention in late]
        refuse_all([fault for one in planned for fault in one.faults])
        return planned

    def _draft(self, tx: Transaction, key: TenantKey, mention: Mention) -> Merge:
        now = self._clock.now()
        if len(mention.sayings) == 1:
            said = mention.sayings[0]
            return draft_newcomer(tx.tenant_id, mention.external_id, mention.newcomer_kind, said, key, now)
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

    async def _change(self, tx: Transaction, key: TenantKey, stale: Sequence[Planned]) -> Mapping[str, Person]:
        """What would change is locked and looked at again: most calls change nothing and lock nobody."""
        if not stale:
            return {}
        wanted = {one.known.row.id: one.mention for one in stale if one.known is not None}
        fresh = await self._recipients.lock(tx, sorted(wanted))
        known = [Known(row=row, addresses=(), asked=()) for row in fresh]
        refuse_all([fault for one in known if (fault := _unusable(wanted[one.row.id], one)) is not None])
        merges = {
            person.row.id: merge(tx.tenant_id, person, wanted[person.row.id].sayings, key, self._clock)
            for person in await self._open(tx, key, fresh)
        }
        refuse_all([fault for who, one in merges.items() if one.changed for fault in _overgrown(wanted[who], one)])
        await self._write(tx, [merged for merged in merges.values() if merged.changed])
        return {wanted[who].external_id: merged.person for who, merged in merges.items()}

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


def _open_person(
    tenant_id: str,
    key: TenantKey,
    row: StoredRecipient,
    addresses: tuple[StoredAddress, ...],
    said: CheckedFields | None = None,
) -> Person:
    """`said`: what the caller says first. Mostly it is what is known, and then it need not be read again."""
    if row.data_key is None:
        raise ValueError("An erased recipient cannot be opened.")
    data_key = key.unwrap(row.data_key, place("data_key", tenant_id, row.id))
    attributes: JsonObject = {}
    if row.attributes is not None:
        plain = data_key.open(row.attributes, place("attributes", tenant_id, row.id))
        known = _whole(said) if said is not None and said.attributes_json == plain else None
        attributes = known or cast("JsonObject", msgspec.json.decode(plain))
    return Person(row, data_key, row.data_key, attributes, addresses)


def _whole(said: CheckedFields) -> JsonObject | None:
    """The attributes that are said, where none of them only says what to leave out."""
    if not isinstance(said.attributes, dict) or None in said.attributes.values():
        return None
    return said.attributes


def _unusable(mention: Mention, known: Known | None) -> FieldError | None:
    if known is None and mention.must_exist:
        message = "There is no recipient of this id. Give an object with its address to make one."
        return FieldError(pointer=mention.pointer, code="unknown_recipient", message=message)
    if known is not None and known.row.erased_at is not None:
        return _erased(mention)
    return None


def _tombstone(external_id: str, now: datetime) -> Known:
    row = StoredRecipient(
        id=UUID(int=0),
        external_id=external_id,
        kind=RecipientKind.USER,
        locale=None,
        timezone=None,
        attributes=None,
        data_key=None,
        version=0,
        created_at=now,
        updated_at=now,
        erased_at=now,
    )
    return Known(row=row, addresses=(), asked=(external_id,))


def _erased(mention: Mention) -> FieldError:
    message = "This recipient has been erased, for good."
    return FieldError(pointer=mention.pointer, code="recipient_erased", message=message)


def _overgrown(mention: Mention, merged: Merge) -> Sequence[FieldError]:
    """Each saying fits on its own; what they add up to must fit too."""
    return list(check_attributes(merged.person.attributes, f"{mention.pointer}/attributes"))


def refuse_all(errors: Sequence[FieldError]) -> None:
    if errors:
        raise refusal_of(errors)


def refusal_of(errors: Sequence[FieldError]) -> Refused:
    ordered = errors[:MOST_ERRORS]
    return Refused(ordered[0].message, code=ordered[0].code, errors=ordered)
