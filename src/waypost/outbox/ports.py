"""How news gets into the outbox."""

from collections.abc import Sequence
from typing import Protocol

from waypost.kernel.work import Transaction
from waypost.outbox.model import News


class Outbox(Protocol):
    async def append(self, tx: Transaction, news: Sequence[News]) -> None: ...
