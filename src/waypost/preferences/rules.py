"""Pure decisions: whether a choice lets a message through, whether consent does, and how choices merge."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from msgspec import UNSET, UnsetType

from waypost.kernel.errors import FieldError
from waypost.kernel.vocabulary import CATEGORIES, Category, Channel
from waypost.preferences.model import ChannelChoice, ConsentPolicy, ConsentState, Policy, QuietHours, Topic

MOST_TOPICS: Final = 200
"""Of one tenant."""
LONGEST_KEY: Final = 64
ESSENTIAL: Final = frozenset({Category.TRANSACTIONAL, Category.SECURITY, Category.SYSTEM})
"""What people rely on: no switch of a whole channel stops it."""
_UNSTOPPABLE: Final = frozenset({Category.SECURITY, Category.SYSTEM})
_KEY: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_TIME: Final = re.compile(r"(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])\Z")
_NO_CHOICE: Final = ChannelChoice()


class Objection(StrEnum):
    CHANNEL_OFF = "channel_off"
    CATEGORY_OFF = "category_off"
    TOPIC_OFF = "topic_off"


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicFacts:
    """What a message's topic says on one channel."""

    key: str
    mandatory: bool
    on_by_default: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelWish:
    """What a caller says about one channel. UNSET keeps what is there, None removes it."""

    enabled: bool | UnsetType | None = UNSET
    categories: Mapping[str, bool | None] | UnsetType | None = UNSET
    topics: Mapping[str, bool | None] | UnsetType | None = UNSET
    tracking: bool | UnsetType | None = UNSET


def objection(
    policy: Policy, channel: Channel, category: Category, topic: TopicFacts | None, choice: ChannelChoice | None
) -> Objection | None:
    """What a recipient's choices, or the defaults where they have none, have against a message."""
    if category in _UNSTOPPABLE or (topic is not None and topic.mandatory):
        return None
    chosen = choice or _NO_CHOICE
    enabled = policy.channels.get(channel, True) if chosen.enabled is None else chosen.enabled
    if not enabled and category not in ESSENTIAL:
        return Objection.CHANNEL_OFF
    if topic is not None and (wanted := chosen.topics.get(topic.key)) is not None:
        return None if wanted else Objection.TOPIC_OFF
    if not chosen.categories.get(category, True):
        return Objection.CATEGORY_OFF
    if topic is not None and not topic.on_by_default:
        return Objection.TOPIC_OFF
    return None


def consents(policy: ConsentPolicy, state: ConsentState) -> bool:
    """Whether marketing may go out. What waits for its confirmation has not been confirmed, under either policy."""
    if policy is ConsentPolicy.IMPLIED:
        return state in (ConsentState.NONE, ConsentState.GRANTED)
    return state is ConsentState.GRANTED


def is_topic_key(text: str) -> bool:
    return bool(_KEY.match(text))


def read_time(text: str) -> int | None:
    """`22:00` as minutes from midnight."""
    match = _TIME.match(text)
    return int(match["hour"]) * 60 + int(match["minute"]) if match else None


def read_quiet_hours(start: str, end: str, pointer: str) -> tuple[QuietHours | None, list[FieldError]]:
    times = {"start": read_time(start), "end": read_time(end)}
    errors = [
        FieldError(pointer=f"{pointer}/{name}", code="invalid_format", message="Write a time such as `22:00`.")
        for name, minutes in times.items()
        if minutes is None
    ]
    if times["start"] is None or times["end"] is None:
        return None, errors
    return QuietHours(start=times["start"], end=times["end"]), []


def merge_choice(current: ChannelChoice | None, wish: ChannelWish | None) -> ChannelChoice:
    """An absent field keeps, None removes."""
    if wish is None:
        return _NO_CHOICE
    have = current or _NO_CHOICE
    categories = {category.word: on for category, on in have.categories.items()}
    return ChannelChoice(
        enabled=have.enabled if isinstance(wish.enabled, UnsetType) else wish.enabled,
        categories={CATEGORIES[word]: on for word, on in _merged(categories, wish.categories).items()},
        topics=_merged(have.topics, wish.topics),
        tracking=have.tracking if isinstance(wish.tracking, UnsetType) else wish.tracking,
    )


def check_wish(wish: ChannelWish, topics: Mapping[str, Topic], pointer: str) -> Iterator[FieldError]:
    if isinstance(wish.categories, Mapping):
        for word, on in wish.categories.items():
            category = CATEGORIES.get(word)
            if category is None:
                yield FieldError(
                    pointer=f"{pointer}/categories", code="unknown_value", message=f"Write one of {_STOPPABLE_WORDS}."
                )
            elif on is False and category in ESSENTIAL:
                message = f"People rely on {word} messages: they can be turned off by topic only."
                yield FieldError(pointer=f"{pointer}/categories/{word}", code="mandatory_category", message=message)
    if isinstance(wish.topics, Mapping):
        for key, on in wish.topics.items():
            topic = topics.get(key)
            if topic is None and on is not None:
                at = f"{pointer}/topics/{key}" if is_topic_key(key) else f"{pointer}/topics"
                yield FieldError(pointer=at, code="unknown_topic", message="There is no topic of this key.")
            elif topic is not None and topic.mandatory and on is False:
                message = "This topic is mandatory: nobody can turn it off."
                yield FieldError(pointer=f"{pointer}/topics/{key}", code="mandatory_topic", message=message)


_STOPPABLE_WORDS: Final = ", ".join(word for word, category in CATEGORIES.items() if category not in ESSENTIAL)


def _merged(have: Mapping[str, bool], said: Mapping[str, bool | None] | UnsetType | None) -> dict[str, bool]:
    if isinstance(said, UnsetType):
        return dict(have)
    if said is None:
        return {}
    merged: dict[str, bool | None] = {**have, **said}
    return {name: on for name, on in merged.items() if on is not None}
