"""Counters against the messages themselves."""

from collections.abc import Sequence

from waypost.inbox.model import Drift
from waypost.inbox.ports import VerifyStore
from waypost.kernel.clock import Clock
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction


class Verify:
    def __init__(self, *, store: VerifyStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def __call__(self, tx: Transaction, scope: Scope) -> Sequence[Drift]:
        """What is counted wrong. Everything is counted again, message by message."""
        scope.demand(Permission.INBOX_READ)
        return await self._store.drift(tx, self._clock.now())
