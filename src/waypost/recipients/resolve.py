"""From the members of `to` to people with an open key and an address.

First a look, for many calls at once, that writes nothing: who is meant, and what would come of what is said. Then, for
those calls that stand, the people are made and changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from waypost.kernel.address import Address
from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, Refused
from waypost.kernel.in_turns import in_turns
from waypost.kernel.vault import Keyring, TenantKey, place
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.merge import Merge
from waypost.recipients.model import PHONE, Known, Person, RecipientKind, Resolved, Target
from waypost.recipients.party import FIELD_OF, Member, Party, ReadParty, Spot, read_party, spots_of
from waypost.recipients.people import Mention, People, Planned, mint_external_id, refusal_of
from waypost.recipients.ports import AddressStore, RecipientStore

# Named once: to ask an enumeration for a member takes as long as to make a small struct.
_USER: Final = RecipientKind.USER
_ANONYMOUS: Final = RecipientKind.ANONYMOUS
_KEPT_UNDER: Final = {Channel.EMAIL: Channel.EMAIL, Channel.SMS: PHONE, Channel.WHATSAPP: PHONE, Channel.VOICE: PHONE}


@dataclass(frozen=True, kw_only=True, slots=True)
class Foreseen:
    """People who were looked up before it was their turn. As long as nobody is made or changed, they are as they were:
    whoever else changes them may do so just after any look."""

    ids: frozenset[str]
    known: Sequence[Known]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ahead:
    """What could be done before it was their turn: the parties read, people drafted who are probably new, people looked
    up who are probably known."""

    read: Sequence[ReadParty] = ()
    drafts: Mapping[str, Merge] = field(default_factory=dict[str, Merge])
    foreseen: Foreseen | None = None


NOTHING_AHEAD: Final = Ahead()


@dataclass(slots=True)
class Plan:
    """What came of a look. Several calls that mention one person share what they say about them."""

    key: TenantKey
    parties: Sequence[Party]
    members: list[dict[str, Member]] = field(default_factory=list[dict[str, Member]])
    """For each party, where it first mentions each of its people."""
    refusals: dict[int, Refused] = field(default_factory=dict[int, Refused])
    planned: Sequence[Planned] = ()
    people: dict[str, Person] = field(default_factory=dict[str, Person])

    @property
    def changes_anybody(self) -> bool:
        """Would anybody be made or changed by it?"""
        return any(one.known is None or (one.merge is not None and one.merge.changed) for one in self.planned)

    def seen_by(self, number: int, tenant_id: str) -> Sequence[Sequence[Resolved]] | Refused:
        """A party's people in the order of first mention, each as seen from each of its channels.

        One without an address on a channel is seen too, with `address` None."""
        if (refusal := self.refusals.get(number)) is not None:
            return refusal
        channels, people = self.parties[number].channels, self.people
        seen: list[list[Resolved]] = []
        for name, member in self.members[number].items():
            views: list[Resolved] = []
            for channel in channels:
                views.append(_resolved(tenant_id, people[name], member.position, channel))  # noqa: PERF401 — of one
            seen.append(views)
        return seen


class Resolver:
    def __init__(
        self,
        *,
        people: People,
        recipients: RecipientStore,
        addresses: AddressStore,
        keyring: Keyring,
        clock: Clock,
    ) -> None:
        self._people = people
        self._recipients = recipients
        self._addresses = addresses
        self._keyring = keyring
        self._clock = clock

    async def look(self, tx: Transaction, parties: Sequence[Party], ahead: Ahead = NOTHING_AHEAD) -> Plan:
        """Looks again without those it must refuse: what they say does not count."""
        key = await self._keyring.of(tx)
        read = ahead.read or await in_turns(lambda party: read_party(party, key), parties)
        refused = {number: refusal_of(errors) for number, (_, errors) in enumerate(read) if errors}
        while True:
            members = [() if number in refused else said for number, (said, _) in enumerate(read)]
            plan = await self._attempt(tx, key, parties, members, ahead)
            if not plan.refusals:
                plan.refusals = refused
                return plan
            refused |= plan.refusals

    async def foresee(self, tx: Transaction, ids: Iterable[str]) -> Foreseen:
        asked = frozenset(ids)
        return Foreseen(ids=asked, known=await self._people.look_up(tx, sorted(asked), moments=False))

    async def bring_in(self, tx: Transaction, plan: Plan) -> bool:
        """Makes and changes the people of a plan, and says whether any of them is another than planned. Refuses only
        what has become impossible since the look."""
        differs = False
        for found in await self._people.write(tx, plan.key, plan.planned):
            name = found.mention.external_id
            differs = differs or plan.people[name] is not found.person
            plan.people[name] = found.person
        return differs

    async def resolve(
        self, tx: Transaction, targets: Sequence[Target], channel: Channel, *, is_list: bool = True
    ) -> Sequence[Resolved]:
        """Both steps for one call and one channel; raises what refuses it.

        Several mentions of one person collapse: what they say is merged in order, and the address given last is used.
        """
        plan = await self.look(tx, [Party(targets=targets, channels=(channel,), is_list=is_list)])
        if plan.refusals:
            raise plan.refusals[0]
        await self.bring_in(tx, plan)
        seen = plan.seen_by(0, tx.tenant_id)
        return [] if isinstance(seen, Refused) else [each[0] for each in seen]

    async def _attempt(
        self,
        tx: Transaction,
        key: TenantKey,
        parties: Sequence[Party],
        members: Sequence[Sequence[Member]],
        ahead: Ahead,
    ) -> Plan:
        plan = Plan(key=key, parties=parties)
        everyone = [member for said in members for member in said]
        if not everyone:
            plan.members = [{} for _ in parties]
            return plan
        spots = sorted({member.anchor for member in everyone if member.anchor is not None})
        given = _given_with_an_id(everyone, key) if spots else {}
        known = await self._look_up(tx, everyone, spots, given, ahead.foreseen)
        names = {asked: one.row.external_id for one in known for asked in one.asked}
        whose = _Owners(known if spots else (), given, names, self._clock, are_asked=bool(spots))
        mentions = _mention(plan, members, names, whose)
        by_name = {one.row.external_id: one for one in known}

        def planned(one: Mention) -> Planned:
            name = one.external_id
            return self._people.plan(tx, key, one, by_name.get(name), ahead.drafts.get(name))

        plan.planned = await in_turns(planned, list(mentions.values()))
        plan.people = {one.mention.external_id: one.merge.person for one in plan.planned if one.merge}
        _blame(plan)
        return plan

    async def _look_up(
        self,
        tx: Transaction,
        members: Sequence[Member],
        spots: Sequence[Spot],
        given: Mapping[Spot, Sequence[str]],
        foreseen: Foreseen | None,
    ) -> Sequence[Known]:
        ids = {member.id for member in members if member.id is not None}
        if foreseen is not None and not spots and ids <= foreseen.ids:
            return foreseen.known
        # Who would change is read again before the change: until then nobody needs to know since when they are so.
        known = list(await self._people.look_up(tx, sorted(ids), spots, moments=False))
        if not spots:
            return known
        owned = {spot for one in known for spot in _spots_owned(one)}
        strangers = [spot for spot in spots if spot not in owned and spot not in given]
        if strangers:
            await self._addresses.hold_newcomers(tx, sorted({hashed for _, hashed in strangers}))
            seen = {one.row.id for one in known}
            again = await self._recipients.look_up(tx, [], strangers, moments=False)
            known += [one for one in again.known if one.row.id not in seen]
        return known


class _Owners:
    """Who is meant by an address. People with an id of their own come before anonymous ones, who are nothing else."""

    def __init__(
        self,
        known: Iterable[Known],
        given: Mapping[Spot, Sequence[str]],
        names: Mapping[str, str],
        clock: Clock,
        *,
        are_asked: bool,
    ) -> None:
        self.are_asked = are_asked
        """Whether anybody is meant by an address alone."""
        self._names = names
        self._given = given
        self._clock = clock
        self._owners: dict[Spot, list[Known]] = {}
        self._minted: dict[Spot, str] = {}
        for one in known:
            for spot in _spots_owned(one):
                self._owners.setdefault(spot, []).append(one)

    def name_of(self, anchor: Spot) -> str:
        """The one it is, minted where there is none."""
        if meant := self._meant(anchor):
            return meant[0]
        if anchor not in self._minted:
            self._minted[anchor] = mint_external_id(self._clock)
        return self._minted[anchor]

    def are_several(self, anchor: Spot | None) -> bool:
        """Nobody can tell who is meant."""
        return anchor is not None and len(self._meant(anchor)) > 1

    def is_known(self, anchor: Spot) -> bool:
        return bool(self._meant(anchor))

    def _meant(self, anchor: Spot) -> Sequence[str]:
        owners = self._owners.get(anchor, [])
        named = [one.row.external_id for one in owners if one.row.kind is not RecipientKind.ANONYMOUS]
        given = [self._names.get(name, name) for name in self._given.get(anchor, ())]
        return list(dict.fromkeys([*named, *given])) or [one.row.external_id for one in owners[:1]]


def _mention(
    plan: Plan, members: Sequence[Sequence[Member]], names: Mapping[str, str], whose: _Owners
) -> dict[str, Mention]:
    """All that is said about each person. Refuses the parties of which nobody can tell whom they mean."""
    mentions: dict[str, Mention] = {}
    for number, said in enumerate(members):
        first: dict[str, Member] = {}
        if whose.are_asked and (ambiguous := [_ambiguous(one) for one in said if whose.are_several(one.anchor)]):
            plan.refusals[number] = refusal_of(ambiguous)
            said = ()
        for member in said:
            name, must_exist, kind = member.id, member.must_exist, _USER
            if name is not None:
                name = names.get(name, name)
            elif member.anchor is not None:
                name, must_exist, kind = whose.name_of(member.anchor), whose.is_known(member.anchor), _ANONYMOUS
            else:
                raise AssertionError("a member that says nobody has been let in")
            mention = mentions.get(name)
            if mention is None:
                mentions[name] = Mention(name, member.position, member.pointer, must_exist, kind, [member.said])
            else:
                if member.id is not None:
                    # Of a plain string and an object with the same id, the object may make the person.
                    mention.must_exist = mention.must_exist and must_exist
                mention.sayings.append(member.said)
            if name not in first:
                first[name] = member
        plan.members.append(first)
    return mentions


def _blame(plan: Plan) -> None:
    """Refuses every party that mentions someone who cannot be, pointing at where it does."""
    faulty = {one.mention.external_id: one for one in plan.planned if one.faults}
    for number, first in enumerate(plan.members) if faulty else ():
        errors = [
            replace(fault, pointer=member.pointer + fault.pointer.removeprefix(faulty[name].mention.pointer))
            for name, member in first.items()
            if name in faulty
            for fault in faulty[name].faults
        ]
        if errors:
            plan.refusals[number] = refusal_of(errors)


def _ambiguous(member: Member) -> FieldError:
    message = "Several recipients have this address. Say which one by its id."
    name = FIELD_OF[member.anchor[0]] if member.anchor else ""
    return FieldError(pointer=f"{member.pointer}/{name}", code="ambiguous_recipient", message=message)


def _given_with_an_id(members: Sequence[Member], key: TenantKey) -> dict[Spot, list[str]]:
    """Addresses that these very calls give to someone by id."""
    given: dict[Spot, list[str]] = {}
    for member in members:
        if member.id is not None:
            for spot in spots_of(member.said, key):
                given.setdefault(spot, []).append(member.id)
    return given


def _spots_owned(one: Known) -> Iterable[Spot]:
    return () if one.row.erased_at is not None else ((address.channel, address.hash) for address in one.addresses)


def _resolved(tenant_id: str, person: Person, position: int, channel: Channel) -> Resolved:
    kept_under, row = _KEPT_UNDER.get(channel, channel), person.row
    address = address_id = address_hash = address_status = None
    if (stored := person.address_on(kept_under)) is not None:
        address_id, address_hash, address_status = stored.id, stored.hash, stored.status
        if (address := person.told.get(kept_under)) is None:
            text = person.key.open(stored.ciphertext, place("address", tenant_id, stored.id)).decode()
            address = Address(channel, text)
        elif address.channel is not channel:
            address = Address(channel, address.text)
    # By place: of a dozen values, to say their names takes longer than all the rest.
    return Resolved(
        row.id,
        row.external_id,
        position,
        address_id,
        address,
        address_hash,
        address_status,
        person.key,
        person.wrapped_key,
        person.attributes,
        row.locale,
        row.timezone,
    )
