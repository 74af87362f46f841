"""What is begun once signs as the standard library does."""

import hmac

from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.mac import Mac


@given(st.binary(max_size=200), st.lists(st.binary(max_size=300), max_size=3))
def test_it_is_hmac_sha256(secret: bytes, messages: list[bytes]) -> None:
    mac = Mac(secret)
    assert [mac(message) for message in messages] == [hmac.digest(secret, each, "sha256") for each in messages]
