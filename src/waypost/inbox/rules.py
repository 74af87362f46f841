"""Pure decisions: what a post may say and how long it stays, what an act makes of the facts."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from waypost.inbox.model import (
    ALWAYS,
    DEFAULT_INBOX,
    Act,
    Action,
    Audience,
    AudienceKind,
    Facts,
    InboxSettings,
    PostContent,
)
from waypost.kernel.durations import Duration, read_duration
from waypost.kernel.errors import FieldError, Refused, refuse
from waypost.kernel.ids import first_id_at, id_at, moment_of
from waypost.kernel.jsontypes import JsonValue

LONGEST_TTL: Final = timedelta(days=730)
LONGEST_SNOOZE: Final = timedelta(days=365)
MOST_TTLS: Final = 100
MOST_USERS: Final = 1_000
MOST_IDS: Final = 100
MOST_TAGS: Final = 20
MOST_ORIGINS: Final = 50
LONGEST_TITLE: Final = 200
LONGEST_BODY: Final = 10_000
LONGEST_URL: Final = 2_000
LONGEST_LABEL: Final = 200
LONGEST_ACTION: Final = 60
MOST_ACTIONS: Final = 5
DATA_BYTES: Final = 8_192
DEFAULT_TTL: Final = "default"
"""Beside topics in an inbox's TTLs."""

_KEY: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_TTL: Final = re.compile(r"[0-9]{1,9}[dhms]\Z")
_URL: Final = re.compile(r"(?:https?://[^/\s<>\"'\\]+|/(?![/\\]))[^\s<>\"'\\]*\Z", re.IGNORECASE)
_ORIGIN: Final = re.compile(r"https?://[a-z0-9.\-\[\]:]{1,253}\Z")
_ACTION_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
_TAG: Final = re.compile(r"</?[A-Za-z!?][^<>]*>")
_OPENING: Final = re.compile(r"<+(?=[A-Za-z!?/])")
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_PEELS: Final = 8
_UNREADABLE: Final = re.compile(r"<(script|style)\b[^<>]*>", re.IGNORECASE)


def check_key(text: str, pointer: str) -> str:
    """Names of inboxes: no reserved character (`#`, `*`, `$`) can be part of one."""
    if not _KEY.match(text):
        message = "A key has 1 to 64 lower-case letters, digits and `._-`, and begins with a letter or digit."
        raise refuse(pointer, "invalid_key", message)
    return text


def read_ttl(text: str, pointer: str) -> Duration:
    found = read_duration(text) if _TTL.match(text) else None
    if found is None or not timedelta(0) < found.elapsed <= LONGEST_TTL:
        message = "Write a number and a unit, such as 30d, 12h, 15m or 10s: more than nothing, at most 730d."
        raise refuse(pointer, "invalid_ttl", message)
    return found


def check_ttls(ttl: Mapping[str, str], pointer: str) -> dict[str, str]:
    if len(ttl) > MOST_TTLS:
        raise refuse(pointer, "too_many", f"At most {MOST_TTLS} topics have a time of their own.")
    for name, text in ttl.items():
        read_ttl(text, f"{pointer}/{name}")
    return dict(ttl)


def expiry(
    now: datetime, *, own: str | None, topic: str, inbox: Mapping[str, str], settings: InboxSettings
) -> datetime:
    """The post's own time, else the topic's in this inbox, else the inbox's, else the tenant's."""
    if own is not None:
        return now + read_ttl(own, "/ttl").elapsed
    text = inbox.get(topic) if topic else None
    text = text or inbox.get(DEFAULT_TTL) or settings.ttl
    return now + read_ttl(text, "/ttl").elapsed


def read_visible_since(text: str, pointer: str) -> int:
    if text == "always":
        return ALWAYS
    if text == "joined":
        return 0
    found = read_duration(text) if _TTL.match(text) else None
    if found is None or found.elapsed > LONGEST_TTL:
        message = "Write always, joined, or how long before joining, such as 30d; at most 730d."
        raise refuse(pointer, "invalid_visible_since", message)
    return int(found.elapsed.total_seconds())


