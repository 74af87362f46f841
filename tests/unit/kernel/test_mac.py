"""What is begun once signs as the standard library does."""

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.mac import PROOF_BYTES, Mac, Prover


@given(st.binary(max_size=200), st.lists(st.binary(max_size=300), max_size=3))
def test_it_is_hmac_sha256(secret: bytes, messages: list[bytes]) -> None:
    mac = Mac(secret)
    assert [mac(message) for message in messages] == [hmac.digest(secret, each, "sha256") for each in messages]


@given(st.binary(min_size=1, max_size=32), st.lists(st.binary(max_size=300), max_size=3))
def test_a_proof_is_blake2s_with_a_key(secret: bytes, messages: list[bytes]) -> None:
    prove = Prover(secret)
    assert [prove(message) for message in messages] == [
        hashlib.blake2s(each, key=secret, digest_size=PROOF_BYTES).digest() for each in messages
    ]
