"""What will be sent: the template's active version or the call's own content, for each channel of each call."""

from collections.abc import Sequence
from datetime import datetime

from waypost.kernel.errors import Refused, refuse
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.notifications.drafts import Chosen, Leg
from waypost.notifications.intent import Intent
from waypost.notifications.model import SubmitCommand
from waypost.notifications.rules import choose_category, choose_timing
from waypost.templates.model import ActiveVersion, Content, Version
from waypost.templates.ports import Renderer
from waypost.templates.rules import refused_below, write_only_names
from waypost.templates.versions import Versions


class ContentChooser:
    def __init__(self, *, versions: Versions, renderer: Renderer) -> None:
        self._versions = versions
        self._renderer = renderer

    async def choose(self, tx: Transaction, intents: Sequence[Intent], now: datetime) -> None:
        """Gives each intent its legs. What several calls share is looked up once."""
        desk = _Desk(tx, self._versions)
        for intent in intents:
            try:
                intent.legs = [
                    await self._leg(desk, intent.command, place, now) for place in range(len(intent.command.channels))
                ]
            except Refused as refusal:
                intent.refuse(refusal)

    async def _leg(self, desk: "_Desk", command: SubmitCommand, place: int, now: datetime) -> Leg:
        channel = command.channels[place]
        if command.content is not None:
            chosen = await self._inline(desk, command, command.content, channel)
        else:
            chosen = await self._published(desk, command, place)
        return Leg(channel=channel, chosen=chosen, timing=choose_timing(command, chosen.category, now))

    async def _inline(self, desk: "_Desk", command: SubmitCommand, content: Content, channel: Channel) -> Chosen:
        version, mentioned = await desk.inline(content, channel)
        category = choose_category(command.category, None)
        return Chosen(version=version, category=category, mentioned=mentioned, secret_names=frozenset())

    async def _published(self, desk: "_Desk", command: SubmitCommand, place: int) -> Chosen:
        found = command.template and await desk.active(command.template, command.channels[place])
        if not found:
            pointer = f"/channels/{place}" if len(command.channels) > 1 else "/template"
            raise refuse(pointer, "unknown_template", "There is no published template with this key and channel.")
        schema = found.version.variables_schema
        if schema is not None:
            faults = await self._renderer.validate(schema, command.variables)
            if faults:
                raise refused_below(
                    "/variables", faults, detail="The variables do not fit the template.", code="invalid_variables"
                )
        return Chosen(
            version=found.version,
            category=choose_category(command.category, found.template.category),
            mentioned=await self._versions.mentioned(desk.tx, found.version),
            secret_names=write_only_names(schema),
        )


class _Desk:
    """What one batch has looked up already."""

    def __init__(self, tx: Transaction, versions: Versions) -> None:
        self.tx = tx
        self._versions = versions
        self._inline: dict[tuple[Content, Channel], tuple[Version, frozenset[str]] | Refused] = {}
        self._active: dict[tuple[str, Channel], ActiveVersion | None] = {}

    async def inline(self, content: Content, channel: Channel) -> tuple[Version, frozenset[str]]:
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

    async def active(self, key: str, channel: Channel) -> ActiveVersion | None:
        if (key, channel) not in self._active:
            self._active[key, channel] = await self._versions.find_active(self.tx, key, channel)
        return self._active[key, channel]
