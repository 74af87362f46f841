"""What travels between the pool and a render child: msgpack, each frame after its length in four bytes."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import msgspec

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.recipes import MailRecipe, PartsRecipe
from waypost.adapters.render.sheet import Sheet
from waypost.adapters.render.skeleton import Skeleton
from waypost.submission.model import ReadMail, UnreadMail
from waypost.templates.model import Content, Fragment, LocaleSource, Profile
from waypost.templates.ports import Instrument, MailHead, RenderedParts

LENGTH_BYTES: Final = 4

# Plain JSON; the codec cannot express a recursive type.
Data: TypeAlias = dict[str, Any]


PARTS: Final = ("subject", "html", "text", "json", "preheader")
"""The parts of a content that are templates, in the order in which they are looked at."""


class Parts(msgspec.Struct, array_like=True, frozen=True):
    """A content, as far as rendering it needs to know."""

    subject: str
    html: str | None = None
    text: str | None = None
    json: str | None = None
    preheader: str | None = None
    profile: Profile = Profile.JINJA
    locale: str | None = None

    @classmethod
    def of(cls, content: Content) -> "Parts":
        return cls(
            content.subject,
            content.html,
            content.text,
            content.json,
            content.preheader,
            content.profile,
            content.locale,
        )


class Lesson(msgspec.Struct, array_like=True, frozen=True):
    """A content, sent once per child; jobs then name it by its slot."""

    slot: int
    content: Parts
    instrument: Instrument | None = None


# Slot, context, the recipient's locale and time zone.
RenderItem: TypeAlias = tuple[int, Data, str | None, str | None]
ComposeItem: TypeAlias = tuple[int, Data, str | None, str | None, MailHead]


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
    most_bytes: int
    """Of each part."""


class ValidateAsk(msgspec.Struct, array_like=True, frozen=True, tag=4):
    schema: msgspec.Raw
    variables: list[Data]
    """Of many messages; each is judged on its own."""


class CheckSchemaAsk(msgspec.Struct, array_like=True, frozen=True, tag=5):
    schema: msgspec.Raw


class CompileAsk(msgspec.Struct, array_like=True, frozen=True, tag=6):
    source: LocaleSource
    profile: Profile
    layout: str | None
    fragments: dict[str, Fragment]


class MailAsk(msgspec.Struct, array_like=True, frozen=True, tag=7):
    """A mail that somebody submitted."""

    content: bytes


Ask = RenderAsk | ComposeAsk | CheckAsk | ValidateAsk | CheckSchemaAsk | CompileAsk | MailAsk


class Failed(msgspec.Struct, array_like=True, frozen=True, tag=2):
    code: str
    message: str
    pointer: str


class Said(msgspec.Struct, array_like=True, frozen=True, tag=3):
    """A message, as what its skeleton is filled with. The skeleton comes with the first message of a slot, and with it
    the recipe, where there is one."""

    said: bytes
    skeleton: Skeleton | None = None
    recipe: MailRecipe | None = None


class Told(msgspec.Struct, array_like=True, frozen=True, tag=4):
    """Rendered parts, as what their sheet is filled with. The sheet comes with the first of a slot, as does the recipe,
    where there is one."""

    subject: str
    values: list[str]
    sheet: Sheet | None = None
    recipe: PartsRecipe | None = None


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
    results: list[RenderedParts | Told | Failed]


class ComposeReply(msgspec.Struct, array_like=True, frozen=True):
    toll: Toll
    results: list[bytes | Said | Failed]


class CheckReply(msgspec.Struct, array_like=True, frozen=True):
    toll: Toll
    faults: list[Fault]
    mentioned: list[str]


class CompileReply(msgspec.Struct, array_like=True, frozen=True):
    toll: Toll
    faults: list[Fault]
    mentioned: list[str]
    content: Content | None
    warnings: list[Fault]


class SchemaReply(msgspec.Struct, array_like=True, frozen=True):
    toll: Toll
    faults: list[Fault]


class ValidateReply(msgspec.Struct, array_like=True, frozen=True):
    toll: Toll
    faults: list[list[Fault]]


class MailReply(msgspec.Struct, array_like=True, frozen=True):
    toll: Toll
    mail: ReadMail | UnreadMail


Reply = RenderReply | ComposeReply | CheckReply | CompileReply | SchemaReply | ValidateReply | MailReply


class Start(msgspec.Struct, array_like=True, frozen=True):
    """The first thing a child hears."""

    limits: RenderLimits
    equipment: list[str]
    """The libraries beyond the usual that it must load, because it can open no file later (`equipment`)."""


encoder: Final = msgspec.msgpack.Encoder()
ask_decoder: Final = msgspec.msgpack.Decoder(Ask)
start_decoder: Final = msgspec.msgpack.Decoder(Start)

_WISH: Final = b"?"
"""Begins a frame in which a child asks for something instead of answering. No answer begins with it."""
_PART: Final = b"*"
"""Begins a frame with the first results of an answer that is still being worked on. No answer begins with it either."""


def frame(message: Ask | Reply | Start) -> bytearray:
    """The message with its length before it, in one buffer."""
    buffer = bytearray(LENGTH_BYTES)
    encoder.encode_into(message, buffer, LENGTH_BYTES)
    return _with_length(buffer)


def part(results: Sequence[RenderedParts | Told | bytes | Said | Failed]) -> bytearray:
    """Results that are sent ahead, so that they are read while the next ones are made."""
    buffer = bytearray(LENGTH_BYTES) + _PART
    encoder.encode_into(results, buffer, LENGTH_BYTES + 1)
    return _with_length(buffer)


def part_in(reply: memoryview) -> memoryview | None:
    return reply[1:] if bytes(reply[:1]) == _PART else None


def wish(name: str) -> bytearray:
    """A child's question for a resource, before it goes on with its answer."""
    return _with_length(bytearray(LENGTH_BYTES) + _WISH + name.encode())


def wish_in(reply: memoryview) -> str | None:
    return bytes(reply[1:]).decode(errors="replace") if bytes(reply[:1]) == _WISH else None


def grant(resource: bytes | None) -> bytearray:
    """The answer to a wish; nothing where there is no such resource."""
    return _with_length(bytearray(LENGTH_BYTES) + (b"-" if resource is None else b"+" + resource))


def granted(frame_body: bytearray) -> bytes | None:
    return bytes(frame_body[1:]) if frame_body.startswith(b"+") else None


def _with_length(buffer: bytearray) -> bytearray:
    buffer[:LENGTH_BYTES] = (len(buffer) - LENGTH_BYTES).to_bytes(LENGTH_BYTES, "little")
    return buffer
