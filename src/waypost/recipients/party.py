"""The `to` of a call, read: who is meant by which member, and what is said about them."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

from waypost.kernel.errors import FieldError
from waypost.kernel.vault import TenantKey
from waypost.kernel.vocabulary import Channel
from waypost.recipients.model import PHONE, CheckedFields, Target
from waypost.recipients.rules import check_external_id, check_fields, is_external_id, is_minted

Spot: TypeAlias = tuple[Channel, str]
"""An address, by its channel and hash."""
FIELD_OF: Final = {Channel.EMAIL: "email", PHONE: "phone"}


class Party(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The `to` of one call, and the channels on which it wants to reach them."""

    targets: Sequence[Target]
    channels: Sequence[Channel]
    is_list: bool = True
    """Decides how a refusal points at a member: `/to/3/email` or `/to/email`."""
    pointer: str = "/to"


class Member(msgspec.Struct, frozen=True, gc=False):
    """One member of `to`. Without an id, its anchor says who it is."""

    position: int
    pointer: str
    id: str | None
    must_exist: bool
    anchor: Spot | None
    said: CheckedFields


ReadParty: TypeAlias = tuple[Sequence[Member], Sequence[FieldError]]


def read_party(party: Party, key: TenantKey) -> ReadParty:
    """The members, or all that is wrong with them."""
    members: list[Member] = []
    errors: list[FieldError] = []
    for position, target in enumerate(party.targets):
        pointer = f"{party.pointer}/{position}" if party.is_list else party.pointer
        said, faults = check_fields(target.fields, pointer)
        name, anchor, must_exist = target.id, None, target.must_exist
        if name is None:
            anchor = next(iter(spots_of(said, key)), None) if not faults else None
            if anchor is None and not faults:
                message = "Say who is meant: give an id, an email or a phone."
                faults.append(FieldError(pointer=pointer, code="required", message=message))
        elif is_external_id(name):
            must_exist = must_exist or is_minted(name)
        else:
            faults += check_external_id(name, pointer if must_exist else f"{pointer}/id")
        errors += faults
        members.append(Member(position, pointer, name, must_exist, anchor, said))
    return members, errors


def spots_of(said: CheckedFields, key: TenantKey) -> Iterable[Spot]:
    """The addresses that are given, in the order in which they say who is meant."""
    for channel in FIELD_OF:
        address = said.addresses.get(channel)
        if address is not None:
            yield channel, key.hash_address(channel.word, address.text)
