"""Recipients, their addresses, and what a caller says about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from waypost.kernel.address import Address
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.vault import DataKey
from waypost.kernel.vocabulary import Channel

PHONE: Final = Channel.SMS
"""One telephone number serves every channel that dials it, and is kept under this one."""


class RecipientKind(StrEnum):
    USER = "user"
    GUEST = "guest"
    VENDOR = "vendor"
    ANONYMOUS = "anonymous"
    """Known by an address only; made by a call that gave no id."""


class AddressStatus(StrEnum):
    ACTIVE = "active"
    SUPPRESSED = "suppressed"
    REVOKED = "revoked"


class RecipientFields(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a PUT, a PATCH or an inline `to` says. UNSET keeps what is there, None removes it."""

    kind: RecipientKind | UnsetType = UNSET
    email: str | UnsetType | None = UNSET
    phone: str | UnsetType | None = UNSET
    locale: str | UnsetType | None = UNSET
    timezone: str | UnsetType | None = UNSET
    attributes: JsonObject | UnsetType | None = UNSET
    """Merged key by key; a key with the value None is removed; a nested value is replaced whole."""
    tags: Sequence[str] | UnsetType | None = UNSET
    """All of them: what is not named goes."""

    def __repr__(self) -> str:
        return "RecipientFields(…)"


class Target(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One member of `to`."""

    id: str | None = None
    fields: RecipientFields = RecipientFields()
    must_exist: bool = False
    """Written as a plain string, which names someone we already know."""


class CheckedFields(msgspec.Struct, frozen=True, gc=False):
    """The same after validation: addresses normalised, words known."""

    kind: RecipientKind | None = None
    locale: str | UnsetType | None = UNSET
    timezone: str | UnsetType | None = UNSET
    attributes: JsonObject | UnsetType | None = UNSET
    attributes_json: bytes | None = None
    """The same as it is stored, where they can be told at a glance to be sound."""
    addresses: Mapping[Channel, Address | None] = {}
    tags: tuple[str, ...] | None = None
    """Sorted, each once; None says nothing about them."""

    def __repr__(self) -> str:
        return "CheckedFields(…)"


UNASKED: Final = datetime.min.replace(tzinfo=UTC)
"""Stands in a row for a moment that nobody asked for: to read them takes as long as to read all the rest of it."""


class StoredRecipient(msgspec.Struct, frozen=True, gc=False):
    """A row: attributes sealed under the data key, the data key wrapped under the tenant's."""

    id: UUID
    external_id: str
    kind: RecipientKind
    locale: str | None
    timezone: str | None
    attributes: bytes | None
    data_key: bytes | None
    version: int
    created_at: datetime
    updated_at: datetime
    erased_at: datetime | None = None
    merged_into: UUID | None = None
    """The one it became part of; that one is never merged itself."""

    def __repr__(self) -> str:
        return f"StoredRecipient(id={self.id!r}, version={self.version})"


class StoredAddress(msgspec.Struct, frozen=True, gc=False):
    id: UUID
    recipient_id: UUID
    channel: Channel
    hash: str
    ciphertext: bytes
    verified: bool
    status: AddressStatus
    given_at: datetime
    """The newest given of a channel is the one that is used."""
    created_at: datetime
    updated_at: datetime

    def __repr__(self) -> str:
        return f"StoredAddress(id={self.id!r}, recipient_id={self.recipient_id!r}, channel={self.channel!r})"


class Known(msgspec.Struct, frozen=True, gc=False):
    """Someone whom a look found, by an id that was asked for, by an address, or both."""

    row: StoredRecipient
    addresses: tuple[StoredAddress, ...]
    """All that are not revoked, the newest given first."""
    asked: tuple[str, ...]
    """The ids by which they were asked for."""


class LookedUp(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    known: Sequence[Known]
    has_erased: bool
    """Whether anybody of this tenant was ever erased: then an id that nobody has may be taken all the same."""


class Person(msgspec.Struct, frozen=True, gc=False):
    """A recipient with the data key open."""

    row: StoredRecipient
    key: DataKey
    wrapped_key: bytes
    attributes: JsonObject
    addresses: tuple[StoredAddress, ...] = ()
    """All that are not revoked, the newest given first."""
    told: dict[Channel, Address] = {}
    """The newest given of a channel, where a caller has just said it: then it need not be opened."""

    def address_on(self, channel: Channel) -> StoredAddress | None:
        for address in self.addresses:
            if address.channel is channel:
                return address
        return None

    def __repr__(self) -> str:
        return f"Person(row={self.row!r})"


class Resolved(msgspec.Struct, frozen=True, gc=False):
    """Someone a message goes to, with all that making the message needs."""

    recipient_id: UUID
    external_id: str
    position: int
    """Where in `to` this recipient was first named. Later mentions of the same one collapse into it."""
    address_id: UUID | None
    address: Address | None
    address_hash: str | None
    address_status: AddressStatus | None
    key: DataKey
    wrapped_key: bytes
    attributes: JsonObject
    locale: str | None
    timezone: str | None

    def __repr__(self) -> str:
        return f"Resolved(recipient_id={self.recipient_id!r}, position={self.position})"


@dataclass(frozen=True, kw_only=True, slots=True)
class AddressView:
    id: UUID
    channel: Channel
    masked: str
    verified: bool
    status: AddressStatus
    current: bool
    """Used when a message goes out on this channel."""
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipient:
    """A recipient as a caller sees it."""

    id: str
    kind: RecipientKind
    locale: str | None
    timezone: str | None
    attributes: JsonObject = field(repr=False)
    tags: tuple[str, ...]
    addresses: tuple[AddressView, ...]
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipientFilter:
    """Whom a list shows; at most one of these is given."""

    id_prefix: str | None = None
    email: str | None = field(default=None, repr=False)
    phone: str | None = field(default=None, repr=False)
    tag: str | None = None
    list_key: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewAddress:
    channel: Channel
    text: str = field(repr=False)
    verified: bool = False
    current: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipientList:
    """A named set of recipients."""

    id: UUID
    key: str
    title: str
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    recipient_id: UUID
    external_id: str
    added_at: datetime


class WaitingMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message that has not gone out, with its inputs sealed for the one it is to."""

    id: UUID
    address_id: UUID | None
    payload: bytes
    secrets: bytes | None

    def __repr__(self) -> str:
        return f"WaitingMessage(id={self.id!r})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Erasure:
    """An id that is taken for ever by someone who is gone."""

    id: UUID
    id_hash: str
    recipient_id: UUID
    erased_at: datetime
    certificate: str | None
    """As it was signed; None for an id that had been merged into the one erased."""
