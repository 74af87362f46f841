"""When two recipients become one, the stricter of their wishes holds; when one is erased, their wishes go."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from waypost.kernel.work import Transaction
from waypost.preferences.choices import ChoiceDesk
from waypost.preferences.history import ConsentHistory, state_of
from waypost.preferences.model import ChannelChoice, ConsentState, NewConsent
from waypost.preferences.ports import ChoiceStore

_MERGE = "merge"


class JoinPreferences:
    """Implements `recipients.ports.AlsoMerges` and `AlsoForgets`. The history of consent stays: it names nobody."""

    def __init__(self, *, store: ChoiceStore, choices: ChoiceDesk, history: ConsentHistory) -> None:
        self._store = store
        self._choices = choices
        self._history = history

    async def merge(self, tx: Transaction, source: UUID, target: UUID) -> None:
        await self._merge_consents(tx, source, target)
        theirs = await self._store.find(tx, source)
        ours = await self._store.find_for_change(tx, target)
        channels = {
            channel: stricter(ours.channels.get(channel), theirs.channels.get(channel))
            for channel in {*ours.channels, *theirs.channels}
        }
        merged = replace(ours, channels=channels, quiet_hours=ours.quiet_hours or theirs.quiet_hours)
        await self._choices.keep(tx, target, ours, merged)
        await self._store.watch(tx, target, always=merged.quiet_hours is not None)

    async def forget(self, tx: Transaction, ids: Sequence[UUID], hashes: Sequence[str]) -> Mapping[str, int]:
        del hashes  # suppressions stay: they are what keeps the address from being written to again
        return {"preferences": await self._store.delete(tx, ids)}

    async def _merge_consents(self, tx: Transaction, source: UUID, target: UUID) -> None:
        ours = await self._history.standing(tx, target)
        theirs = sorted((await self._history.standing(tx, source)).values(), key=lambda word: word.n)
        for word in theirs:
            mine = state_of(ours, word.channel, word.topic)
            taken_back = word.state is ConsentState.WITHDRAWN and mine is not ConsentState.WITHDRAWN
            given = word.state is ConsentState.GRANTED and mine is ConsentState.NONE
            if taken_back or given:
                new = NewConsent(
                    channel=word.channel,
                    topic=word.topic,
                    state=word.state,
                    source=_MERGE,
                    text_version=word.text_version,
                )
                await self._history.add(tx, target, new)


def stricter(one: ChannelChoice | None, other: ChannelChoice | None) -> ChannelChoice:
    """What either has turned off stays off; what only one has a word about is as that one says."""
    if one is None or other is None:
        return one or other or ChannelChoice()
    switches = [on for on in (one.enabled, other.enabled) if on is not None]
    return ChannelChoice(
        enabled=all(switches) if switches else None,
        categories={
            key: one.categories.get(key, True) and other.categories.get(key, True)
            for key in {*one.categories, *other.categories}
        },
        topics={key: one.topics.get(key, True) and other.topics.get(key, True) for key in {*one.topics, *other.topics}},
        tracking=False if other.tracking is False else other.tracking if one.tracking is None else one.tracking,
    )
