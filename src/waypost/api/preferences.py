"""What a recipient has chosen, and what a tenant decides for all."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType, field

from waypost.api.endpoint import Call, Endpoint, Versioned, endpoint
from waypost.api.shapes import ChannelWord, Moment, NoBody, NoQuery, Shape
from waypost.api.tracking_shapes import TrackingShape, show_tracking
from waypost.kernel.tenancy import Permission
from waypost.kernel.vocabulary import CHANNELS
from waypost.preferences.choices import Wish
from waypost.preferences.model import Choices, ConsentPolicy, Policy, QuietHours, UnsubscribeGet, spell_time
from waypost.preferences.policies import PolicyWish
from waypost.preferences.rules import ChannelWish

LocalTime = Annotated[str, Meta(description="On the recipient's own clock.", examples=["22:00"])]


class QuietHoursShape(Shape):
    """Across midnight where `start` is the later one; equal times mean: never quiet."""

    start: LocalTime
    end: LocalTime


class ChannelChange(Shape):
    enabled: bool | UnsetType | None = UNSET
    categories: dict[str, bool | None] | UnsetType | None = UNSET
    topics: dict[str, bool | None] | UnsetType | None = UNSET
    tracking: (
        Annotated[bool, Meta(description="False: what the person opens and clicks is not noticed, whoever wants it.")]
        | UnsetType
        | None
    ) = UNSET


class PreferencesChange(Shape):
    """An absent field keeps, null removes."""

    quiet_hours: QuietHoursShape | UnsetType | None = UNSET
    channels: dict[ChannelWord, ChannelChange | None] = field(default_factory=dict)


class ChannelView(Shape):
    enabled: bool | None
    categories: dict[str, bool]
    topics: dict[str, bool]
    tracking: bool | None


class PreferencesView(Shape):
    """What was chosen; whatever is not here is as the topic and the tenant say."""

    quiet_hours: QuietHoursShape | None
    channels: dict[str, ChannelView]
    version: int
    updated_at: Moment | None


class SettingsChange(Shape):
    """An absent field keeps, null goes back to the default."""

    consent_policy: ConsentPolicy | UnsetType | None = UNSET
    unsubscribe_get: UnsubscribeGet | UnsetType | None = UNSET
    opt_out_stops_reminders: bool | UnsetType | None = UNSET
    quiet_hours: QuietHoursShape | UnsetType | None = UNSET
    timezone: Annotated[str, Meta(examples=["Europe/Vienna"])] | UnsetType | None = UNSET
    default_locale: (
        Annotated[str, Meta(description="For whom no content is in their own language.", examples=["de-AT"])]
        | UnsetType
        | None
    ) = UNSET
    channels: (
        Annotated[dict[ChannelWord, bool], Meta(description="Channels that are off unless a recipient turns them on.")]
        | UnsetType
        | None
    ) = UNSET
    tracking: TrackingShape | UnsetType | None = UNSET


class SettingsView(Shape):
    consent_policy: ConsentPolicy
    unsubscribe_get: UnsubscribeGet
    opt_out_stops_reminders: bool
    quiet_hours: QuietHoursShape | None
    timezone: str
    default_locale: str | None
    channels: dict[str, bool]
    tracking: TrackingShape


_QUIET: Final[dict[str, object]] = {"start": "22:00", "end": "07:00"}
_PREFERENCES: Final[dict[str, object]] = {
    "quiet_hours": _QUIET,
    "channels": {"email": {"enabled": True, "categories": {}, "topics": {"newsletter": True}, "tracking": None}},
    "version": 1,
    "updated_at": "2026-01-15T12:00:00Z",
}
_SETTINGS: Final[dict[str, object]] = {
    "consent_policy": "explicit",
    "unsubscribe_get": "act",
    "opt_out_stops_reminders": True,
    "quiet_hours": None,
    "timezone": "UTC",
    "default_locale": None,
    "channels": {},
    "tracking": {"opens": None, "clicks": None},
}


@endpoint(
    "PUT",
    "/v1/recipients/{id}/preferences",
    Permission.RECIPIENTS_WRITE,
    summary="Change a recipient's preferences",
    body=PreferencesChange,
    answer=PreferencesView,
    versioned=True,
    audited=True,
    refusals={422: ["mandatory_category", "mandatory_topic", "unknown_topic"]},
    body_example={
        "quiet_hours": _QUIET,
        "channels": {"email": {"enabled": True, "topics": {"newsletter": True}}},
    },
    answer_example=_PREFERENCES,
)
async def put_preferences(call: Call[PreferencesChange, NoQuery]) -> Versioned:
    """Merges: an absent field keeps, null removes. A choice in favour of marketing is no consent to it."""
    kept = await call.app.wishes.choices.put(
        call.tx, call.scope, call.path["id"], wish_of(call.body), version=call.expected_version
    )
    return Versioned(body=_preferences(kept), version=kept.version)


@endpoint(
    "GET",
    "/v1/recipients/{id}/preferences",
    Permission.RECIPIENTS_READ,
    summary="Read a recipient's preferences",
    answer=PreferencesView,
    versioned=True,
    answer_example=_PREFERENCES,
)
async def get_preferences(call: Call[NoBody, NoQuery]) -> Versioned:
    """Only what was chosen. What that means for a message, `POST /v1/explain` says."""
    choices = await call.app.wishes.choices.get(call.tx, call.scope, call.path["id"])
    return Versioned(body=_preferences(choices), version=choices.version)


@endpoint(
    "GET",
    "/v1/settings",
    Permission.SETTINGS_READ,
    summary="Read the tenant's settings",
    answer=SettingsView,
    answer_example=_SETTINGS,
)
async def get_settings(call: Call[NoBody, NoQuery]) -> SettingsView:
    return _settings(await call.app.wishes.policies.get(call.tx, call.scope))


@endpoint(
    "PATCH",
    "/v1/settings",
    Permission.SETTINGS_WRITE,
    summary="Change the tenant's settings",
    body=SettingsChange,
    answer=SettingsView,
    audited=True,
    refusals={422: ["invalid_locale", "invalid_timezone"]},
    body_example={"consent_policy": "implied", "quiet_hours": _QUIET, "timezone": "Europe/Vienna"},
    answer_example=_SETTINGS,
)
async def change_settings(call: Call[SettingsChange, NoQuery]) -> SettingsView:
    """In force at once, also for what is queued already."""
    body = call.body
    channels = body.channels
    wish = PolicyWish(
        consent_policy=body.consent_policy,
        unsubscribe_get=body.unsubscribe_get,
        opt_out_stops_reminders=body.opt_out_stops_reminders,
        quiet_hours=_quiet_wish(body.quiet_hours),
        timezone=body.timezone,
        default_locale=body.default_locale,
        channels={CHANNELS[word]: on for word, on in channels.items()} if isinstance(channels, dict) else channels,
        tracking=body.tracking.tracking() if isinstance(body.tracking, TrackingShape) else body.tracking,
    )
    return _settings(await call.app.wishes.policies.change(call.tx, call.scope, wish))


ENDPOINTS: Final[tuple[Endpoint, ...]] = (put_preferences, get_preferences, get_settings, change_settings)


def wish_of(body: PreferencesChange) -> Wish:
    return Wish(
        quiet_hours=_quiet_wish(body.quiet_hours),
        channels={
            CHANNELS[word]: said
            and ChannelWish(
                enabled=said.enabled, categories=said.categories, topics=said.topics, tracking=said.tracking
            )
            for word, said in body.channels.items()
        },
    )


def _quiet_wish(said: QuietHoursShape | UnsetType | None) -> tuple[str, str] | UnsetType | None:
    return (said.start, said.end) if isinstance(said, QuietHoursShape) else said


def shown_quiet_hours(quiet: QuietHours | None) -> QuietHoursShape | None:
    return QuietHoursShape(start=spell_time(quiet.start), end=spell_time(quiet.end)) if quiet else None


def _preferences(choices: Choices) -> PreferencesView:
    return PreferencesView(
        quiet_hours=shown_quiet_hours(choices.quiet_hours),
        channels={
            channel.word: ChannelView(
                enabled=choice.enabled,
                categories={category.word: on for category, on in sorted(choice.categories.items())},
                topics=dict(sorted(choice.topics.items())),
                tracking=choice.tracking,
            )
            for channel, choice in sorted(choices.channels.items())
        },
        version=choices.version,
        updated_at=choices.updated_at,
    )


def _settings(policy: Policy) -> SettingsView:
    return SettingsView(
        consent_policy=policy.consent_policy,
        unsubscribe_get=policy.unsubscribe_get,
        opt_out_stops_reminders=policy.opt_out_stops_reminders,
        quiet_hours=shown_quiet_hours(policy.quiet_hours),
        timezone=policy.timezone,
        default_locale=policy.default_locale,
        channels={channel.word: on for channel, on in sorted(policy.channels.items())},
        tracking=show_tracking(policy.tracking),
    )