def show_visible_since(seconds: int) -> str:
    if seconds == ALWAYS:
        return "always"
    if seconds == 0:
        return "joined"
    return str(Duration(days=seconds // 86_400, seconds=seconds % 86_400))


def check_origins(origins: list[str], pointer: str) -> tuple[str, ...]:
    if len(origins) > MOST_ORIGINS:
        raise refuse(pointer, "too_many", f"At most {MOST_ORIGINS} origins.")
    for place, origin in enumerate(origins):
        if not _ORIGIN.match(origin):
            message = "Write scheme, host and port as a browser sends them, such as https://app.example.com."
            raise refuse(f"{pointer}/{place}", "invalid_origin", message)
    return tuple(dict.fromkeys(origins))


def check_audience(audience: Audience) -> None:
    """What can be said of it without looking anybody up."""
    given = {
        "recipients": bool(audience.recipients),
        "list": audience.list_key is not None,
        "filter": audience.filter is not None,
    }
    needed = {AudienceKind.USERS: "recipients", AudienceKind.LIST: "list", AudienceKind.FILTER: "filter"}.get(
        audience.kind
    )
    if needed is not None and not given[needed]:
        raise refuse(
            f"/audience/{needed}", "invalid_audience", f"An audience of {audience.kind.value} names its {needed}."
        )
    for name, is_given in given.items():
        if is_given and name != needed:
            message = f"An audience of {audience.kind.value} takes no {name}."
            raise refuse(f"/audience/{name}", "invalid_audience", message)
    if len(audience.recipients) > MOST_USERS:
        message = f"At most {MOST_USERS} recipients by name; make a list for more."
        raise refuse("/audience/recipients", "audience_too_large", message)
    if audience.label is not None and not 1 <= len(audience.label) <= LONGEST_LABEL:
        raise refuse("/audience/label", "too_long", f"A label has 1 to {LONGEST_LABEL} characters.")
    chosen = audience.filter
    if chosen is None:
        return
    if not (chosen.all_tags or chosen.any_tags or chosen.locale or chosen.kind):
        message = "A filter says something about its people: all_tags, any_tags, locale or kind."
        raise refuse("/audience/filter", "invalid_audience", message)
    if len(chosen.all_tags) + len(chosen.any_tags) > MOST_TAGS:
        raise refuse("/audience/filter", "too_many", f"A filter names at most {MOST_TAGS} tags.")


def plain_text(text: str) -> str:
    """The text without anything that a careless page could take for markup, and without control characters."""
    text = _without_scripts(_CONTROLS.sub("", text))
    for _ in range(_PEELS):
        bare = _TAG.sub("", text)
        if bare == text:
            break
        text = bare
    # What is left of tags that never close, or that were wrapped in many others.
    return _OPENING.sub("", text).strip()


def _without_scripts(text: str) -> str:
    """What nobody is meant to read goes whole; where it never ends, its tags go with all the others."""
    if "<" not in text:
        return text
    kept, position, lowered = list[str](), 0, text.lower()
    while found := _UNREADABLE.search(text, position):
        end = lowered.find(f"</{found[1].lower()}", found.end())
        if end < 0:
            break
        kept.append(text[position : found.start()])
        position = end
    return "".join(kept) + text[position:]


def clean_content(content: PostContent, pointer: str = "") -> PostContent:
    """Checked and made harmless; refuses with everything that is wrong at once."""
    title, body = plain_text(content.title), plain_text(content.body)
    sender = None if content.sender is None else plain_text(content.sender)
    actions = tuple(
        Action(label=plain_text(action.label), url=action.url, id=action.id)
        for action in content.actions[: MOST_ACTIONS + 1]
    )
    cleaned = PostContent(
        title=title, body=body, cta_url=content.cta_url, actions=actions, data=content.data, sender=sender
    )
    errors = list(_faults(cleaned, pointer))
    if errors:
        raise Refused(errors[0].message, code=errors[0].code, errors=errors)
    return cleaned


def _faults(content: PostContent, pointer: str) -> Iterator[FieldError]:
    def fault(where: str, code: str, message: str) -> FieldError:
        return FieldError(pointer=f"{pointer}/{where}", code=code, message=message)

    if not 1 <= len(content.title) <= LONGEST_TITLE:
        yield fault("title", "invalid_title", f"A title has 1 to {LONGEST_TITLE} characters besides markup.")
    if len(content.body) > LONGEST_BODY:
        yield fault("body", "too_large", f"A body has at most {LONGEST_BODY} characters.")
    if content.sender is not None and not 1 <= len(content.sender) <= LONGEST_LABEL:
        yield fault("sender", "invalid_sender", f"A sender has 1 to {LONGEST_LABEL} characters.")
    if content.cta_url is not None and not is_link(content.cta_url):
        yield fault("cta_url", "invalid_url", "Write an address with http or https, or a path of your own site.")
    if len(content.actions) > MOST_ACTIONS:
        yield fault("actions", "too_many", f"A message has at most {MOST_ACTIONS} actions.")
    for place, action in enumerate(content.actions[:MOST_ACTIONS]):
        if not 1 <= len(action.label) <= LONGEST_ACTION:
            yield fault(f"actions/{place}/label", "invalid_label", f"A label has 1 to {LONGEST_ACTION} characters.")
        if action.url is not None and not is_link(action.url):
            message = "Write an address with http or https, or a path of your own site."
            yield fault(f"actions/{place}/url", "invalid_url", message)
        if action.id is not None and not _ACTION_ID.match(action.id):
            yield fault(f"actions/{place}/id", "invalid_id", "An id has 1 to 64 letters, digits and `._-`.")
    if len(msgspec.json.encode(content.data)) > DATA_BYTES:
        yield fault("data", "too_large", f"The data of a message have at most {DATA_BYTES} bytes as JSON.")


def is_link(text: str) -> bool:
    return len(text) <= LONGEST_URL and _URL.match(text) is not None


def content_from_road(title: str, rendered: Mapping[str, JsonValue]) -> PostContent:
    """What a rendered notification says, cut to size: at dispatch there is nobody left to refuse."""
    actions = rendered.get("actions")
    data = rendered.get("data")
    cta_url = _text(rendered.get("cta_url"))
    sender = plain_text(_text(rendered.get("sender")) or "")[:LONGEST_LABEL]
    return PostContent(
        title=plain_text(title)[:LONGEST_TITLE] or "…",
        body=plain_text(_text(rendered.get("body")) or "")[:LONGEST_BODY],
        cta_url=cta_url if cta_url is not None and is_link(cta_url) else None,
        actions=tuple(_actions_from_road(actions)) if isinstance(actions, list) else (),
        data=data if isinstance(data, dict) and len(msgspec.json.encode(data)) <= DATA_BYTES else {},
        sender=sender or None,
    )


def inbox_from_road(rendered: Mapping[str, JsonValue]) -> str:
    """Which inbox a rendered notification asks for; what cannot be one's name is none."""
    named = _text(rendered.get("inbox"))
    return named if named is not None and _KEY.match(named) else DEFAULT_INBOX


def _actions_from_road(actions: list[JsonValue]) -> Iterator[Action]:
    for one in actions[:MOST_ACTIONS]:
        if not isinstance(one, dict):
            continue
        label, url, name = (_text(one.get(field)) for field in ("label", "url", "id"))
        label = plain_text(label or "")[:LONGEST_ACTION]
        if label and (url is None or is_link(url)) and (name is None or _ACTION_ID.match(name)):
            yield Action(label=label, url=url, id=name)


def _text(value: JsonValue | None) -> str | None:
    return value if isinstance(value, str) else None


def apply(act: Act, facts: Facts, now: datetime, until: datetime | None = None) -> Facts:
    """What the act makes of the facts. The first time of each stays."""
    return _ACTS[act](facts, now, until)


_ACTS: Final[Mapping[Act, Callable[[Facts, datetime, datetime | None], Facts]]] = {
    Act.READ: lambda facts, now, _: replace(facts, read_at=facts.read_at or now, seen_at=facts.seen_at or now),
    Act.UNREAD: lambda facts, _now, _: replace(facts, read_at=None),
    Act.SEEN: lambda facts, now, _: replace(facts, seen_at=facts.seen_at or now),
    Act.ARCHIVE: lambda facts, now, _: replace(facts, archived_at=facts.archived_at or now),
    Act.UNARCHIVE: lambda facts, _now, _: replace(facts, archived_at=None),
    Act.SNOOZE: lambda facts, _now, until: replace(facts, snoozed_until=until),
    Act.UNSNOOZE: lambda facts, _now, _: replace(facts, snoozed_until=None),
    Act.PIN: lambda facts, now, _: replace(facts, pinned_at=facts.pinned_at or now),
    Act.UNPIN: lambda facts, _now, _: replace(facts, pinned_at=None),
    Act.CLICK: lambda facts, now, _: replace(facts, clicked_at=facts.clicked_at or now, seen_at=facts.seen_at or now),
}


def check_snooze(until: datetime, now: datetime) -> None:
    if not now < until <= now + LONGEST_SNOOZE:
        raise refuse("/until", "out_of_range", "Snooze until a moment in the future, within a year.")


def last_id_at(moment: datetime) -> UUID:
    """The highest id of a moment: `before` includes it."""
    return id_at(moment, b"\xff" * 10)


def next_id(minted: UUID, last: UUID) -> UUID:
    """An id later than the last one, whatever the clock of this process says."""
    if minted > last:
        return minted
    later = moment_of(last) + timedelta(milliseconds=1)
    return UUID(bytes=first_id_at(later).bytes[:6] + minted.bytes[6:])
