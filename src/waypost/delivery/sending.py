"""One batch on the wire: what was handed over, what was answered, and what nobody can know."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

import msgspec
import structlog
from msgspec import structs

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.channels.ports import EmailSender, Withdrawn
from waypost.delivery.model import Bounced, Closed
from waypost.delivery.ports import Composed, JournalPage, Senders
from waypost.delivery.rules import consequence_of
from waypost.kernel.address import mask
from waypost.kernel.vault import place

_log: Final = structlog.stdlib.get_logger()


class Letter(msgspec.Struct, frozen=True):
    """A composed message and its place in the batch."""

    place: int
    composed: Composed


MayBegin = Callable[[Letter], bool]


class Unsent:
    """It never went on the wire."""

    __slots__ = ("blamed",)

    def __init__(self, *, blamed: bool) -> None:
        self.blamed = blamed
        """The sender broke down over this batch."""


class _Wire:
    """Implements `channels.ports.Wire`: notes in the journal first, then in memory."""

    __slots__ = ("_letters", "_may_begin", "_page", "going_at", "outcomes", "withdrawn")

    def __init__(self, page: JournalPage, letters: Sequence[Letter], may_begin: MayBegin) -> None:
        self._may_begin = may_begin
        self.withdrawn = False
        self._page = page
        self._letters = letters
        self.going_at = [False] * len(letters)
        self.outcomes: list[Outcome | None] = [None] * len(letters)

    def going(self, index: int) -> None:
        if not self._may_begin(self._letters[index]):
            self.withdrawn = True
            raise Withdrawn
        self._page.going(self._letters[index].place)
        self.going_at[index] = True

    def answered(self, index: int, outcome: Outcome) -> None:
        self._page.answered(self._letters[index].place, outcome)
        self.outcomes[index] = outcome

    def what_is_known(self, doubt: OutcomeReason, *, blamed: bool) -> list[Outcome | Unsent]:
        in_doubt = Outcome(kind=OutcomeKind.IN_DOUBT, reason=doubt)
        return [
            outcome or (in_doubt if went else Unsent(blamed=blamed))
            for outcome, went in zip(self.outcomes, self.going_at, strict=True)
        ]

    def what_was_withdrawn(self, outcomes: Sequence[Outcome]) -> list[Outcome | Unsent]:
        unsent = Unsent(blamed=False)
        return [
            unsent if not went and outcome.kind is OutcomeKind.UNREACHABLE else outcome
            for outcome, went in zip(outcomes, self.going_at, strict=True)
        ]


async def choose_senders(letters: Sequence[Letter], senders: Senders) -> list[tuple[EmailSender, list[Letter]]]:
    """Letters by their way out; tenants that share one share a group."""
    by_way: dict[tuple[str, UUID | None], list[Letter]] = {}
    for letter in letters:
        claimed = letter.composed.claimed
        account_id = None if claimed.way is None else claimed.way.account_id
        by_way.setdefault((claimed.tenant_id, account_id), []).append(letter)
    groups: dict[int, tuple[EmailSender, list[Letter]]] = {}
    for (tenant_id, _), written in by_way.items():
        way = written[0].composed.claimed.way
        sender = await (senders.email(tenant_id) if way is None else senders.by_account(tenant_id, way))
        groups.setdefault(id(sender), (sender, []))[1].extend(written)
    return list(groups.values())


class Cut:
    """Ends the wait for answers, of everything that is on the wire then and of all that would come after."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[Sequence[Outcome]]] = set()
        self._is_made = False

    def make(self) -> None:
        self._is_made = True
        for one in self._waiting:
            one.cancel()

    async def wait_for(self, sending: asyncio.Future[Sequence[Outcome]]) -> None:
        """Until it is done, one way or the other; whoever stops waiting ends it."""
        self._waiting.add(sending)
        if self._is_made:
            sending.cancel()
        try:
            await asyncio.wait({sending})
        finally:
            sending.cancel()
            self._waiting.discard(sending)


async def send_all(
    groups: Sequence[tuple[EmailSender, list[Letter]]], page: JournalPage, cut: Cut, may_begin: MayBegin
) -> list[tuple[Letter, Outcome | Unsent]]:
    """Everything goes out at once; `cut` ends the wait for what has not been answered. `may_begin` is asked before each
    message goes on the wire: a worker that slept over its lease must not go on where it stopped, and what was paused
    meanwhile does not go."""
    if len(groups) == 1:
        return await _send_group(*groups[0], page, cut, may_begin)
    answers = await asyncio.gather(*(_send_group(sender, group, page, cut, may_begin) for sender, group in groups))
    return [pair for answer in answers for pair in answer]


async def _send_group(
    sender: EmailSender, letters: list[Letter], page: JournalPage, cut: Cut, may_begin: MayBegin
) -> list[tuple[Letter, Outcome | Unsent]]:
    wire = _Wire(page, letters, may_begin)
    sending = asyncio.ensure_future(sender.send([letter.composed.email for letter in letters], wire))
    await cut.wait_for(sending)
    known: Sequence[Outcome | Unsent]
    if sending.cancelled():
        known = wire.what_is_known(OutcomeReason.TIMEOUT, blamed=False)
    elif (error := sending.exception()) is not None:
        _log.error("sender broke down", action="sender_failed", kind=type(error).__name__, rows=len(letters))
        known = wire.what_is_known(OutcomeReason.OTHER, blamed=True)
    else:
        known = wire.what_was_withdrawn(sending.result()) if wire.withdrawn else sending.result()
    return list(zip(letters, known, strict=True))


def with_words(letter: Letter, closed: Closed) -> Closed:
    """A refusal's words often repeat the address. An acceptance says nothing beyond its reference."""
    outcome = closed.outcome
    if outcome.kind is OutcomeKind.ACCEPTED:
        return closed
    return structs.replace(closed, sealed_reply=_seal(letter, outcome), bounced=_bounced(letter, closed))


def _seal(letter: Letter, outcome: Outcome) -> bytes | None:
    if outcome.reply is None:
        return None
    claimed = letter.composed.claimed
    words = outcome.reply.encode(errors="replace")
    return letter.composed.key.seal(words, place("reply", claimed.tenant_id, claimed.id))


def _bounced(letter: Letter, closed: Closed) -> Bounced | None:
    claimed, consequence = letter.composed.claimed, consequence_of(closed.outcome, closed.end)
    if consequence is None or claimed.address_id is None:
        return None
    masked = mask(claimed.channel, letter.composed.email.envelope_to[0])
    return Bounced(address_id=claimed.address_id, masked=masked, consequence=consequence)
