"""How far the relay is behind, for the metrics."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Protocol

from waypost.kernel.clock import Clock
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.work import Transaction, Work
from waypost.outbox.model import WEBHOOKS
from waypost.outbox.ports import RelayTelemetry

_CALLS: Final = -1
_WORDS: Final = {_CALLS: "calls", WEBHOOKS: "webhooks", 1: "nats", 2: "redis"}


class StandingStore(Protocol):
    async def standing(self, tx: Transaction, now: datetime) -> Mapping[int, tuple[int, float]]:
        """By reader: what waits, and how long the oldest has; -1 for endpoints that are due. Looks across tenants."""
        ...


class TellRelayStanding:
    """A chore: looks, and tells the telemetry."""

    def __init__(self, *, work: Work, store: StandingStore, telemetry: RelayTelemetry, clock: Clock) -> None:
        self._work = work
        self._store = store
        self._telemetry = telemetry
        self._clock = clock

    async def __call__(self) -> None:
        async with self._work.begin(PLATFORM) as tx:
            found = await self._store.standing(tx, self._clock.now())
        self._telemetry.behind({_WORDS.get(reader, str(reader)): found[reader] for reader in found})
