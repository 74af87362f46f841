"""A message of a stream, read as an event: in our own words (`id, type, occurred_at, data`) or as a CloudEvent."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec

from waypost.kernel.jsontypes import JsonObject, JsonValue
from waypost.triggers.model import Event

_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]\Z")
_DEEPEST: Final = 64
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class _Message(msgspec.Struct, frozen=True):
    """CloudEvents call the moment `time`. Where several tenants' events come together, each names its tenant."""

    id: str
    type: str
    occurred_at: _Moment | None = None
    time: _Moment | None = None
    data: JsonObject = {}
    tenant: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Pulled:
    tenant: str
    event: Event


@dataclass(frozen=True, kw_only=True, slots=True)
class NotAnEvent:
    code: str
    message: str


_decoder: Final = msgspec.json.Decoder(_Message)


def read_pulled(body: bytes, *, consumer: str, tenant: str | None) -> Pulled | NotAnEvent:
    try:
        found = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        message = "Expected a JSON object with `id`, `type`, `occurred_at` and an object `data`."
        return NotAnEvent(code="unreadable_event", message=message)
    moment = found.occurred_at or found.time
    if moment is None:
        return NotAnEvent(code="unreadable_event", message="The event does not say when it happened.")
    owner = tenant or found.tenant
    if owner is None or not _TENANT.match(owner):
        return NotAnEvent(code="tenant_missing", message="The event does not say whose it is.")
    if not _can_be_kept(found.data, _DEEPEST):
        return NotAnEvent(code="unreadable_event", message="The data is nested too deeply or holds a NUL character.")
    event = Event(id=found.id, type=found.type, occurred_at=moment.astimezone(UTC), data=found.data, consumer=consumer)
    return Pulled(tenant=owner, event=event)


def _can_be_kept(value: JsonValue, depth: int) -> bool:
    if isinstance(value, str):
        return "\0" not in value
    if not isinstance(value, dict | list):
        return True
    inside: list[JsonValue] = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    return depth > 0 and all(_can_be_kept(each, depth - 1) for each in inside)
