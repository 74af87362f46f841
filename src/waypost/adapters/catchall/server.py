"""Listening for what sandbox tenants send."""

import asyncio
from typing import Final

from waypost.adapters.catchall.intake import Doorkeeper, Intake
from waypost.adapters.catchall.session import Session
from waypost.kernel.errors import Misconfigured

_MOST_CONNECTIONS: Final = 100


class CatchAll:
    def __init__(self, doorkeeper: Doorkeeper) -> None:
        self._doorkeeper = doorkeeper
        self._intake = Intake(doorkeeper)
        self._sessions: set[Session] = set()
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> int:
        """Listens, and answers on which port; 0 takes any free one."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(lambda: Session(self, self._doorkeeper, self._intake), host, port)
        except OSError as error:
            raise Misconfigured(
                f"The catch-all cannot listen on port {port}: {error.strerror}.", code="port"
            ) from error
        return self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stops listening, keeps what has come in whole, and hangs up."""
        if self._server is not None:
            self._server.close()
        await self._intake.close()
        for session in list(self._sessions):
            session.hang_up()

    # What sessions ask (`session.Host`)

    def welcomes(self, session: Session) -> bool:
        self._sessions.add(session)
        return len(self._sessions) <= _MOST_CONNECTIONS

    def forget(self, session: Session) -> None:
        self._sessions.discard(session)
