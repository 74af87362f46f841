"""From the id a caller knows to the row it means now."""

from uuid import UUID

from waypost.kernel.errors import NotFound
from waypost.kernel.ids import show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.tenancy import Scope
from waypost.kernel.vault import Keyring, TenantKey
from waypost.kernel.work import Transaction
from waypost.recipients.model import StoredRecipient
from waypost.recipients.ports import RecipientStore
from waypost.recipients.rules import check_external_id
from waypost.tenants.audit import Audit


class Lookup:
    """A merged id means the one it became, for ever. An erased one means nobody."""

    def __init__(self, *, recipients: RecipientStore, keyring: Keyring) -> None:
        self._recipients = recipients
        self._keyring = keyring

    async def maybe(self, tx: Transaction, external_id: str) -> StoredRecipient | None:
        if any(check_external_id(external_id, "")):
            return None
        found = await self._recipients.by_external_ids(tx, [external_id])
        if found and found[0].merged_into is not None:
            found = await self._recipients.by_ids(tx, [found[0].merged_into])
        return found[0] if found and found[0].erased_at is None else None

    async def find(self, tx: Transaction, external_id: str) -> StoredRecipient:
        row = await self.maybe(tx, external_id)
        if row is None:
            raise not_found()
        return row

    async def lock(self, tx: Transaction, external_id: str) -> StoredRecipient:
        """Found, and nobody else's to change until the transaction ends."""
        row = (await self._recipients.lock(tx, [(await self.find(tx, external_id)).id]))[0]
        if row.erased_at is not None or row.merged_into is not None:
            raise not_found()
        return row

    async def was_erased(self, tx: Transaction, external_id: str) -> bool:
        hashed = erased_hash(await self._keyring.of(tx), external_id)
        return bool(await self._recipients.erased_among(tx, [hashed]))

    async def all_of(self, tx: Transaction, recipient_id: UUID) -> list[UUID]:
        """Who they are and who they were: messages of earlier days name the latter."""
        return [recipient_id, *await self._recipients.merged_into(tx, [recipient_id])]


def erased_hash(key: TenantKey, external_id: str) -> str:
    """How an erased id is remembered: enough to know it again, too little to read it."""
    return key.hash_address("recipient", external_id)


def not_found() -> NotFound:
    return NotFound("There is no recipient of this id.")


async def record(
    audit: Audit, tx: Transaction, scope: Scope, action: str, row: StoredRecipient, detail: dict[str, JsonValue]
) -> None:
    # Named by our own id: the caller's may be an address, and the log outlives an erasure.
    await audit.record(tx, scope, action, show("rcp", row.id), detail)
