"""The history of consent: one more word, and what was said so far."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint
from waypost.kernel.paging import Page, decode_number_cursor, encode_cursor, page_of, read_limit
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.preferences.consent_chain import first_fault, head_of, link
from waypost.preferences.model import ALL_MARKETING, Consent, ConsentState, NewConsent
from waypost.preferences.ports import ConsentStore

_LISTING: Final = "consents"


class ConsentHistory:
    def __init__(self, *, store: ConsentStore, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._keyring = keyring
        self._clock = clock

    async def add(self, tx: Transaction, recipient_id: UUID, new: NewConsent) -> Consent:
        await self._store.lock(tx, recipient_id)
        key = await self._keyring.of(tx)
        last = await self._store.last(tx, recipient_id)
        now = self._clock.now()
        row = link(key.sign, tx.tenant_id, recipient_id, last, mint(self._clock), new, now)
        await self._store.add(tx, recipient_id, row, head_of(key.sign, tx.tenant_id, recipient_id, row))
        return row

    async def page(self, tx: Transaction, recipient_id: UUID, cursor: str | None, limit: int | None) -> Page[Consent]:
        """Newest first."""
        size, before = read_limit(limit), decode_number_cursor(_LISTING, cursor)
        found = await self._store.page(tx, recipient_id, before, size + 1)
        return page_of(found, size, lambda last: encode_cursor(_LISTING, str(last.n)))

    async def first_fault(self, tx: Transaction, recipient_id: UUID) -> int | None:
        """The number of the first row that is not what was written; None where the whole history is."""
        rows, head = await self._store.whole(tx, recipient_id)
        key = await self._keyring.of(tx)
        return first_fault(key.sign, tx.tenant_id, recipient_id, rows, head)

    async def standing(self, tx: Transaction, recipient_id: UUID) -> Mapping[tuple[int, str], Consent]:
        """The last word about each (channel, topic)."""
        return await self._store.standing(tx, recipient_id)


def state_of(standing: Mapping[tuple[int, str], Consent], channel: Channel, topic: str) -> ConsentState:
    """The last word about a topic, or about all marketing: whichever came later."""
    found = last_word(standing, channel, topic)
    return found.state if found else ConsentState.NONE


def last_word(standing: Mapping[tuple[int, str], Consent], channel: Channel, topic: str) -> Consent | None:
    words: Sequence[Consent] = [
        word for about in {topic, ALL_MARKETING} if (word := standing.get((channel, about))) is not None
    ]
    return max(words, key=lambda word: word.n) if words else None
