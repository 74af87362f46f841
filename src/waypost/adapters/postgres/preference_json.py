"""What a tenant has decided and a recipient has chosen, as JSON in a column."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from waypost.kernel.tracking import UNSAID, Tracking
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS, Category, Channel
from waypost.preferences.model import (
    USUAL,
    ChannelChoice,
    ConsentPolicy,
    Policy,
    QuietHours,
    UnsubscribeGet,
)


class _Quiet(msgspec.Struct):
    start: int
    end: int


class _Policy(msgspec.Struct, omit_defaults=True):
    consent_policy: ConsentPolicy = ConsentPolicy.EXPLICIT
    unsubscribe_get: UnsubscribeGet = UnsubscribeGet.ACT
    opt_out_stops_reminders: bool = True
    quiet_hours: _Quiet | None = None
    timezone: str = USUAL.timezone
    default_locale: str | None = None
    channels: dict[str, bool] = {}
    tracking: Tracking = UNSAID


class _Choice(msgspec.Struct, omit_defaults=True):
    enabled: bool | None = None
    categories: dict[str, bool] = {}
    topics: dict[str, bool] = {}
    tracking: bool | None = None


_policy: Final = msgspec.json.Decoder(_Policy)
_choice: Final = msgspec.json.Decoder(_Choice)
_choices: Final = msgspec.json.Decoder(dict[str, _Choice])
_switches: Final = msgspec.json.Decoder(dict[str, bool])


@lru_cache(maxsize=1_000)
def read_policy(text: str | None) -> Policy:
    if text is None:
        return USUAL
    said = _policy.decode(text)
    return Policy(
        consent_policy=said.consent_policy,
        unsubscribe_get=said.unsubscribe_get,
        opt_out_stops_reminders=said.opt_out_stops_reminders,
        quiet_hours=QuietHours(start=said.quiet_hours.start, end=said.quiet_hours.end) if said.quiet_hours else None,
        timezone=said.timezone,
        default_locale=said.default_locale,
        channels=_by_channel(said.channels),
        tracking=said.tracking,
    )


def write_policy(policy: Policy) -> str:
    quiet = policy.quiet_hours
    said = _Policy(
        consent_policy=policy.consent_policy,
        unsubscribe_get=policy.unsubscribe_get,
        opt_out_stops_reminders=policy.opt_out_stops_reminders,
        quiet_hours=_Quiet(quiet.start, quiet.end) if quiet else None,
        timezone=policy.timezone,
        default_locale=policy.default_locale,
        channels=write_switches(policy.channels),
        tracking=policy.tracking,
    )
    return msgspec.json.encode(said).decode()


@lru_cache(maxsize=10_000)
def read_choice(text: str) -> ChannelChoice:
    """Few choices are all that most people make: the same few texts come again and again."""
    return _chosen(_choice.decode(text))


def read_choices(text: str) -> dict[Channel, ChannelChoice]:
    return {CHANNELS[word]: _chosen(said) for word, said in _choices.decode(text).items() if word in CHANNELS}


def write_choices(choices: Mapping[Channel, ChannelChoice]) -> str:
    said = {
        channel.word: _Choice(
            enabled=choice.enabled,
            categories={category.word: on for category, on in sorted(choice.categories.items())},
            topics=dict(sorted(choice.topics.items())),
            tracking=choice.tracking,
        )
        for channel, choice in sorted(choices.items())
        if not choice.is_blank
    }
    return msgspec.json.encode(said).decode()


def read_switches(text: str) -> dict[Channel, bool]:
    return _by_channel(_switches.decode(text))


def write_switches(switches: Mapping[Channel, bool]) -> dict[str, bool]:
    return {channel.word: on for channel, on in sorted(switches.items())}


def _chosen(said: _Choice) -> ChannelChoice:
    categories: dict[Category, bool] = {
        CATEGORIES[word]: on for word, on in said.categories.items() if word in CATEGORIES
    }
    return ChannelChoice(enabled=said.enabled, categories=categories, topics=said.topics, tracking=said.tracking)


def _by_channel(switches: Mapping[str, bool]) -> dict[Channel, bool]:
    return {CHANNELS[word]: on for word, on in switches.items() if word in CHANNELS}
