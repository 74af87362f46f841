"""How the whole installation stands: what waits, who works, what lies where nothing should."""

from typing import Protocol

from waypost.delivery.model import Standing
from waypost.delivery.ports import Telemetry


class StandingStore(Protocol):
    async def standing(self) -> Standing: ...


class TellStanding:
    """A chore: looks, and tells the telemetry."""

    def __init__(self, store: StandingStore, telemetry: Telemetry) -> None:
        self._store = store
        self._telemetry = telemetry

    async def __call__(self) -> None:
        self._telemetry.stands(await self._store.standing())
