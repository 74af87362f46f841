"""When two recipients become one, the messages of the one go on in the feed of the other.

About posts for everyone the known person's own word holds; of a copy that both had, what either did first.
"""

from uuid import UUID

from waypost.inbox.ports import HeirStore, InboxBell
from waypost.kernel.vault import DataKey, Keyring, place
from waypost.kernel.work import Transaction


class JoinInboxes:
    """Implements `recipients.ports.AlsoMerges`."""

    def __init__(self, *, store: HeirStore, keyring: Keyring, bell: InboxBell) -> None:
        self._store = store
        self._keyring = keyring
        self._bell = bell

    async def merge(self, tx: Transaction, source: UUID, target: UUID) -> None:
        inboxes = await self._store.inboxes_of(tx, source)
        if not inboxes:
            return
        tenant_key = await self._keyring.of(tx)
        wrapped = await self._store.data_keys(tx, [source, target])
        old, new = (tenant_key.unwrap(wrapped[one], place("data_key", tx.tenant_id, one)) for one in (source, target))
        for inbox_id in inboxes:
            await self._store.hold_both(tx, inbox_id, source, target)
            copies = [
                (post_id, sealed if sealed is None else _seal_again(tx.tenant_id, post_id, sealed, old, new))
                for post_id, sealed in await self._store.own_copies(tx, inbox_id, source)
            ]
            await self._store.hand_over(tx, inbox_id, source, target, copies)
            self._bell.for_people(tx, inbox_id, [target])


def _seal_again(tenant_id: str, post_id: UUID, sealed: bytes, old: DataKey, new: DataKey) -> bytes:
    where = place("inbox_copy", tenant_id, post_id)
    return new.seal(old.open(sealed, where), where)
