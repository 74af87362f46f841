"""A vendor that remembers what it was given, for tests of the whole road."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from waypost.channels.model import Outcome, OutcomeKind, OutgoingEmail
from waypost.channels.ports import Wire
from waypost.delivery.model import State

ACCEPTED = Outcome(kind=OutcomeKind.ACCEPTED, code=250, latency_ms=3)


class Vendor:
    """Accepts everything and remembers how often it got each."""

    def __init__(self) -> None:
        self.taken: dict[UUID, int] = {}
        self.batches: list[int] = []

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        self.batches.append(len(messages))
        for index, message in enumerate(messages):
            wire.going(index)
            await self.take(UUID(bytes=message.data))
            wire.answered(index, ACCEPTED)
        return [ACCEPTED] * len(messages)

    async def take(self, notification_id: UUID) -> None:
        self.taken[notification_id] = self.taken.get(notification_id, 0) + 1

    async def close(self) -> None: ...


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


class StuckVendor(Vendor):
    """Takes messages and answers only the first `answers` of them."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self.answers = answers
        self.stuck = asyncio.Event()

    async def take(self, notification_id: UUID) -> None:
        await super().take(notification_id)
        if len(self.taken) > self.answers:
            self.stuck.set()
            await asyncio.Event().wait()


async def all_in(office: Any, state: State, ids: Sequence[UUID], tenant: str = "acme") -> bool:
    return set((await office.states(ids, tenant)).values()) == {state}
