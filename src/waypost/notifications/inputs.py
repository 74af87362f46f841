"""Opening the frozen inputs of notifications, in either form in which they are stored. The one place that knows both.

Sealed as a whole under the recipient's data key; or by reference (`kernel.shared_payload`): the recipient's own address
and attributes under that key, and what many messages have in common once, under the tenant's.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol, TypeAlias
from uuid import UUID

import msgspec

from waypost.kernel.clock import Clock
from waypost.kernel.jsontypes import JsonObject, JsonValue
from waypost.kernel.shared_payload import inputs_of, is_shared, read_shared
from waypost.kernel.vault import DataKey, Keyring, SealBroken, place
from waypost.kernel.work import Transaction, Work
from waypost.notifications.model import Payload
from waypost.templates.context import Reader, build_context

_MOST_KEPT: Final = 16 * 1024 * 1024
"""Bytes of shared inputs that are kept at hand, as they lie in the store."""
_OWN: Final = frozenset({"recipient", "recipient.id", "recipient.locale", "recipient.timezone"})
_KEYS: Final = "shared_inputs"


class SharedInputs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What messages have in common that differ only in whom they are for. Nothing in it is a recipient's own."""

    mentioned: frozenset[str]
    """What the content reads."""
    variables: dict[str, JsonValue] = {}
    tenant: dict[str, JsonValue] | None = None
    sender: str | None = None
    reply_to: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    metadata: dict[str, JsonValue] = {}
    tracks: int = 0

    def payload(self, address: str, attributes: JsonObject) -> Payload:
        """As it would lie sealed for someone whom this was written to."""
        reader = Reader(id="", locale=None, timezone=None, attributes=attributes)
        return Payload(
            address=address,
            context=build_context(self.mentioned, variables=self.variables, reader=reader, tenant=self.tenant),
            sender=self.sender,
            reply_to=self.reply_to,
            headers=self.headers,
            metadata=self.metadata,
            tracks=self.tracks,
        )


def can_be_shared(mentioned: Iterable[str]) -> bool:
    """Id, locale and time zone of a recipient lie open beside the sealed attributes: a content that reads them has them
    sealed with the rest."""
    return _OWN.isdisjoint(mentioned)


class Envelope(msgspec.Struct, frozen=True):
    """To whom, and from whom where the message names somebody."""

    address: str
    sender: str | None = None


class _About(msgspec.Struct, frozen=True):
    metadata: dict[str, JsonValue] = {}


class Sealed(Protocol):
    """A notification with its inputs, as it is stored."""

    @property
    def id(self) -> UUID: ...
    @property
    def recipient_id(self) -> UUID: ...
    @property
    def address_id(self) -> UUID | None: ...
    @property
    def payload(self) -> bytes: ...


Name: TypeAlias = tuple[str, bytes]
"""Of shared inputs: the tenant, and the bytes of their id."""
Shared: TypeAlias = Mapping[Name, SharedInputs]
NOTHING_SHARED: Final[Shared] = {}
_read_payload: Final = msgspec.msgpack.Decoder(Payload).decode
_read_envelope: Final = msgspec.msgpack.Decoder(Envelope).decode
_read_about: Final = msgspec.msgpack.Decoder(_About).decode
_read_inputs: Final = msgspec.msgpack.Decoder(SharedInputs).decode
_read_attributes: Final = msgspec.json.Decoder(dict[str, JsonValue]).decode
_write: Final = msgspec.msgpack.Encoder(order="deterministic").encode


def open_payload(key: DataKey, tenant_id: str, one: Sealed, shared: Shared) -> Payload:
    """`key` is the recipient's. Raises `SealBroken`."""
    if not is_shared(one.payload):
        return _read_payload(key.open(one.payload, place("payload", tenant_id, one.id)))
    own = read_shared(one.payload)
    address = _address(key, tenant_id, one, own.address)
    attributes: JsonObject = {}
    if own.attributes:
        attributes = _read_attributes(key.open(own.attributes, place("attributes", tenant_id, one.recipient_id)))
    return _found(shared, tenant_id, own.inputs).payload(address, attributes)


def open_envelope(key: DataKey, tenant_id: str, one: Sealed, shared: Shared) -> Envelope:
    if not is_shared(one.payload):
        return _read_envelope(key.open(one.payload, place("payload", tenant_id, one.id)))
    own = read_shared(one.payload)
    return Envelope(_address(key, tenant_id, one, own.address), _found(shared, tenant_id, own.inputs).sender)


