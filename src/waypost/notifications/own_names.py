"""Nobody sends as somebody else: what a call says in `from` must be a domain that the tenant has proved.

Asked on every way in, because every way in is a submit; and only of calls that name a sender."""

from collections.abc import Sequence

from waypost.domains.rules import may_send_as, not_verified
from waypost.domains.standing import DomainBook
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.notifications.intent import Intent


class OwnNames:
    """`default_address` is the operator's, which every tenant may use."""

    def __init__(self, book: DomainBook, default_address: str) -> None:
        self._book = book
        self._default_address = default_address

    async def check(self, tx: Transaction, intents: Sequence[Intent]) -> None:
        """Refuses each call that would speak as a domain the tenant has not proved."""
        named = [one for one in intents if one.command.sender is not None and Channel.EMAIL in one.command.channels]
        if not named:
            return
        standing = await self._book.of(tx)
        for intent in named:
            if not may_send_as(intent.command.sender, standing, self._default_address):
                intent.refuse(not_verified("/from"))
