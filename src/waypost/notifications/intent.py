"""One call on its way from command to stored notifications, together with the others of its batch."""

from collections.abc import Iterable, Sequence

import msgspec

from waypost.kernel.attachments import FileRef
from waypost.kernel.errors import Refused
from waypost.notifications.drafts import Draft, Leg, Words
from waypost.notifications.model import Accepted, Request, SubmitCommand
from waypost.recipients.model import Resolved


class Intent(msgspec.Struct, gc=False):
    """Each step fills in its part, or refuses the call: then the steps after it pass it by."""

    command: SubmitCommand
    request: Request
    legs: Sequence[Leg] = ()
    people: Sequence[Sequence[Resolved]] = ()
    """Each person as seen from each leg: with the address that its channel uses."""
    words: Sequence[Sequence[Words]] = ()
    """What each person is told on each leg."""
    files: tuple[FileRef, ...] = ()
    """What goes along with its emails."""
    drafts: list[Draft] = []
    answer: Accepted | Refused | None = None

    def refuse(self, refusal: Refused) -> None:
        self.answer = refusal


def going(intents: Iterable[Intent]) -> list[Intent]:
    """Those that nobody has refused yet."""
    return [intent for intent in intents if intent.answer is None]
