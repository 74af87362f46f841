"""From a trigger as written to what it means, naming everything that is wrong with it at once."""

import re
from datetime import time
from functools import cache
from typing import Final
from zoneinfo import available_timezones

import msgspec

from waypost.kernel.durations import Duration, read_duration
from waypost.kernel.errors import FieldError, Refused
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.tracking import UNSAID, Tracking
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS, PRIORITIES, Channel
from waypost.notifications.model import Routing
from waypost.triggers.model import Digest, Rule, Schedule, Sends, Tells, Throttle, TriggerSpec, Who
from waypost.triggers.paths import FORM, Path, looks_like_path, read_path

USUAL_GRACE: Final = Duration(seconds=6 * 3600)
VARIABLES_BYTES: Final = 16_384
MOST_THROTTLED: Final = 100
ADMIN_TAGS: Final = ("role:admin", "role:owner")
PRIMARY: Final = Path("primary", ("data", "recipient"))
_EVENT_TYPE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}\Z")
_KEY: Final = re.compile(r"[A-Za-z0-9._:/+-]{1,300}\Z")
_TAG: Final = re.compile(r"\S(?:.{0,62}\S)?\Z")
_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])\Z")
_DAY: Final = 86_400
_RESOLVERS: Final = "Write a path into the event, `primary`, `tenant_admins`, `role:<role>` or `tag:<tag>`."


class _Faults:
    def __init__(self) -> None:
        self.found: list[FieldError] = []

    def add(self, pointer: str, code: str, message: str) -> None:
        self.found.append(FieldError(pointer=pointer, code=code, message=message))


def default_key(spec: TriggerSpec) -> str:
    """What a trigger is called where its author gives no key: two that do the same on the same event are one."""
    if spec.template is not None:
        channels = "+".join(spec.channels or (spec.channel or "email",))
        return f"{spec.event_type}:{spec.template}:{channels}"
    return f"{spec.event_type}:{'cancels' if spec.cancels is not None else 'reschedules'}"


def is_event_type(text: str) -> bool:
    return bool(_EVENT_TYPE.match(text))


def compile_spec(spec: TriggerSpec, key: str) -> Rule:
    faults = _Faults()
    if not is_event_type(spec.event_type):
        message = "An event type has 1 to 128 letters, digits or characters of `._:/-`, such as `booking.created`."
        faults.add("/event_type", "invalid_event_type", message)
    if not _KEY.match(key):
        faults.add("/key", "invalid_key", "A key has 1 to 300 letters, digits or characters of `._:/+-`.")
    tells = _tells(spec, faults)
    sends = _sends(spec, faults) if spec.template is not None else None
    if sends is None and tells is None and not faults.found:
        faults.add("/template", "required", "Name the template to send, or what the event `reschedules` or `cancels`.")
    if spec.template is None:
        _refuse_idle(spec, faults)
    if faults.found:
        first = faults.found[0]
        raise Refused(first.message, code=first.code, errors=faults.found)
    return Rule(sends=sends, tells=tells)


def _refuse_idle(spec: TriggerSpec, faults: _Faults) -> None:
    """Fields that would do nothing without a template."""
    idle = ("channel", "channels", "routing", "after", "category", "recipient", "variables", "anchor", "offset", "at")
    for name in (*idle, "timezone", "grace", "subject_key", "digest", "throttle", "tracking"):
        if getattr(spec, name) is not None:
            faults.add(f"/{name}", "needs_template", "Means something only together with a `template`.")
    if spec.refire:
        faults.add("/refire", "needs_template", "Means something only together with a `template`.")


def _tells(spec: TriggerSpec, faults: _Faults) -> Tells | None:
    if spec.reschedules is not None and spec.cancels is not None:
        faults.add("/cancels", "conflicting", "An event either moves timers or cancels them.")
        return None
    name = "reschedules" if spec.reschedules is not None else "cancels"
    subject = _path(spec.reschedules or spec.cancels, f"/{name}", faults)
    return None if subject is None else Tells(subject=subject, cancels=name == "cancels")


def _sends(spec: TriggerSpec, faults: _Faults) -> Sends:
    channels = _channels(spec, faults)
    routing, after = _routing(spec, channels, faults)
    grace = _duration(spec.grace, "/grace", faults, least=0, most=30 * _DAY) or USUAL_GRACE
    schedule = _schedule(spec, grace, faults)
    digest = _digest(spec, faults)
    subject = _path(spec.subject_key, "/subject_key", faults)
    if schedule is None and digest is None:
        for name in ("subject_key", "grace"):
            if getattr(spec, name) is not None:
                faults.add(f"/{name}", "needs_schedule", "Means something only with an `anchor` or an `offset`.")
    if spec.refire and subject is None:
        faults.add("/refire", "needs_subject", "Only timers with a `subject_key` can be moved and fire again.")
    return Sends(
        template=spec.template or "",
        channels=channels,
        routing=routing,
        after=after,
        category=CATEGORIES[spec.category] if spec.category else None,
        priority=PRIORITIES[spec.priority],
        who=_who(spec.recipient, faults),
        variables=_variables(spec, faults),
        schedule=schedule,
        grace=grace,
        subject=subject,
        digest=digest,
        throttle=_throttle(spec, faults),
        refire=spec.refire,
        tracking=UNSAID if spec.tracking is None else Tracking(opens=spec.tracking.opens, clicks=spec.tracking.clicks),
    )


