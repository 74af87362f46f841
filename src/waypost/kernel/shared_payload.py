"""The inputs of a notification, stored by reference: what it has in common with others lies elsewhere, once.

    2 · id of the shared inputs (16 bytes) · length of the sealed address (2 bytes) · sealed address · sealed attributes

Address and attributes are the recipient's own ciphertexts, copied as they lay when the message was accepted: they open
under the recipient's data key for the places they were sealed for, and with that key they are gone. A payload that is
sealed as a whole begins with the generation of its key, which is 1. Written by `fan_out_routines.sql` too.
"""

from typing import Final

import msgspec

_BY_REFERENCE: Final = 2
_ID_END: Final = 17
_LENGTH_END: Final = 19


class SharedPayload(msgspec.Struct, frozen=True, gc=False):
    inputs: bytes
    """The id of the shared ones, as bytes: asked for with every message."""
    address: bytes
    attributes: bytes
    """Empty where the recipient had none."""

    def written(self) -> bytes:
        length = len(self.address).to_bytes(2, "big")
        return b"".join((bytes((_BY_REFERENCE,)), self.inputs, length, self.address, self.attributes))

    def __repr__(self) -> str:
        return f"SharedPayload(inputs={self.inputs.hex()})"


def is_shared(payload: bytes) -> bool:
    return len(payload) >= _LENGTH_END and payload[0] == _BY_REFERENCE


def inputs_of(payload: bytes) -> bytes:
    """The id of the shared ones. Of a payload that `is_shared`, as below."""
    return payload[1:_ID_END]


def read_shared(payload: bytes) -> SharedPayload:
    address_end = _LENGTH_END + int.from_bytes(payload[_ID_END:_LENGTH_END], "big")
    return SharedPayload(payload[1:_ID_END], payload[_LENGTH_END:address_end], payload[address_end:])
