"""A recipient's own preferences, by their token."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.preferences import PreferencesChange, QuietHoursShape, shown_quiet_hours, wish_of
from waypost.api.shapes import NoBody, NoQuery, Shape
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Channel
from waypost.preferences.model import Choices, Policy, Topic
from waypost.preferences.rules import TopicFacts, objection

_SHOWN: Final = (Channel.EMAIL, Channel.INAPP)
"""Asked about always; others where somebody has said something about them."""
_OWN: Final = frozenset(
    {
        Permission.RECIPIENTS_READ,
        Permission.RECIPIENTS_WRITE,
        Permission.TOPICS_READ,
        Permission.SETTINGS_READ,
    }
)


class MyTopicView(Shape):
    key: str
    title: str
    description: str | None
    mandatory: Annotated[bool, Meta(description="It cannot be turned off.")]
    channels: Annotated[dict[str, bool], Meta(description="Whether it comes, by channel: as chosen, else by default.")]


class MyPreferencesView(Shape):
    quiet_hours: QuietHoursShape | None
    topics: list[MyTopicView]


_PREFERENCES: Final[dict[str, object]] = {
    "quiet_hours": None,
    "topics": [
        {
            "key": "newsletter",
            "title": "Newsletter",
            "description": None,
            "mandatory": False,
            "channels": {"email": False, "inapp": True},
        }
    ],
}


@endpoint(
    "GET",
    "/v1/me/preferences",
    None,
    summary="Read my preferences",
    answer=MyPreferencesView,
    caller="recipient",
    answer_example=_PREFERENCES,
)
async def get_my_preferences(call: Call[NoBody, NoQuery]) -> MyPreferencesView:
    """What comes on which channel, topic by topic."""
    return await _shown(call, await call.app.wishes.choices.get(call.tx, _own(call), call.me.external_id))


@endpoint(
    "PUT",
    "/v1/me/preferences",
    None,
    summary="Change my preferences",
    body=PreferencesChange,
    answer=MyPreferencesView,
    caller="recipient",
    refusals={422: ["mandatory_category", "mandatory_topic", "unknown_topic"]},
    body_example={"channels": {"email": {"topics": {"newsletter": False}}}},
    answer_example=_PREFERENCES,
)
async def put_my_preferences(call: Call[PreferencesChange, NoQuery]) -> MyPreferencesView:
    """Merges: an absent field keeps, null removes. A choice in favour of marketing is no consent to it."""
    kept = await call.app.wishes.choices.put(call.tx, _own(call), call.me.external_id, wish_of(call.body))
    return await _shown(call, kept)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (get_my_preferences, put_my_preferences)


def _own(call: Call[Any, Any]) -> Scope:
    """About themselves, recipients may do what the tenant's server may."""
    return replace(call.scope, permissions=_OWN)


async def _shown(call: Call[Any, Any], choices: Choices) -> MyPreferencesView:
    scope = _own(call)
    topics = await call.app.wishes.topics.all(call.tx, scope)
    policy = await call.app.wishes.policies.get(call.tx, scope)
    return MyPreferencesView(
        quiet_hours=shown_quiet_hours(choices.quiet_hours),
        topics=[_topic(topic, choices, policy, _channels(topics, choices)) for topic in topics],
    )


def _channels(topics: Sequence[Topic], choices: Choices) -> list[Channel]:
    named = {channel for topic in topics for channel in topic.channels}
    return sorted({*_SHOWN, *named, *choices.channels})


def _topic(topic: Topic, choices: Choices, policy: Policy, channels: Sequence[Channel]) -> MyTopicView:
    return MyTopicView(
        key=topic.key,
        title=topic.title,
        description=topic.description,
        mandatory=topic.mandatory,
        channels={channel.word: _is_on(topic, choices, policy, channel) for channel in channels},
    )


def _is_on(topic: Topic, choices: Choices, policy: Policy, channel: Channel) -> bool:
    facts = TopicFacts(key=topic.key, mandatory=topic.mandatory, on_by_default=topic.default_on(channel))
    return objection(policy, channel, topic.category, facts, choices.channels.get(channel)) is None