def open_metadata(
    key: DataKey, tenant_id: str, notification_id: UUID, payload: bytes, shared: Shared
) -> dict[str, JsonValue]:
    if not is_shared(payload):
        return _read_about(key.open(payload, place("payload", tenant_id, notification_id))).metadata
    return _found(shared, tenant_id, inputs_of(payload)).metadata


def _address(key: DataKey, tenant_id: str, one: Sealed, sealed: bytes) -> str:
    if one.address_id is None:
        raise SealBroken("There is no address that this was sealed for.")
    return key.open(sealed, place("address", tenant_id, one.address_id)).decode()


def _found(shared: Shared, tenant_id: str, inputs_id: bytes) -> SharedInputs:
    found = shared.get((tenant_id, inputs_id))
    if found is None:
        raise SealBroken("What this message has in common with others is not there.")
    return found


class SharedInputsStore(Protocol):
    async def add(self, tx: Transaction, sealed: Mapping[UUID, bytes], at: datetime) -> None:
        """What is there already under its name stays."""
        ...

    async def sealed(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, bytes]: ...


class InputsBook:
    """Shared inputs: stored once under a name made of what they say, kept at hand when they have been read."""

    def __init__(self, *, store: SharedInputsStore, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._keyring = keyring
        self._clock = clock
        self._kept: OrderedDict[Name, tuple[SharedInputs, int]] = OrderedDict()
        self._size = 0

    async def keep(self, tx: Transaction, inputs: Sequence[SharedInputs]) -> Sequence[UUID]:
        """Their ids, in order."""
        if not inputs:
            return ()
        key = await self._keyring.of(tx)
        written = [_write(one) for one in inputs]
        ids = [UUID(bytes=key.sign(_KEYS, plain)[:16]) for plain in written]
        sealed = {
            inputs_id: key.seal(plain, place(_KEYS, tx.tenant_id, inputs_id))
            for inputs_id, plain in zip(ids, written, strict=True)
        }
        await self._store.add(tx, sealed, self._clock.now())
        return ids

    async def of(self, tx: Transaction, payloads: Iterable[bytes]) -> Shared:
        """What these payloads refer to; what is not there is left out."""
        wanted = {(tx.tenant_id, inputs_of(payload)) for payload in payloads if is_shared(payload)}
        return await self._read(tx, wanted) if wanted else NOTHING_SHARED

    async def of_many(self, work: Work, rows: Iterable[tuple[str, bytes]]) -> Shared:
        """The same for rows of several tenants; the database is asked only about what is not at hand."""
        wanted = {(tenant_id, inputs_of(payload)) for tenant_id, payload in rows if is_shared(payload)}
        if not wanted:
            return NOTHING_SHARED
        found: dict[Name, SharedInputs] = {}
        for tenant_id in {tenant_id for tenant_id, _ in wanted}:
            own = {one for one in wanted if one[0] == tenant_id}
            if own <= self._kept.keys():
                found.update((one, self._kept[one][0]) for one in own)
                continue
            async with work.begin(tenant_id) as tx:
                found.update(await self._read(tx, own))
        return found

    async def _read(self, tx: Transaction, wanted: Iterable[Name]) -> Shared:
        found: dict[Name, SharedInputs] = {}
        missing: list[UUID] = []
        for one in wanted:
            if (kept := self._kept.get(one)) is not None:
                found[one] = kept[0]
                self._kept.move_to_end(one)
            else:
                missing.append(UUID(bytes=one[1]))
        if missing:
            key = await self._keyring.of(tx)
            for inputs_id, sealed in (await self._store.sealed(tx, missing)).items():
                plain = key.open(sealed, place(_KEYS, tx.tenant_id, inputs_id))
                name = (tx.tenant_id, inputs_id.bytes)
                found[name] = self._remember(name, plain)
        return found

    def _remember(self, name: Name, plain: bytes) -> SharedInputs:
        inputs = _read_inputs(plain)
        self._kept[name] = (inputs, len(plain))
        self._size += len(plain)
        while self._size > _MOST_KEPT and len(self._kept) > 1:
            self._size -= self._kept.popitem(last=False)[1][1]
        return inputs
