"""Unsubscribing, in one transaction: suppression, choice, consent, what is queued, and sequences under way."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from waypost.delivery.ports import DeliveryStore
from waypost.kernel.address import mask
from waypost.kernel.vault import Keyring, SealBroken, TenantKey, place
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.notifications.ports import MarketingSequences
from waypost.preferences.choices import ChoiceDesk
from waypost.preferences.history import ConsentHistory
from waypost.preferences.model import ALL_MARKETING, Consent, ConsentState, NewConsent, Someone
from waypost.preferences.ports import PolicyStore
from waypost.suppression.model import NewSuppression, SealedAddress, SuppressionReason
from waypost.suppression.suppress import Suppressions

_UNREADABLE: Final = "******"


class Unsubscribe:
    def __init__(
        self,
        *,
        choices: ChoiceDesk,
        history: ConsentHistory,
        policies: PolicyStore,
        suppressions: Suppressions,
        delivery: DeliveryStore,
        sequences: Sequence[MarketingSequences] = (),
        keyring: Keyring,
    ) -> None:
        self._choices = choices
        self._history = history
        self._policies = policies
        self._suppressions = suppressions
        self._delivery = delivery
        self._sequences = sequences
        self._keyring = keyring

    async def __call__(
        self,
        tx: Transaction,
        person: Someone,
        *,
        channel: Channel,
        topic: str,
        source: str,
        address_id: UUID | None = None,
        text_version: str | None = None,
    ) -> Consent | None:
        """Doing it again is as good as once: None where nothing was left to withdraw.

        Of an erased person only the address is left to stop, by its hash."""
        await self._suppress(tx, person, channel, topic, source, address_id)
        if person.erased:
            return None
        await self._choices.turn_off(tx, person.id, channel, topic)
        word = await self._withdraw(tx, person.id, channel, topic, source, text_version)
        await self._cancel(tx, person.id, channel, topic)
        for one in self._sequences:
            await one.stop_marketing(tx, person.id, channel, topic or None)
        return word

    async def _suppress(
        self, tx: Transaction, person: Someone, channel: Channel, topic: str, source: str, address_id: UUID | None
    ) -> None:
        key = await self._keyring.of(tx)
        reach = await self._suppressions.reach(tx, person.id, channel, address_id)
        news = {
            address.hash: NewSuppression(
                channel=channel,
                hash=address.hash,
                masked=_masked(tx.tenant_id, key, channel, address),
                reason=SuppressionReason.OPT_OUT,
                source=source,
                topic=topic,
            )
            for address in reach
        }
        await self._suppressions.opt_out(tx, list(news.values()))

    async def _withdraw(
        self,
        tx: Transaction,
        recipient_id: UUID,
        channel: Channel,
        topic: str,
        source: str,
        text_version: str | None,
    ) -> Consent | None:
        standing = await self._history.standing(tx, recipient_id)
        words = [
            word
            for (on, about), word in standing.items()
            if on == channel and (topic == ALL_MARKETING or about in (topic, ALL_MARKETING))
        ]
        last = max(words, key=lambda word: word.n, default=None)
        if last is not None and last.state is ConsentState.WITHDRAWN and last.topic in (topic, ALL_MARKETING):
            return None
        new = NewConsent(
            channel=channel, topic=topic, state=ConsentState.WITHDRAWN, source=source, text_version=text_version
        )
        return await self._history.add(tx, recipient_id, new)

    async def _cancel(self, tx: Transaction, recipient_id: UUID, channel: Channel, topic: str) -> None:
        categories = [Category.MARKETING]
        if (await self._policies.policy(tx)).opt_out_stops_reminders:
            categories.append(Category.REMINDER)
        waiting = await self._delivery.waiting_for(tx, recipient_id, channel, categories, topic or None)
        if waiting:
            await self._delivery.cancel(tx, waiting)


def _masked(tenant_id: str, key: TenantKey, channel: Channel, address: SealedAddress) -> str:
    """Erased and revoked addresses cannot be read any more; their hashes still stop what they stop."""
    if address.data_key is None or not address.ciphertext:
        return _UNREADABLE
    try:
        data_key = key.unwrap(address.data_key, place("data_key", tenant_id, address.recipient_id))
        return mask(channel, data_key.open(address.ciphertext, place("address", tenant_id, address.id)).decode())
    except SealBroken:
        return _UNREADABLE
