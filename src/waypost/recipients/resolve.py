"""From the members of `to` to people with an open key and an address: all of them, or a refusal naming each fault."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from waypost.kernel.address import Address
from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, Refused
from waypost.kernel.vault import Keyring, TenantKey, place
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.model import (
    PHONE,
    CheckedFields,
    RecipientKind,
    Resolved,
    StoredRecipient,
    Target,
)
from waypost.recipients.people import Found, Mention, People, mint_external_id, refuse_all
from waypost.recipients.ports import AddressStore
from waypost.recipients.rules import check_external_id, check_fields, is_minted

_KEPT_UNDER: Final = {Channel.EMAIL: Channel.EMAIL, Channel.SMS: PHONE, Channel.WHATSAPP: PHONE, Channel.VOICE: PHONE}
_FIELD_OF: Final = {Channel.EMAIL: "email", PHONE: "phone"}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Anchor:
    """A member without an id: its address says who it is."""

    position: int
    pointer: str
    channel: Channel
    hash: str
    said: CheckedFields


@dataclass(frozen=True, kw_only=True, slots=True)
class Party:
    """The `to` of one call, and the channels on which it wants to reach them."""

    targets: Sequence[Target]
    channels: Sequence[Channel]
    is_list: bool = True
    pointer: str = "/to"


class Resolver:
    def __init__(self, *, people: People, addresses: AddressStore, keyring: Keyring, clock: Clock) -> None:
        self._people = people
        self._addresses = addresses
        self._keyring = keyring
        self._clock = clock

    async def resolve_all(
        self, tx: Transaction, parties: Sequence[Party]
    ) -> Sequence[Sequence[Sequence[Resolved]] | Refused]:
        """For each party its people, each as seen from each of its channels; or why the party is refused."""
        answers: list[Sequence[Sequence[Resolved]] | Refused] = []
        for party in parties:
            try:
                found = await self._bring_in(tx, party.targets, party.pointer, is_list=party.is_list)
                answers.append([[_resolved(tx.tenant_id, one, channel) for channel in party.channels] for one in found])
            except Refused as refusal:
                answers.append(refusal)
        return answers

    async def resolve(
        self,
        tx: Transaction,
        targets: Sequence[Target],
        channel: Channel,
        *,
        pointer: str = "/to",
        is_list: bool = True,
    ) -> Sequence[Resolved]:
        """One answer per person, in the order of first mention.

        Several mentions of one person collapse: what they say is merged in order, and the address given last is used.
        A person without an address on the channel is answered too, with `address` None.
        """
        found = await self._bring_in(tx, targets, pointer, is_list=is_list)
        return [_resolved(tx.tenant_id, person, channel) for person in found]

    async def _bring_in(
        self, tx: Transaction, targets: Sequence[Target], pointer: str, *, is_list: bool
    ) -> Sequence[Found]:
        key = await self._keyring.of(tx)
        mentions, anchors = _read(targets, pointer, key, is_list=is_list)
        await self._attach(tx, mentions, anchors, key)
        return await self._people.bring_in(tx, sorted(mentions.values(), key=lambda mention: mention.position))

    async def _attach(
        self, tx: Transaction, mentions: dict[str, Mention], anchors: Sequence[_Anchor], key: TenantKey
    ) -> None:
        """Gives every anchor the mention of the one person it means, made new where there is none."""
        if not anchors:
            return
        owners = await self._owners(tx, anchors)
        given = _given_with_an_id(mentions, key)
        strangers = [anchor for anchor in anchors if not owners.get(_spot(anchor)) and _spot(anchor) not in given]
        if strangers:
            await self._addresses.hold_newcomers(tx, sorted({anchor.hash for anchor in strangers}))
            owners |= await self._owners(tx, strangers)
        errors: list[FieldError] = []
        minted: dict[tuple[Channel, str], str] = {}
        for anchor in anchors:
            meant = _meant(owners.get(_spot(anchor), ()), given.get(_spot(anchor), ()))
            if len(meant) > 1:
                message = "Several recipients have this address. Say which one by its id."
                field_pointer = f"{anchor.pointer}/{_FIELD_OF[anchor.channel]}"
                errors.append(FieldError(pointer=field_pointer, code="ambiguous_recipient", message=message))
                continue
            external_id = meant[0] if meant else minted.setdefault(_spot(anchor), mint_external_id(self._clock))
            blank = Mention(external_id, anchor.position, anchor.pointer, must_exist=bool(meant))
            blank.newcomer_kind = RecipientKind.ANONYMOUS
            _say(mentions.setdefault(external_id, blank), anchor.position, anchor.said)
        refuse_all(errors)

    async def _owners(
        self, tx: Transaction, anchors: Sequence[_Anchor]
    ) -> dict[tuple[Channel, str], Sequence[StoredRecipient]]:
        owners: dict[tuple[Channel, str], Sequence[StoredRecipient]] = {}
        for channel in _FIELD_OF:
            hashes = sorted({anchor.hash for anchor in anchors if anchor.channel is channel})
            if hashes:
                found = await self._addresses.owners(tx, channel, hashes)
                owners |= {(channel, hashed): rows for hashed, rows in found.items()}
        return owners


def _read(
    targets: Sequence[Target], pointer: str, key: TenantKey, *, is_list: bool
) -> tuple[dict[str, Mention], list[_Anchor]]:
    errors: list[FieldError] = []
    mentions: dict[str, Mention] = {}
    anchors: list[_Anchor] = []
    for position, target in enumerate(targets):
        at = f"{pointer}/{position}" if is_list else pointer
        said, faults = check_fields(target.fields, at)
        if target.id is not None:
            faults += check_external_id(target.id, at if target.must_exist else f"{at}/id")
        anchor = _anchor(said, position, at, key) if target.id is None and not faults else None
        if target.id is None and anchor is None and not faults:
            message = "Say who is meant: give an id, an email or a phone."
            faults.append(FieldError(pointer=at, code="required", message=message))
        errors += faults
        if faults:
            continue
        if anchor is not None:
            anchors.append(anchor)
        elif target.id is not None:
            # Of a plain string and an object with the same id, the object may make the person.
            must_exist = target.must_exist or is_minted(target.id)
            mention = mentions.setdefault(target.id, Mention(target.id, position, at, must_exist))
            mention.must_exist = mention.must_exist and must_exist
            _say(mention, position, said)
    refuse_all(errors)
    return mentions, anchors


def _anchor(said: CheckedFields, position: int, pointer: str, key: TenantKey) -> _Anchor | None:
    for channel in _FIELD_OF:
        address = said.addresses.get(channel)
        if address is not None:
            hashed = key.hash_address(channel.word, address.text)
            return _Anchor(position=position, pointer=pointer, channel=channel, hash=hashed, said=said)
    return None


def _say(mention: Mention, position: int, said: CheckedFields) -> None:
    mention.position = min(mention.position, position)
    mention.sayings.append(said)


def _given_with_an_id(mentions: Mapping[str, Mention], key: TenantKey) -> dict[tuple[Channel, str], list[str]]:
    """Addresses that this very call gives to someone by id."""
    given: dict[tuple[Channel, str], list[str]] = {}
    for mention in mentions.values():
        for said in mention.sayings:
            for channel, address in said.addresses.items():
                if address is not None:
                    spot = (channel, key.hash_address(channel.word, address.text))
                    given.setdefault(spot, []).append(mention.external_id)
    return given


def _spot(anchor: _Anchor) -> tuple[Channel, str]:
    return anchor.channel, anchor.hash


def _meant(owners: Sequence[StoredRecipient], given: Sequence[str]) -> Sequence[str]:
    """People with an id of their own come before anonymous ones, who are nothing but the address."""
    named = [row.external_id for row in owners if row.kind is not RecipientKind.ANONYMOUS]
    people = list(dict.fromkeys([*named, *given]))
    return people or [row.external_id for row in owners[:1]]


def _resolved(tenant_id: str, found: Found, channel: Channel) -> Resolved:
    person = found.person
    stored = person.address_on(_KEPT_UNDER.get(channel, channel))
    address = None
    if stored is not None:
        plain = person.key.open(stored.ciphertext, place("address", tenant_id, stored.id))
        address = Address(channel, plain.decode())
    return Resolved(
        recipient_id=person.row.id,
        external_id=person.row.external_id,
        position=found.mention.position,
        address_id=stored.id if stored else None,
        address=address,
        address_hash=stored.hash if stored else None,
        address_status=stored.status if stored else None,
        key=person.key,
        wrapped_key=person.wrapped_key,
        attributes=person.attributes,
        locale=person.row.locale,
        timezone=person.row.timezone,
    )
