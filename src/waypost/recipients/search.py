"""Finding recipients: all of them, or by id, address, tag or list."""

from collections.abc import Sequence
from typing import Final

from waypost.kernel.address import read_address
from waypost.kernel.errors import refuse
from waypost.kernel.paging import (
    Page,
    decode_cursor,
    decode_id_cursor,
    encode_cursor,
    encode_id_cursor,
    page_of,
    read_limit,
)
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.lists import ListKeys
from waypost.recipients.model import PHONE, Recipient, RecipientFilter, StoredRecipient
from waypost.recipients.ports import RecipientPages, RecipientStore
from waypost.recipients.views import Views

_EVERYONE: Final = "recipients"


class Search:
    def __init__(
        self, *, pages: RecipientPages, recipients: RecipientStore, lists: ListKeys, views: Views, keyring: Keyring
    ) -> None:
        self._pages = pages
        self._recipients = recipients
        self._lists = lists
        self._views = views
        self._keyring = keyring

    async def page(
        self,
        tx: Transaction,
        scope: Scope,
        cursor: str | None,
        limit: int | None,
        wanted: RecipientFilter = RecipientFilter(),  # noqa: B008 — frozen
    ) -> Page[Recipient]:
        """Newest first; by the beginning of the id, in the order of ids. Without the erased."""
        scope.demand(Permission.RECIPIENTS_READ)
        _refuse_several(wanted)
        size = read_limit(limit)
        found = await self._find(tx, wanted, cursor, size)
        return Page(items=await self._views.of_rows(tx, found.items), next=found.next)

    async def _find(
        self, tx: Transaction, wanted: RecipientFilter, cursor: str | None, size: int
    ) -> Page[StoredRecipient]:
        if wanted.id_prefix is not None:
            listing = f"{_EVERYONE}:id:{wanted.id_prefix}"
            after = decode_cursor(listing, cursor) or ""
            rows = await self._pages.page_by_prefix(tx, wanted.id_prefix, after, size + 1)
            return page_of(rows, size, lambda row: encode_cursor(listing, row.external_id))
        if wanted.email is not None or wanted.phone is not None:
            owners = await self._owners(tx, wanted)
            return Page(items=owners[:size], next=None)
        if wanted.tag is not None:
            listing = f"{_EVERYONE}:tag:{wanted.tag}"
            rows = await self._pages.page_by_tag(tx, wanted.tag, decode_id_cursor(listing, cursor), size + 1)
        elif wanted.list_key is not None:
            listing = f"{_EVERYONE}:list:{wanted.list_key}"
            list_id = await self._lists.id_of(tx, wanted.list_key, "/list")
            rows = await self._pages.page_by_list(tx, list_id, decode_id_cursor(listing, cursor), size + 1)
        else:
            listing = _EVERYONE
            rows = await self._pages.page(tx, decode_id_cursor(listing, cursor), size + 1)
        return page_of(rows, size, lambda row: encode_id_cursor(listing, row.id))

    async def _owners(self, tx: Transaction, wanted: RecipientFilter) -> Sequence[StoredRecipient]:
        """By the address in full, through its keyed hash: there is no other way to look for one."""
        channel, text, field = (
            (Channel.EMAIL, wanted.email, "/email") if wanted.email is not None else (PHONE, wanted.phone, "/phone")
        )
        address = read_address(channel, text or "", field)
        hashed = (await self._keyring.of(tx)).hash_address(channel.word, address.text)
        found = await self._recipients.look_up(tx, (), [(channel, hashed)])
        return [one.row for one in found.known if one.row.erased_at is None]


def _refuse_several(wanted: RecipientFilter) -> None:
    given = {
        "/id_prefix": wanted.id_prefix,
        "/email": wanted.email,
        "/phone": wanted.phone,
        "/tag": wanted.tag,
        "/list": wanted.list_key,
    }
    named = [pointer for pointer, value in given.items() if value is not None]
    if len(named) > 1:
        raise refuse(named[1], "one_filter_only", "Give one of id_prefix, email, phone, tag and list.")
