"""What will be sent: the template's active version or the call's own content, for each channel of each call."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from waypost.kernel.errors import Refused, refuse
from waypost.kernel.jsontypes import JsonObject
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.notifications.again import SendAgain
from waypost.notifications.drafts import Chosen, Leg
from waypost.notifications.intent import Intent, going
from waypost.notifications.model import SubmitCommand
from waypost.notifications.rules import choose_category, choose_timing
from waypost.preferences.model import Topic
from waypost.preferences.ports import TopicBook
from waypost.preferences.rules import is_topic_key
from waypost.templates.model import Content, InlineSource, Sendable, Template
from waypost.templates.ports import Renderer
from waypost.templates.rules import refused_below, write_only_names
from waypost.templates.versions import Versions


class ContentChooser:
    def __init__(self, *, versions: Versions, renderer: Renderer, topics: TopicBook) -> None:
        self._versions = versions
        self._topics = topics
        self._renderer = renderer

    async def choose(self, tx: Transaction, intents: Sequence[Intent], now: datetime) -> None:
        """Gives each intent its legs: one and the same to neighbours that ask for the same. What several calls share is
        looked up once."""
        desk = _Desk(tx, self._versions, self._topics)
        for intent in intents:
            if isinstance(intent.command, SendAgain):
                intent.legs = (_same_leg(intent.command, now),)
                continue
            if (known := desk.leg_like(intent.command)) is not None:
                intent.legs = (known,)
                continue
            try:
                intent.legs = [
                    await self._leg(desk, intent.command, place, now) for place in range(len(intent.command.channels))
                ]
            except Refused as refusal:
                intent.refuse(refusal)
        await self._check_variables(going(intents))

    async def _check_variables(self, intents: Sequence[Intent]) -> None:
        """Against the schema of what each is sent; of one schema all are asked about at once."""
        asked: dict[UUID, tuple[JsonObject, list[Intent]]] = {}
        for intent in intents:
            for leg in intent.legs:
                if (schema := leg.chosen.version.variables_schema) is not None:
                    asked.setdefault(leg.chosen.version.id, (schema, []))[1].append(intent)
        for schema, those in asked.values():
            judged = await self._renderer.validate_many(schema, [intent.command.variables for intent in those])
            for intent, faults in zip(those, judged, strict=True):
                if faults:
                    intent.refuse(
                        refused_below(
                            "/variables",
                            faults,
                            detail="The variables do not fit the template.",
                            code="invalid_variables",
                        )
                    )

    async def _leg(self, desk: "_Desk", command: SubmitCommand, place: int, now: datetime) -> Leg:
        channel = command.channels[place]
        if command.own_content is not None:
            chosen = await self._inline(desk, command, command.own_content, channel)
        else:
            chosen = await self._published(desk, command, place)
        timing = choose_timing(command, chosen.category, now)
        leg = Leg(channel=channel, chosen=chosen, timing=timing, priority=command.priority)
        desk.last = (command, leg)
        return leg

    async def _inline(
        self, desk: "_Desk", command: SubmitCommand, content: Content | InlineSource, channel: Channel
    ) -> Chosen:
        version = await desk.inline(content, channel)
        topic = await desk.topic(command.topic)
        return Chosen(
            version=version,
            category=choose_category(command.category, topic.category if topic else None),
            topic=command.topic,
            secret_names=command.hidden,
        )

    async def _published(self, desk: "_Desk", command: SubmitCommand, place: int) -> Chosen:
        found = command.template and await desk.active(command.template, command.channels[place])
        if not found or found.template is None:
            pointer = f"/channels/{place}" if len(command.channels) > 1 else "/template"
            raise refuse(pointer, "unknown_template", "There is no published template with this key and channel.")
        topic = await self._topic_of(desk, command, found.template)
        return Chosen(
            version=found,
            category=choose_category(command.category, found.template.category),
            topic=topic,
            secret_names=write_only_names(found.variables_schema) | command.hidden,
        )

    async def _topic_of(self, desk: "_Desk", command: SubmitCommand, template: Template) -> str | None:
        """The template's topic wins; a call may name one where the template has none."""
        if command.topic is None or command.topic == template.topic:
            return template.topic
        if template.topic is not None:
            message = "The template belongs to another topic, and that one counts. Leave `topic` out."
            raise refuse("/topic", "topic_mismatch", message)
        topic = await desk.topic(command.topic)
        if topic is not None and topic.category is not template.category:
            message = f"This topic belongs to {topic.category.word}, the template to {template.category.word}."
            raise refuse("/topic", "topic_mismatch", message)
        return command.topic


def _same_leg(command: SendAgain, now: datetime) -> Leg:
    chosen = command.chosen
    timing = choose_timing(command, chosen.category, now)
    return Leg(channel=command.channels[0], chosen=chosen, timing=timing, priority=command.priority)


class _Desk:
    """What one batch has looked up already."""

    def __init__(self, tx: Transaction, versions: Versions, topics: TopicBook) -> None:
        self.tx = tx
        self._versions = versions
        self._topics = topics
        self._known_topics: dict[str, Topic | None] = {}
        self._inline: dict[tuple[Content | InlineSource, Channel], Sendable | Refused] = {}
        self._active: dict[tuple[str, Channel], Sendable | None] = {}
        self.last: tuple[SubmitCommand, Leg] | None = None

    def leg_like(self, command: SubmitCommand) -> Leg | None:
        """The leg of the call before, where this one has a single channel too and asks for the same."""
        if self.last is None or len(command.channels) > 1:
            return None
        before, leg = self.last
        same = (
            before.channels == command.channels
            and before.content == command.content
            and before.inline == command.inline
            and before.template == command.template
            and before.category is command.category
            and before.topic == command.topic
            and before.hidden == command.hidden
            and before.priority is command.priority
            and before.send_at == command.send_at
            and before.expires_at == command.expires_at
        )
        return leg if same else None

    async def inline(self, content: Content | InlineSource, channel: Channel) -> Sendable:
        known = self._inline.get((content, channel))
        if known is None:
            try:
                known = await self._versions.store_inline(self.tx, content, pointer="/content", channel=channel)
            except Refused as refusal:
                known = refusal
            self._inline[content, channel] = known
        if isinstance(known, Refused):
            raise known
        return known

    async def topic(self, key: str | None) -> Topic | None:
        if key is None:
            return None
        if key not in self._known_topics:
            self._known_topics[key] = await self._topics.find(self.tx, key) if is_topic_key(key) else None
        found = self._known_topics[key]
        if found is None:
            raise refuse("/topic", "unknown_topic", "There is no topic of this key.")
        return found

    async def active(self, key: str, channel: Channel) -> Sendable | None:
        if (key, channel) not in self._active:
            self._active[key, channel] = await self._versions.find_active(self.tx, key, channel)
        return self._active[key, channel]
