"""Looking into the mailbox."""

from typing import Final
from uuid import UUID

import msgspec

from waypost.kernel.errors import NotFound
from waypost.kernel.ids import moment_of
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring, TenantKey, place
from waypost.kernel.work import Transaction
from waypost.mailbox.model import MailboxEntry
from waypost.mailbox.ports import MailboxStore
from waypost.mailbox.receive import RAW, SUMMARY
from waypost.mailbox.summary import Summary

_LISTING: Final = "mailbox"
_decoder: Final = msgspec.msgpack.Decoder(Summary)


class Mailbox:
    def __init__(self, *, store: MailboxStore, keyring: Keyring) -> None:
        self._store = store
        self._keyring = keyring

    async def page(
        self, tx: Transaction, scope: Scope, *, cursor: str | None = None, limit: int | None = None
    ) -> Page[MailboxEntry]:
        """Newest first."""
        scope.demand(Permission.MAILBOX_READ)
        count = read_limit(limit)
        found = await self._store.page(tx, decode_id_cursor(_LISTING, cursor), count + 1)
        key = await self._keyring.of(tx)
        entries = [_entry(key, tx.tenant_id, letter_id, summary) for letter_id, summary in found]
        return page_of(entries, count, lambda entry: encode_id_cursor(_LISTING, entry.id))

    async def raw(self, tx: Transaction, scope: Scope, letter_id: UUID | None) -> bytes:
        """The whole message as it came. `None` stands for an id that cannot be one."""
        scope.demand(Permission.MAILBOX_READ)
        sealed = None if letter_id is None else await self._store.raw(tx, letter_id)
        if letter_id is None or sealed is None:
            raise NotFound("The mailbox holds no such message.")
        key = await self._keyring.of(tx)
        return key.open(sealed, place(RAW, tx.tenant_id, letter_id))


def _entry(key: TenantKey, tenant_id: str, letter_id: UUID, sealed: bytes) -> MailboxEntry:
    summary = _decoder.decode(key.open(sealed, place(SUMMARY, tenant_id, letter_id)))
    return MailboxEntry(id=letter_id, to=summary.to, subject=summary.subject, received_at=moment_of(letter_id))
