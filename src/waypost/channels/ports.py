"""What a sender is, to those who call it."""

from collections.abc import Sequence
from typing import Protocol

from waypost.channels.model import Outcome, OutgoingEmail


class Withdrawn(Exception):
    """The message may not go any more, and nothing else of its call may begin: others have taken it up by now."""


class Wire(Protocol):
    """Told by the sender as it works, so that a crash leaves in doubt only what was really on the wire."""

    def going(self, index: int) -> None:
        """Called just before the first byte of the message's content is written to the socket. Raises `Withdrawn`."""
        ...

    def answered(self, index: int, outcome: Outcome) -> None:
        """Called with the final word on the message at `index`, before anything else happens to it."""
        ...


class EmailSender(Protocol):
    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        """One outcome per message, in order. Never raises for what a server does. May be called concurrently."""
        ...

    async def close(self) -> None: ...
