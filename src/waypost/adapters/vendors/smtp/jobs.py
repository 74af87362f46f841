"""Messages on their way: what is waiting, what it became, and the form it has on the wire."""

import asyncio
from collections.abc import Sequence

from waypost.channels.model import Outcome, OutgoingEmail
from waypost.channels.ports import Wire


class Batch:
    """The messages of one call."""

    __slots__ = ("_left", "_note", "_outcomes", "abandoned", "done", "going")

    def __init__(self, messages: Sequence[OutgoingEmail], wire: Wire, done: asyncio.Future[None]) -> None:
        self._left = len(messages)
        self._outcomes: list[Outcome | None] = [None] * len(messages)
        self.going, self._note = wire.going, wire.answered
        self.done = done
        self.abandoned = False
        """Nobody waits for it any more: what has not begun must not begin."""

    def answered(self, index: int, outcome: Outcome) -> None:
        self._outcomes[index] = outcome
        self._left -= 1
        try:
            self._note(index, outcome)
        except Exception as error:
            context = {"message": "An answer could not be noted", "exception": error}
            self.done.get_loop().call_exception_handler(context)
        if not self._left and not self.done.done():
            self.done.set_result(None)

    def outcomes(self) -> list[Outcome]:
        return [outcome for outcome in self._outcomes if outcome is not None]


class Job:
    """One message of a batch."""

    __slots__ = ("batch", "email", "index", "note", "started", "tries")

    def __init__(self, batch: Batch, index: int, email: OutgoingEmail) -> None:
        self.batch = batch
        self.index = index
        self.email = email
        self.tries = 0
        """Connections that were lost before the content began."""
        self.started = 0.0
        self.note = ""
        """What the server said of copies."""

    def finish(self, outcome: Outcome) -> None:
        self.batch.answered(self.index, outcome)


def wire_form(data: bytes) -> bytes:
    """Dot-stuffed, ended by CRLF, without the final dot. A bare CR or LF becomes a whole line end: sent as it is, it
    could end the message for one server and not for the next."""
    if not data:
        return data
    # Taking the lines apart and joining them costs half of looking whether that is needed.
    data = b"\r\n".join((*data.splitlines(), b""))
    data = data.replace(b"\r\n.", b"\r\n..")
    return b"." + data if data[:1] == b"." else data
