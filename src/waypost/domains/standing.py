"""What tenants may use, remembered for a few seconds: asked by every message, so never by a round trip each."""

from typing import Final

from waypost.domains.model import Standing
from waypost.domains.ports import StandingStore
from waypost.kernel.clock import Clock
from waypost.kernel.work import Transaction
from waypost.tenants.short_memory import ShortMemory

REMEMBERED_SECONDS: Final = 5.0
"""How long a proof that was lost in another process may take to be felt."""
_MOST_REMEMBERED: Final = 10_000


class DomainBook:
    def __init__(self, store: StandingStore, clock: Clock) -> None:
        self._store = store
        self._known = ShortMemory[str, tuple[str, Standing]](clock, seconds=REMEMBERED_SECONDS, most=_MOST_REMEMBERED)

    async def of(self, tx: Transaction) -> Standing:
        """Of the transaction's tenant."""
        known = self._known.recall(tx.tenant_id)
        if known is not None:
            return known[1]
        standing = await self._store.standing(tx)
        self._known.keep(tx.tenant_id, (tx.tenant_id, standing))
        return standing

    def forget(self, tenant_id: str) -> None:
        """Something changed here: feel it at once."""
        self._known.forget(lambda kept: kept[0] == tenant_id)
