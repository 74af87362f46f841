"""Taking mail in: only what carries a genuine return path of ours, sealed under its tenant's key."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import msgspec

from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound
from waypost.kernel.ids import mint
from waypost.kernel.vault import Keyring, TenantKey, place
from waypost.kernel.work import Transaction, Work
from waypost.mailbox import return_path
from waypost.mailbox.model import MOST_KEPT, Letter, SealedLetter
from waypost.mailbox.ports import MailboxStore
from waypost.mailbox.return_path import ReturnPath
from waypost.mailbox.summary import summary_of

RAW: Final = "mailbox_raw"
SUMMARY: Final = "mailbox_summary"
_MOST_KEYS: Final = 1_000
_encode: Final = msgspec.msgpack.encode


class Receive:
    """Keeps tenants' keys at hand: they never change."""

    def __init__(self, *, work: Work, store: MailboxStore, keyring: Keyring, clock: Clock) -> None:
        self._work = work
        self._store = store
        self._keyring = keyring
        self._clock = clock
        self._keys: OrderedDict[str, TenantKey] = OrderedDict()

    async def admit(self, sender: str) -> ReturnPath | None:
        """The sender's return path where it is genuine, None where it is not or its tenant is unknown."""
        claimed = return_path.read(sender)
        if claimed is None or not claimed.tenant_id:
            return None
        key = self._keys.get(claimed.tenant_id) or await self._fetch_key(claimed.tenant_id)
        return claimed if key is not None and claimed.is_genuine(key) else None

    async def keep(self, tenant_id: str, letters: Sequence[Letter]) -> None:
        """Kept, all of them, when this returns; none when it raises. They stay in the order in which they came."""
        newest = letters[-MOST_KEPT:]
        async with self._work.begin(tenant_id) as tx:
            await self._store.add(tx, await self._seal(tx, newest), MOST_KEPT)

    async def _fetch_key(self, tenant_id: str) -> TenantKey | None:
        async with self._work.begin(tenant_id) as tx:
            try:
                key = await self._keyring.of(tx)
            except NotFound:
                return None
        self._keys[tenant_id] = key
        if len(self._keys) > _MOST_KEYS:
            self._keys.popitem(last=False)
        return key

    async def _seal(self, tx: Transaction, letters: Sequence[Letter]) -> list[SealedLetter]:
        key = await self._keyring.of(tx)
        # Ids of one millisecond differ by chance only; sorted, they say what came first.
        ids = sorted(mint(self._clock) for _ in letters)
        return [
            SealedLetter(
                id=letter_id,
                summary=key.seal(_encode(summary_of(letter)), place(SUMMARY, tx.tenant_id, letter_id)),
                raw=key.seal(letter.data, place(RAW, tx.tenant_id, letter_id)),
                notification_id=letter.notification_id,
            )
            for letter_id, letter in zip(ids, letters, strict=True)
        ]
