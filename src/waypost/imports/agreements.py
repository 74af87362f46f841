"""Consent, as a file tells it: one more word in the history. A file never releases what stands against an address."""

from collections.abc import Sequence
from uuid import UUID

from waypost.imports.model import ConsentColumn, ImportedConsent
from waypost.kernel.errors import FieldError
from waypost.kernel.vocabulary import CHANNELS
from waypost.kernel.work import Transaction
from waypost.preferences.history import ConsentHistory, state_of
from waypost.preferences.model import ConsentState, NewConsent
from waypost.preferences.ports import TopicBook
from waypost.recipients.people import refuse_all


class Agreements:
    def __init__(self, *, topics: TopicBook, history: ConsentHistory) -> None:
        self._topics = topics
        self._history = history

    async def check(self, tx: Transaction, columns: Sequence[ConsentColumn], pointer: str) -> None:
        """Refuses topics that are not there."""
        errors: list[FieldError] = []
        for number, column in enumerate(columns):
            if await self._topics.find(tx, column.topic) is None:
                message = "There is no topic of this key."
                errors.append(FieldError(pointer=f"{pointer}/{number}/topic", code="unknown_topic", message=message))
        refuse_all(errors)

    async def record(self, tx: Transaction, said: Sequence[tuple[UUID, ImportedConsent]]) -> None:
        """In the order of the file; what stands already is not said again, so the same file twice says it once."""
        for recipient_id, consent in said:
            column = consent.column
            channel = CHANNELS[column.channel]
            wanted = ConsentState.GRANTED if consent.granted else ConsentState.WITHDRAWN
            standing = await self._history.standing(tx, recipient_id)
            if state_of(standing, channel, column.topic) is wanted:
                continue
            new = NewConsent(
                channel=channel,
                topic=column.topic,
                state=wanted,
                source=column.source,
                text_version=column.text_version,
            )
            await self._history.add(tx, recipient_id, new)
