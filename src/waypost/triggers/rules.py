"""Pure decisions: when a timer is due, what news about its subject changes, whom and what an event brings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
from msgspec import UNSET, UnsetType

from waypost.kernel.durations import add, instant_of
from waypost.kernel.errors import FieldError
from waypost.kernel.jsontypes import JsonObject, JsonValue
from waypost.recipients.model import RecipientFields, Target
from waypost.triggers.compile import is_event_type
from waypost.triggers.model import Event, News, Reason, Schedule, Sends, Trigger
from waypost.triggers.paths import Path, looks_like_path, read_path

FURTHEST_AHEAD: Final = timedelta(days=5 * 366)
MOST_RECIPIENTS: Final = 10_000
MOST_NAMED: Final = 1_000
LONGEST_KEY: Final = 200
EVENT_BYTES: Final = 262_144
FUTURE_GRACE: Final = timedelta(days=1)
_ID: Final = re.compile(r"[\x21-\x7e]{1,128}\Z")
_CONSUMER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(?P<zone>Z|z|[+-][0-9]{2}:[0-9]{2})?\Z"
)
_PERSONAL: Final = ("email", "phone", "locale", "timezone")


def check_event(event: Event, now: datetime) -> list[FieldError]:
    faults: list[FieldError] = []
    if not _ID.match(event.id):
        message = "An event's id has 1 to 128 printable ASCII characters without spaces."
        faults.append(FieldError(pointer="/id", code="invalid_id", message=message))
    if not _CONSUMER.match(event.consumer):
        message = "A consumer has 1 to 64 letters, digits or characters of `._-`."
        faults.append(FieldError(pointer="/consumer", code="invalid_id", message=message))
    if not is_event_type(event.type):
        message = "An event type has 1 to 128 letters, digits or characters of `._:/-`."
        faults.append(FieldError(pointer="/type", code="invalid_event_type", message=message))
    if event.occurred_at > now + FUTURE_GRACE:
        message = "Lies more than a day in the future: an event is something that has happened."
        faults.append(FieldError(pointer="/occurred_at", code="too_far_ahead", message=message))
    if len(msgspec.json.encode(event.data)) > EVENT_BYTES:
        faults.append(FieldError(pointer="/data", code="too_large", message=f"At most {EVENT_BYTES} bytes as JSON."))
    return faults


def effective(triggers: Iterable[Trigger]) -> list[Trigger]:
    """The map that holds for a tenant: its own rows, and the platform's of other keys. Oldest first."""
    found = list(triggers)
    own = {trigger.key for trigger in found if not trigger.is_platforms}
    return sorted(
        (trigger for trigger in found if not trigger.is_platforms or trigger.key not in own), key=lambda one: one.id
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    reason: Reason
    cancelled: bool = False
    due: datetime | None = None


def plan(sends: Sends, event: Event, news: Sequence[News], zone: ZoneInfo, now: datetime) -> Due | Dropped:
    """When the message of this event goes, after all that is known about its subject: the same whatever came first."""
    schedule = sends.schedule
    if schedule is None:
        return Due(at=now)
    zone = ZoneInfo(schedule.timezone) if schedule.timezone else zone
    anchored = _anchored(schedule.anchor, event, news)
    if anchored is None:
        return Dropped(reason=Reason.CANCELLED_BY_EVENT, cancelled=True)
    return _due(schedule, anchored, zone, now)


def is_cancelled(sends: Sends, event: Event, news: Sequence[News]) -> bool:
    """Whether the last word about its subject is that it is no more."""
    return _anchored(sends.schedule.anchor if sends.schedule else None, event, news) is None


def _anchored(anchor: Path | None, event: Event, news: Sequence[News]) -> Event | None:
    """The event whose time counts; None once cancelled."""
    for one in reversed(concerning(event, news)):
        if one.cancels:
            return None
        if anchor is None or not isinstance(anchor.of(one.event.plain), UnsetType):
            return one.event
    return event


def concerning(event: Event, news: Iterable[News]) -> list[News]:
    """The news that came after an event, in their order; what an event says about its subject is not about itself."""
    return sorted(
        (one for one in news if one.event.occurred_at >= event.occurred_at and one.event.source != event.source),
        key=lambda one: one.order,
    )


def latest(event: Event, news: Iterable[News]) -> Event:
    """The event with what later news say in its place, so that a moved booking's reminder names the new day."""
    data = dict(event.data)
    for one in concerning(event, news):
        if not one.cancels:
            data |= one.event.data
    return replace(event, data=data)


def is_late(due: datetime, sends: Sends, now: datetime) -> bool:
    return now - due > sends.grace.elapsed


def _due(schedule: Schedule, event: Event, zone: ZoneInfo, now: datetime) -> Due | Dropped:
    given: JsonValue | UnsetType = event.occurred_at.isoformat()
    if schedule.anchor is not None:
        given = schedule.anchor.of(event.plain)
    if isinstance(given, UnsetType) or given is None:
        return Dropped(reason=Reason.ANCHOR_MISSING)
    try:
        anchor = read_anchor(given, zone)
        if anchor is None:
            return Dropped(reason=Reason.ANCHOR_INVALID)
        due = _shifted(anchor, schedule, zone)
    except (OverflowError, ValueError):
        return Dropped(reason=Reason.ANCHOR_INVALID)
    if due > now + FURTHEST_AHEAD:
        return Dropped(reason=Reason.TOO_FAR_AHEAD, due=due)
    if now - due > schedule.grace.elapsed:
        return Dropped(reason=Reason.TOO_LATE, due=due)
    return Due(at=due)


def _shifted(anchor: datetime, schedule: Schedule, zone: ZoneInfo) -> datetime:
    if schedule.at is None:
        return add(anchor, schedule.offset, zone)
    day = anchor.astimezone(zone).date() + timedelta(days=schedule.offset.days)
    return instant_of(datetime.combine(day, schedule.at), zone) + timedelta(seconds=schedule.offset.seconds)


def read_anchor(value: JsonValue, zone: ZoneInfo) -> datetime | None:
    """A time with its offset; a local time or a date, by the zone's clock. None for anything else."""
    if not isinstance(value, str):
        return None
    if _DATE.match(value):
        return instant_of(datetime.combine(date.fromisoformat(value), time()), zone)
    found = _TIME.match(value)
    if found is None:
        return None
    # A leap second and a spelling such as 24:00 are not moments that datetime knows.
    moment = datetime.fromisoformat(value.upper().replace("Z", "+00:00"))
    return moment.astimezone(UTC) if found["zone"] else instant_of(moment, zone)


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """Whom an event names at a path, or what is wrong there."""

    targets: tuple[Target, ...] = ()
    faults: tuple[FieldError, ...] = ()
    is_list: bool = False


def targets_of(event: Event, path: Path) -> Named:
    value = path.of(event.plain)
    if isinstance(value, UnsetType) or value is None or value == []:
        message = "The trigger looks for a recipient here: an id, an object with an id or an address, or a list."
        return Named(faults=(FieldError(pointer=path.pointer, code="recipient_missing", message=message),))
    members = value if isinstance(value, list) else [value]
    if len(members) > MOST_NAMED:
        message = f"At most {MOST_NAMED} recipients in one event."
        return Named(faults=(FieldError(pointer=path.pointer, code="too_many", message=message),))
    targets: list[Target] = []
    faults: list[FieldError] = []
    for index, member in enumerate(members):
        pointer = f"{path.pointer}/{index}" if isinstance(value, list) else path.pointer
        found = _target(member, pointer)
        if isinstance(found, FieldError):
            faults.append(found)
        else:
            targets.append(found)
    return Named(targets=tuple(targets), faults=tuple(faults), is_list=isinstance(value, list))


def _target(member: JsonValue, pointer: str) -> Target | FieldError:
    """What an event says of a person beyond what `to` knows is its own affair, and left alone."""
    if isinstance(member, str):
        return Target(id=member, must_exist=True)
    if isinstance(member, int) and not isinstance(member, bool):
        return Target(id=str(member), must_exist=True)
    if not isinstance(member, dict):
        return FieldError(pointer=pointer, code="wrong_type", message="Expected an id or an object.")
    said: dict[str, str | UnsetType | None] = {}
    for name in ("id", *_PERSONAL):
        value = member.get(name, UNSET)
        if name == "id" and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str | UnsetType | None):
            return FieldError(pointer=f"{pointer}/{name}", code="wrong_type", message="Expected a string.")
        said[name] = value
    attributes = member.get("attributes", UNSET)
    if not isinstance(attributes, dict | UnsetType | None):
        return FieldError(pointer=f"{pointer}/attributes", code="wrong_type", message="Expected an object.")
    fields = RecipientFields(
        email=said["email"],
        phone=said["phone"],
        locale=said["locale"],
        timezone=said["timezone"],
        attributes=attributes,
    )
    named = said["id"]
    return Target(id=named if isinstance(named, str) else None, fields=fields)


