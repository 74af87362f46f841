"""Opening what is sealed: a person's key, then the payload, as dispatch does for every message."""

import os
import time
from collections.abc import Callable
from uuid import uuid4

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from benchmarks.results import Findings, compared
from benchmarks.sample import address_of, attributes_of
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.vault import place
from waypost.notifications.model import Payload

_TENANT = "bench"
_decoder = msgspec.msgpack.Decoder(Payload)


async def measure(*, quick: bool) -> Findings:
    count, rounds = (200, 1) if quick else (20_000, 5)
    vault = LocalVault(MasterKey(os.urandom(32)))
    house = vault.tenant_key(_TENANT, vault.new_tenant_key(_TENANT))
    person, message = uuid4(), uuid4()
    wrapped, key = house.new_data_key(place("data_key", _TENANT, person))
    plain = msgspec.msgpack.encode(Payload(address=address_of(1), context=dict(attributes_of(1))))
    sealed = key.seal(plain, place("payload", _TENANT, message))

    def open_payload() -> object:
        opened = house.unwrap(wrapped, place("data_key", _TENANT, person))
        return _decoder.decode(opened.open(sealed, place("payload", _TENANT, message)))

    secret, nonce = os.urandom(32), os.urandom(12)
    outer = AESGCM(secret)
    small, large = outer.encrypt(nonce, secret, b"x"), outer.encrypt(nonce, plain, b"x")

    def decrypt_twice() -> object:
        return AESGCM(outer.decrypt(nonce, small, b"x")).decrypt(nonce, large, b"x")

    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        ours.append(_rate(open_payload, count))
        theirs.append(_rate(decrypt_twice, count))
    entry = compared(
        name="seal",
        what=f"open a person's key and a sealed payload of {len(sealed)} bytes, and read it",
        unit="payloads/s",
        ours=ours,
        reference="AES-GCM alone, twice",
        theirs=theirs,
    )
    return Findings([entry])


def _rate(work: Callable[[], object], count: int) -> float:
    begun = time.perf_counter()
    for _ in range(count):
        work()
    return count / (time.perf_counter() - begun)
