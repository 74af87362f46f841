"""The frozen inputs of notifications, in both forms in which they are stored."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.clock import VirtualClock
from waypost.kernel.shared_payload import SharedPayload, is_shared, read_shared
from waypost.kernel.vault import SealBroken, place
from waypost.notifications.inputs import (
    InputsBook,
    SharedInputs,
    can_be_shared,
    open_envelope,
    open_metadata,
    open_payload,
)
from waypost.notifications.model import Payload

VAULT = LocalVault(MasterKey(bytes(32)))
KEY = VAULT.tenant_key("acme", VAULT.new_tenant_key("acme"))
RECIPIENT, ADDRESS, MESSAGE = (UUID(int=number) for number in range(1, 4))
INPUTS = UUID(int=4).bytes
_, OWN = KEY.new_data_key(place("data_key", "acme", RECIPIENT))
COMMON = SharedInputs(
    mentioned=frozenset({"first_name", "recipient.city", "tenant.name", "deal"}),
    variables={"deal": [1, 2]},
    tenant={"id": "acme", "name": "Acme"},
    sender="a@acme.example",
    metadata={"campaign": 7},
    tracks=3,
)
SHARED = {("acme", INPUTS): COMMON}


class Stored(msgspec.Struct, kw_only=True):
    payload: bytes
    id: UUID = MESSAGE
    recipient_id: UUID = RECIPIENT
    address_id: UUID | None = ADDRESS


def by_reference(**attributes: Any) -> Stored:
    address = OWN.seal(b"ada@example.com", place("address", "acme", ADDRESS))
    sealed = OWN.seal(msgspec.json.encode(attributes), place("attributes", "acme", RECIPIENT)) if attributes else b""
    return Stored(payload=SharedPayload(INPUTS, address, sealed).written())


def sealed_whole(payload: Payload) -> Stored:
    return Stored(payload=OWN.seal(msgspec.msgpack.encode(payload), place("payload", "acme", MESSAGE)))


@given(st.binary(min_size=16, max_size=16), st.binary(max_size=300), st.binary(max_size=300))
def test_what_is_written_is_read(inputs: bytes, address: bytes, attributes: bytes) -> None:
    shared = SharedPayload(inputs, address, attributes)
    assert is_shared(shared.written())
    assert read_shared(shared.written()) == shared


def test_both_forms_open_to_the_same() -> None:
    one = by_reference(first_name="Ada", city="Graz", secret="not mentioned")
    opened = open_payload(OWN, "acme", one, SHARED)
    assert opened == Payload(
        address="ada@example.com",
        context={"first_name": "Ada", "deal": [1, 2], "recipient": {"city": "Graz"}, "tenant": {"name": "Acme"}},
        sender="a@acme.example",
        metadata={"campaign": 7},
        tracks=3,
    )
    other = sealed_whole(opened)
    assert not is_shared(other.payload)
    assert open_payload(OWN, "acme", other, {}) == opened
    assert open_envelope(OWN, "acme", one, SHARED) == open_envelope(OWN, "acme", other, {})
    about = (open_metadata(OWN, "acme", MESSAGE, stored.payload, SHARED) for stored in (one, other))
    assert [*about] == [{"campaign": 7}] * 2


def test_each_opening_is_its_own() -> None:
    """Whoever composes a message writes links into its context."""
    open_payload(OWN, "acme", by_reference(), SHARED).context["unsubscribe_url"] = "https://…"
    assert open_payload(OWN, "acme", by_reference(), SHARED).context == {"deal": [1, 2], "tenant": {"name": "Acme"}}


@pytest.mark.parametrize(
    ("tenant", "changed", "shared"),
    [
        ("globex", {}, {("globex", INPUTS): COMMON}),
        ("acme", {"recipient_id": UUID(int=9)}, SHARED),
        ("acme", {"address_id": UUID(int=9)}, SHARED),
        ("acme", {"address_id": None}, SHARED),
        ("acme", {}, {}),
        ("acme", {}, {("globex", INPUTS): COMMON}),
    ],
)
def test_what_was_moved_elsewhere_does_not_open(tenant: str, changed: dict[str, Any], shared: Any) -> None:
    one = msgspec.structs.replace(by_reference(first_name="Ada"), **changed)
    with pytest.raises(SealBroken):
        open_payload(OWN, tenant, one, shared)


def test_without_the_person_s_key_nothing_of_theirs_opens() -> None:
    _, another = KEY.new_data_key(place("data_key", "acme", RECIPIENT))
    for read in (open_payload, open_envelope):
        with pytest.raises(SealBroken):
            read(another, "acme", by_reference(first_name="Ada"), SHARED)


@pytest.mark.parametrize(
    ("mentioned", "shareable"),
    [({"first_name", "recipient.city"}, True), ({"recipient.locale"}, False), ({"recipient"}, False), (set(), True)],
)
def test_what_lies_open_in_a_recipient_s_row_is_never_copied(mentioned: set[str], *, shareable: bool) -> None:
    assert can_be_shared(mentioned) is shareable


class Shelf:
    """Stores for two tenants; counts how often it is asked."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, UUID], bytes] = {}
        self.asked = 0

    async def add(self, tx: Any, sealed: Mapping[UUID, bytes], at: datetime) -> None:
        for inputs_id, one in sealed.items():
            self.rows.setdefault((tx.tenant_id, inputs_id), one)

    async def sealed(self, tx: Any, ids: Sequence[UUID]) -> Mapping[UUID, bytes]:
        self.asked += 1
        return {one: self.rows[tx.tenant_id, one] for one in ids if (tx.tenant_id, one) in self.rows}


class Keys:
    async def of(self, tx: Any) -> Any:
        return KEY


class Tx(msgspec.Struct):
    tenant_id: str


async def test_shared_inputs_are_stored_once_and_kept_at_hand() -> None:
    shelf = Shelf()
    book = InputsBook(store=shelf, keyring=Keys(), clock=VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))  # type: ignore[arg-type]
    acme: Any = Tx("acme")
    [first] = await book.keep(acme, [COMMON])
    [second] = await book.keep(acme, [COMMON])
    [other] = await book.keep(acme, [msgspec.structs.replace(COMMON, tracks=1)])
    assert first == second != other
    assert len(shelf.rows) == 2
    payload = SharedPayload(first.bytes, b"a", b"").written()
    for _ in range(2):
        assert await book.of(acme, [payload, b"\x01whole", b""]) == {("acme", first.bytes): COMMON}
    assert shelf.asked == 1
    globex: Any = Tx("globex")
    assert await book.of(globex, [payload]) == {}
