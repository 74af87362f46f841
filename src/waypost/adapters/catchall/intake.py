"""Group commit: what arrives while one transaction runs goes into the next one together."""

import asyncio
from collections import deque
from typing import Final, Protocol

from waypost.mailbox.model import Letter
from waypost.mailbox.return_path import ReturnPath

_MOST_LETTERS: Final = 500
_MOST_BYTES: Final = 32 * 1024 * 1024


class Doorkeeper(Protocol):
    """What the server asks of the mailbox (`mailbox.receive.Receive`)."""

    async def admit(self, sender: str) -> ReturnPath | None: ...

    async def keep(self, tenant_id: str, letters: list[Letter]) -> None: ...


class Intake:
    def __init__(self, doorkeeper: Doorkeeper) -> None:
        self._doorkeeper = doorkeeper
        self._waiting: deque[tuple[str, Letter, asyncio.Future[None]]] = deque()
        self._draining: asyncio.Task[None] | None = None

    def put(self, tenant_id: str, letter: Letter) -> asyncio.Future[None]:
        """Done when the letter is kept for good; has an exception where it could not be."""
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((tenant_id, letter, kept))
        if self._draining is None:
            self._draining = asyncio.get_running_loop().create_task(self._drain())
        return kept

    async def close(self) -> None:
        """Waits for what has been put."""
        if self._draining is not None:
            await self._draining

    async def _drain(self) -> None:
        while self._waiting:
            for tenant_id, arrived in self._next_group().items():
                await self._keep(tenant_id, arrived)
        self._draining = None

    def _next_group(self) -> dict[str, list[tuple[Letter, asyncio.Future[None]]]]:
        by_tenant = dict[str, list[tuple[Letter, asyncio.Future[None]]]]()
        count = size = 0
        while self._waiting and count < _MOST_LETTERS and size < _MOST_BYTES:
            tenant_id, letter, kept = self._waiting.popleft()
            by_tenant.setdefault(tenant_id, []).append((letter, kept))
            count, size = count + 1, size + len(letter.data)
        return by_tenant

    async def _keep(self, tenant_id: str, arrived: list[tuple[Letter, asyncio.Future[None]]]) -> None:
        failure: Exception | None = None
        try:
            await self._doorkeeper.keep(tenant_id, [letter for letter, _ in arrived])
        except Exception as error:
            failure = error
        for _, kept in arrived:
            if kept.done():
                continue
            if failure is None:
                kept.set_result(None)
            else:
                kept.set_exception(failure)
