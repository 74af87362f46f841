"""Suppressing an address, releasing it, and listing what is in force."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from waypost.kernel.address import PHONE_CHANNELS
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, refuse
from waypost.kernel.ids import mint
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.model import PHONE
from waypost.suppression.model import EVERY, NewSuppression, Releaser, SealedAddress, Suppression, SuppressionFilter
from waypost.suppression.ports import SuppressionStore
from waypost.suppression.rules import may_release

_LISTING: Final = "suppressions"


class Suppressions:
    def __init__(self, *, store: SuppressionStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def suppress(self, tx: Transaction, new: NewSuppression) -> Suppression:
        """News never makes a standing suppression milder; the answer is what is in force now."""
        if new.expires_at is not None and new.expires_at <= self._clock.now():
            raise refuse("/expires_at", "in_the_past", "Must lie in the future.")
        return await self._store.put(tx, mint(self._clock), new)

    async def release(self, tx: Transaction, suppression_id: UUID, *, releaser: Releaser, by: str) -> Suppression:
        """Releasing twice is as good as once."""
        found = await self._store.find(tx, suppression_id)
        if found is None:
            raise NotFound("There is no such suppression.")
        if not may_release(found.reason, releaser):
            raise Conflict("An opt-out is taken back by the recipient alone.", code="own_opt_out")
        if found.released_at is not None:
            return found
        return await self._store.release(tx, suppression_id, by) or found

    async def opt_out(self, tx: Transaction, news: Sequence[NewSuppression]) -> None:
        """The recipient's own word about several addresses; repeating it changes nothing."""
        for new in sorted(news, key=lambda each: each.hash):
            await self._store.put(tx, mint(self._clock), new)

    async def opt_in(self, tx: Transaction, channel: Channel, hashes: Sequence[str], topic: str, by: str) -> None:
        """The recipient takes their own opt-out back; what others have against the address stays."""
        if hashes:
            await self._store.release_opt_out(tx, channel, hashes, topic, by)

    async def reach(
        self, tx: Transaction, recipient_id: UUID, channel: Channel, address_id: UUID | None = None
    ) -> Sequence[SealedAddress]:
        kept_under = PHONE if channel in PHONE_CHANNELS else channel
        return await self._store.reach(tx, recipient_id, kept_under, address_id)

    async def get(self, tx: Transaction, suppression_id: UUID) -> Suppression:
        found = await self._store.find(tx, suppression_id)
        if found is None:
            raise NotFound("There is no such suppression.")
        return found

    async def page(
        self, tx: Transaction, cursor: str | None, limit: int | None, wanted: SuppressionFilter = EVERY
    ) -> Page[Suppression]:
        size = read_limit(limit)
        found = await self._store.page(tx, decode_id_cursor(_LISTING, cursor), size + 1, wanted)
        return page_of(found, size, lambda last: encode_id_cursor(_LISTING, last.id))

    async def of_recipient(self, tx: Transaction, external_id: str) -> Sequence[Suppression]:
        return await self._store.of_recipient(tx, external_id)