def _channels(spec: TriggerSpec, faults: _Faults) -> tuple[Channel, ...]:
    if spec.channel is not None and spec.channels is not None:
        faults.add("/channels", "conflicting", "Give either `channel` or `channels`.")
    words = spec.channels if spec.channels is not None else (spec.channel or "email",)
    if not words:
        faults.add("/channels", "required", "Name at least one channel.")
    if len(set(words)) < len(words):
        faults.add("/channels", "duplicate", "Name each channel once.")
    return tuple(CHANNELS[word] for word in words)


def _routing(spec: TriggerSpec, channels: tuple[Channel, ...], faults: _Faults) -> tuple[Routing, Duration | None]:
    routing = Routing(spec.routing or Routing.ALL)
    after = _duration(spec.after, "/after", faults, least=1, most=30 * _DAY)
    if routing is Routing.UNTIL_SEEN:
        if after is None and spec.after is None:
            faults.add("/after", "required", "Say how long to wait for each channel, such as `10m`.")
        if len(channels) < 2:
            faults.add("/channels", "required", "Name at least two channels to go through.")
    elif spec.after is not None:
        faults.add("/after", "needs_until_seen", "Means something only with `routing: until_seen`.")
    return routing, after


def _who(text: str | None, faults: _Faults) -> Who:
    if text is None:
        faults.add("/recipient", "required", _RESOLVERS)
    elif looks_like_path(text):
        return Who(path=_path(text, "/recipient", faults))
    elif text == "primary":
        return Who(path=PRIMARY)
    elif text == "tenant_admins":
        return Who(tags=ADMIN_TAGS)
    else:
        kind, _, rest = text.partition(":")
        if kind in {"role", "tag"} and _TAG.match(rest) and len(text) <= 64:
            return Who(tags=(text if kind == "role" else rest,))
        faults.add("/recipient", "unknown_resolver", _RESOLVERS)
    return Who()


def _variables(spec: TriggerSpec, faults: _Faults) -> JsonObject | None:
    if spec.variables is None:
        return None
    if len(msgspec.json.encode(spec.variables)) > VARIABLES_BYTES:
        faults.add("/variables", "too_large", f"At most {VARIABLES_BYTES} bytes as JSON.")
    for name, value in spec.variables.items():
        if isinstance(value, str) and looks_like_path(value) and read_path(value) is None:
            escaped = name.replace("~", "~0").replace("/", "~1")
            faults.add(f"/variables/{escaped}", "invalid_path", FORM)
    return dict(spec.variables)


def _schedule(spec: TriggerSpec, grace: Duration, faults: _Faults) -> Schedule | None:
    if spec.timezone is not None and spec.timezone not in _timezones():
        faults.add("/timezone", "invalid_timezone", "Write a time zone of the IANA database such as `Europe/Vienna`.")
    clock = _CLOCK.match(spec.at) if spec.at is not None else None
    if spec.at is not None and clock is None:
        faults.add("/at", "invalid_time", "Write the time of day as `09:30`.")
    offset = _duration(spec.offset, "/offset", faults, least=None, most=1826 * _DAY)
    if spec.anchor is None and spec.offset is None:
        for name in ("at", "timezone"):
            if getattr(spec, name) is not None:
                faults.add(f"/{name}", "needs_schedule", "Means something only with an `anchor` or an `offset`.")
        return None
    return Schedule(
        anchor=_path(spec.anchor, "/anchor", faults),
        offset=offset or Duration(),
        at=time(int(clock[1]), int(clock[2])) if clock else None,
        timezone=spec.timezone,
        grace=grace,
    )


def _digest(spec: TriggerSpec, faults: _Faults) -> Digest | None:
    if spec.digest is None:
        return None
    window = _duration(spec.digest.window, "/digest/window", faults, least=1, most=30 * _DAY)
    return Digest(window=window or Duration(), key=_path(spec.digest.key, "/digest/key", faults))


def _throttle(spec: TriggerSpec, faults: _Faults) -> Throttle | None:
    if spec.throttle is None:
        return None
    per = _duration(spec.throttle.per, "/throttle/per", faults, least=1, most=30 * _DAY)
    if not 1 <= spec.throttle.max <= MOST_THROTTLED:
        faults.add("/throttle/max", "out_of_range", f"A number from 1 to {MOST_THROTTLED}.")
    key = _path(spec.throttle.key, "/throttle/key", faults)
    return Throttle(max=spec.throttle.max, per=per or Duration(), key=key)


def _path(text: str | None, pointer: str, faults: _Faults) -> Path | None:
    if text is None:
        return None
    path = read_path(text)
    if path is None:
        faults.add(pointer, "invalid_path", FORM)
    return path


def _duration(text: str | None, pointer: str, faults: _Faults, *, least: int | None, most: int) -> Duration | None:
    if text is None:
        return None
    duration = read_duration(text)
    if duration is None:
        faults.add(pointer, "invalid_duration", "Write a duration such as `30d`, `2h`, `15m` or `10s`.")
        return None
    seconds = duration.elapsed.total_seconds()
    if not (-most if least is None else least) <= seconds <= most:
        faults.add(pointer, "out_of_range", f"May be at most {Duration(days=most // _DAY)}.")
        return None
    return duration


@cache
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones())