def variables_of(sends: Sends, event: Event) -> JsonObject:
    """What the template may read: the event's data, or what the trigger takes out of the event."""
    if sends.variables is None:
        return dict(event.data)
    plain = event.plain
    found: JsonObject = {}
    for name, value in sends.variables.items():
        path = read_path(value) if isinstance(value, str) and looks_like_path(value) else None
        taken = value if path is None else path.of(plain)
        if not isinstance(taken, UnsetType):
            found[name] = taken
    return found


def key_at(event: Event, path: Path | None) -> str | None:
    """The value of a key as text; None where there is none that could be a key."""
    if path is None:
        return ""
    value = path.of(event.plain)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value)
    return text if 0 < len(text) <= LONGEST_KEY else None


def within(events: Sequence[JsonObject], room: int) -> list[JsonObject]:
    """As many of the first as fit into so many bytes as JSON."""
    kept: list[JsonObject] = []
    for one in events:
        room -= len(msgspec.json.encode(one)) + 1
        if room < 0:
            break
        kept.append(one)
    return kept


def moved_pointers(faults: Iterable[FieldError], places: Mapping[str, str]) -> list[FieldError]:
    """Faults of a command as faults of the event it came from: pointers below a known place lead to its origin."""
    moved: list[FieldError] = []
    for fault in faults:
        for place, origin in places.items():
            if fault.pointer == place or fault.pointer.startswith(f"{place}/"):
                moved.append(replace(fault, pointer=origin + fault.pointer[len(place) :]))
                break
        else:
            moved.append(replace(fault, pointer=""))
    return moved
