"""Room on sender accounts for a batch: what its messages say about their sender is sealed, so it is opened here.

Implements delivery's `Capacity` over the desk of sender accounts.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec
import structlog

from waypost.delivery.gate import Defer
from waypost.delivery.model import Claimed, Closed, Settlement, Way
from waypost.delivery.ports import Reserved
from waypost.kernel.address import split_mailbox
from waypost.kernel.errors import Unavailable
from waypost.kernel.ids import show
from waypost.kernel.vault import Keyring, SealBroken, TenantKey, place
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Work
from waypost.notifications.inputs import InputsBook, Shared, open_envelope
from waypost.senders.aftermath import Aftermath, Reply
from waypost.senders.desk import Asking, Assigned, Desk
from waypost.senders.providers import provider_of
from waypost.senders.selection import Wish

_log: Final = structlog.stdlib.get_logger()


class SenderCapacity:
    def __init__(self, *, desk: Desk, aftermath: Aftermath, work: Work, keyring: Keyring, inputs: InputsBook) -> None:
        self._desk = desk
        self._aftermath = aftermath
        self._work = work
        self._keyring = keyring
        self._inputs = inputs

    async def reserve(self, batch_id: UUID, rows: Sequence[Claimed]) -> Reserved | None:
        tenants = await self._desk.tenants_with_accounts({one.tenant_id for one in rows})
        if not tenants:
            return None
        reserved = Reserved(ways={}, deferred={}, given_back={})
        for tenant_id in sorted(tenants):
            own = [one for one in rows if one.tenant_id == tenant_id and one.channel is Channel.EMAIL]
            if not own:
                continue
            try:
                await self._reserve(batch_id, tenant_id, own, reserved)
            except Exception as error:
                # Only this tenant's: what others have been given stays theirs.
                _log.error("no room reserved", action="reserve_failed", kind=type(error).__name__, rows=len(own))
                blamed = not isinstance(error, Unavailable)
                reserved.given_back.update((one.id, blamed) for one in own)
        return reserved

    async def settled(self, settlements: Sequence[Settlement]) -> None:
        replies: dict[str, list[Reply]] = {}
        for one in settlements:
            if (way := one.held.way) is not None:
                outcome = one.outcome if isinstance(one, Closed) else None
                reply = Reply(account_id=way.account_id, provider=way.provider, outcome=outcome)
                replies.setdefault(one.held.tenant_id, []).append(reply)
        for tenant_id, told in replies.items():
            try:
                paced = self._desk.is_paced({reply.account_id for reply in told})
                if await self._aftermath(tenant_id, told, paced=paced):
                    self._desk.forget(tenant_id)
            except Exception as error:
                _log.error("replies unheeded", action="aftermath_failed", kind=type(error).__name__, rows=len(told))

    async def _reserve(self, batch_id: UUID, tenant_id: str, rows: Sequence[Claimed], reserved: Reserved) -> None:
        async with self._work.begin(tenant_id) as tx:
            key = await self._keyring.of(tx)
            shared = await self._inputs.of(tx, (one.payload for one in rows))
        # The urgent first, then as they were claimed.
        asking = [
            found
            for one in sorted(rows, key=lambda one: one.priority)
            if (found := _asking(one, key, shared)) is not None
        ]
        if not asking:
            return
        providers = {one.id: one.provider for one in asking}
        for notification_id, answer in (await self._desk.assign(tenant_id, batch_id, asking)).items():
            if isinstance(answer, Assigned):
                reserved.ways[notification_id] = Way(
                    account_id=answer.account_id,
                    version=answer.version,
                    provider=providers[notification_id],
                    mailbox=answer.mailbox,
                )
            else:
                fact = {"sender_account": show("acc", answer.account_id)}
                if answer.names_provider:
                    fact["mailbox_provider"] = providers[notification_id]
                reserved.deferred[notification_id] = Defer(until=answer.until, rule=answer.rule.word, fact=dict(fact))


def _asking(one: Claimed, key: TenantKey, shared: Shared) -> Asking | None:
    """None for what cannot be opened: the composer says so in its turn."""
    if one.data_key is None:
        return None
    try:
        owner = key.unwrap(one.data_key, place("data_key", one.tenant_id, one.recipient_id))
        envelope = open_envelope(owner, one.tenant_id, one, shared)
    except (SealBroken, msgspec.DecodeError):
        return None
    sender = None if envelope.sender is None else split_mailbox(envelope.sender)
    wish = Wish(one.category, None if sender is None else sender.address.text)
    return Asking(id=one.id, wish=wish, provider=provider_of(envelope.address))
