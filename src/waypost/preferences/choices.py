"""What a recipient has chosen: read with the defaults beside it, and changed field by field."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from msgspec import UNSET, UnsetType

from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, NotFound, PreconditionFailed, Refused
from waypost.kernel.ids import show
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.preferences.model import ALL_MARKETING, ChannelChoice, Choices, Someone
from waypost.preferences.ports import ChoiceStore, TopicStore
from waypost.preferences.rules import ChannelWish, check_wish, merge_choice, read_quiet_hours
from waypost.tenants.audit import Audit


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What a caller says. UNSET keeps what is there, None removes it."""

    quiet_hours: tuple[str, str] | UnsetType | None = UNSET
    channels: Mapping[Channel, ChannelWish | None] = field(default_factory=dict[Channel, "ChannelWish | None"])


class ChoiceDesk:
    def __init__(self, *, store: ChoiceStore, topics: TopicStore, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._topics = topics
        self._audit = audit
        self._clock = clock

    async def get(self, tx: Transaction, scope: Scope, external_id: str) -> Choices:
        scope.demand(Permission.RECIPIENTS_READ)
        return await self._store.find(tx, (await self.someone(tx, external_id)).id)

    async def put(
        self, tx: Transaction, scope: Scope, external_id: str, wish: Wish, *, version: int | None = None
    ) -> Choices:
        scope.demand(Permission.RECIPIENTS_WRITE)
        person = await self.someone(tx, external_id)
        await self._check(tx, wish)
        standing = await self._store.find_for_change(tx, person.id)
        if version is not None and version != standing.version:
            raise PreconditionFailed("The preferences were changed meanwhile. Read them again.")
        quiet = standing.quiet_hours
        if wish.quiet_hours is None:
            quiet = None
        elif not isinstance(wish.quiet_hours, UnsetType):
            quiet, errors = read_quiet_hours(*wish.quiet_hours, "/quiet_hours")
            _refuse(errors)
        channels = dict(standing.channels)
        for channel, said in wish.channels.items():
            channels[channel] = merge_choice(channels.get(channel), said)
        changed = replace(standing, channels=_filled(channels), quiet_hours=quiet)
        kept = await self.keep(tx, person.id, standing, changed)
        if kept is not standing:
            detail = {"version": kept.version}
            await self._audit.record(tx, scope, "preferences.changed", show("rcp", person.id), dict(detail))
        return kept

    async def turn_off(self, tx: Transaction, recipient_id: UUID, channel: Channel, topic: str) -> None:
        """What an unsubscribe does to the choices. An end to all marketing ends every choice in favour of it too."""
        standing = await self._store.find_for_change(tx, recipient_id)
        have = standing.channels.get(channel, ChannelChoice())
        if topic == ALL_MARKETING:
            marketing = {one.key for one in await self._topics.all(tx) if one.category is Category.MARKETING}
            topics = {key: on for key, on in have.topics.items() if key not in marketing or not on}
            choice = replace(have, categories={**have.categories, Category.MARKETING: False}, topics=topics)
        else:
            choice = replace(have, topics={**have.topics, topic: False})
        await self.keep(tx, recipient_id, standing, _with(standing, channel, choice))

    async def turn_on(self, tx: Transaction, recipient_id: UUID, channel: Channel, topic: str) -> None:
        """What a consent does to the choices."""
        standing = await self._store.find_for_change(tx, recipient_id)
        have = standing.channels.get(channel, ChannelChoice())
        if topic == ALL_MARKETING:
            categories = {
                category: on for category, on in have.categories.items() if category is not Category.MARKETING
            }
            choice = replace(have, categories=categories)
        else:
            choice = replace(have, topics={**have.topics, topic: True})
        if choice.enabled is False:
            choice = replace(choice, enabled=None)
        await self.keep(tx, recipient_id, standing, _with(standing, channel, choice))

    async def keep(self, tx: Transaction, recipient_id: UUID, standing: Choices, changed: Choices) -> Choices:
        """Stores what differs, and has the gate look again at what is queued."""
        if replace(changed, channels=_filled(changed.channels)) == replace(
            standing, channels=_filled(standing.channels)
        ):
            return standing
        changed = replace(changed, version=standing.version + 1, updated_at=self._clock.now())
        await self._store.put(tx, recipient_id, changed)
        await self._store.watch(tx, recipient_id, always=changed.quiet_hours is not None)
        return changed

    async def someone(self, tx: Transaction, external_id: str) -> Someone:
        person = await self._store.someone(tx, external_id)
        if person is None or person.erased:
            raise NotFound("There is no recipient of this id.")
        return person

    async def _check(self, tx: Transaction, wish: Wish) -> None:
        topics = {topic.key: topic for topic in await self._topics.all(tx)}
        _refuse(
            [
                error
                for channel, said in wish.channels.items()
                if said is not None
                for error in check_wish(said, topics, f"/channels/{channel.word}")
            ]
        )


def _with(choices: Choices, channel: Channel, choice: ChannelChoice) -> Choices:
    return replace(choices, channels=_filled({**choices.channels, channel: choice}))


def _filled(channels: Mapping[Channel, ChannelChoice]) -> dict[Channel, ChannelChoice]:
    return {channel: choice for channel, choice in channels.items() if not choice.is_blank}


def _refuse(errors: list[FieldError]) -> None:
    if errors:
        raise Refused(errors[0].message, code=errors[0].code, errors=errors)
