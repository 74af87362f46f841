"""What travels between the pool and a render child: msgpack, each frame after its length in four bytes."""

from typing import Any, Final, TypeAlias

import msgspec

from waypost.adapters.render.limits import RenderLimits
from waypost.templates.ports import MailHead

LENGTH_BYTES: Final = 4

# Plain JSON; the codec cannot express a recursive type.
Data: TypeAlias = dict[str, Any]


class Parts(msgspec.Struct, array_like=True, frozen=True):
    subject: str
    html: str | None
    text: str | None


class Lesson(msgspec.Struct, array_like=True, frozen=True):
    """A content, sent once per child; jobs then name it by its slot."""

    slot: int
    content: Parts


RenderItem: TypeAlias = tuple[int, Data]
ComposeItem: TypeAlias = tuple[int, Data, MailHead]


class RenderAsk(msgspec.Struct, array_like=True, frozen=True, tag=1):
    forget: list[int]
    learn: list[Lesson]
    jobs: list[RenderItem]


class ComposeAsk(msgspec.Struct, array_like=True, frozen=True, tag=2):
    forget: list[int]
    learn: list[Lesson]
    jobs: list[ComposeItem]


class CheckAsk(msgspec.Struct, array_like=True, frozen=True, tag=3):
    content: Parts


class ValidateAsk(msgspec.Struct, array_like=True, frozen=True, tag=4):
    schema: msgspec.Raw
    variables: Data


class CheckSchemaAsk(msgspec.Struct, array_like=True, frozen=True, tag=5):
    schema: msgspec.Raw


Ask = RenderAsk | ComposeAsk | CheckAsk | ValidateAsk | CheckSchemaAsk


class Rendered(msgspec.Struct, array_like=True, frozen=True, tag=1):
    subject: str
    html: str | None
    text: str


class Failed(msgspec.Struct, array_like=True, frozen=True, tag=2):
    code: str
    message: str
    pointer: str


class Fault(msgspec.Struct, array_like=True, frozen=True):
    pointer: str
    code: str
    message: str


class Toll(msgspec.Struct, array_like=True, frozen=True):
    """What an answer cost."""

    cpu_seconds: float
    slow: list[int]
    """The items that took longer than any honest content does."""
    worn: bool
    """The child should be replaced."""


class RenderReply(msgspec.Struct, array_like=True, frozen=True):
    """May hold fewer results than jobs were asked: the rest is asked again."""

    toll: Toll
    results: list[Rendered | Failed]


class ComposeReply(msgspec.Struct, array_like=True, frozen=True):
    toll: Toll
    results: list[bytes | Failed]


class CheckReply(msgspec.Struct, array_like=True, frozen=True):
    toll: Toll
    faults: list[Fault]
    mentioned: list[str]


class SchemaReply(msgspec.Struct, array_like=True, frozen=True):
    toll: Toll
    faults: list[Fault]


Reply = RenderReply | ComposeReply | CheckReply | SchemaReply

encoder: Final = msgspec.msgpack.Encoder()
ask_decoder: Final = msgspec.msgpack.Decoder(Ask)
limits_decoder: Final = msgspec.msgpack.Decoder(RenderLimits)


def frame(message: Ask | Reply | RenderLimits) -> bytearray:
    """The message with its length before it, in one buffer."""
    buffer = bytearray(LENGTH_BYTES)
    encoder.encode_into(message, buffer, LENGTH_BYTES)
    buffer[:LENGTH_BYTES] = (len(buffer) - LENGTH_BYTES).to_bytes(LENGTH_BYTES, "little")
    return buffer
