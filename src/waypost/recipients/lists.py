"""Lists: named sets of recipients, such as everyone in a project."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, NotFound, PreconditionFailed, refuse
from waypost.kernel.ids import mint
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
from waypost.kernel.work import Transaction
from waypost.recipients.model import Member, RecipientList
from waypost.recipients.people import refuse_all
from waypost.recipients.ports import ListStore, RecipientStore
from waypost.recipients.rules import check_list_key
from waypost.tenants.audit import Audit

MOST_AT_ONCE: Final = 10_000
_LISTS: Final = "lists"
_LONGEST_TITLE: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class MembersChanged:
    added: int
    removed: int


class ListKeys:
    """What others ask of lists, inside their own transactions."""

    def __init__(self, store: ListStore) -> None:
        self._store = store

    async def id_of(self, tx: Transaction, key: str, pointer: str) -> UUID:
        found = await self._store.find(tx, key)
        if found is None:
            raise refuse(pointer, "unknown_list", "There is no list of this key.")
        return found.id

    async def members(self, tx: Transaction, key: str, limit: int, *, pointer: str = "/to/list") -> Sequence[str]:
        """The ids of up to `limit` members, oldest first. Ask for one more than you can take to see whether all fit."""
        return await self._store.member_ids(tx, await self.id_of(tx, key, pointer), limit)


class Lists:
    def __init__(self, *, store: ListStore, recipients: RecipientStore, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._recipients = recipients
        self._audit = audit
        self._clock = clock

    async def put(
        self, tx: Transaction, scope: Scope, key: str, title: str | None, *, version: int | None = None
    ) -> RecipientList:
        scope.demand(Permission.RECIPIENTS_WRITE)
        refuse_all(list(check_list_key(key, "/key")))
        if title is not None and (not title.strip() or len(title) > _LONGEST_TITLE or not title.isprintable()):
            raise refuse("/title", "invalid_title", f"A title has 1 to {_LONGEST_TITLE} printable characters.")
        now = self._clock.now()
        before = await self._store.find(tx, key)
        if version is not None and (before is None or before.version != version):
            raise PreconditionFailed("The list was changed meanwhile. Read it again.")
        if before is None:
            made = RecipientList(
                id=mint(self._clock), key=key, title=title or key, version=1, created_at=now, updated_at=now
            )
            stored = await self._store.put(tx, made)
        elif title is None or title == before.title:
            return before
        else:
            stored = await self._store.put(tx, replace(before, title=title, updated_at=now))
        action = "list.created" if stored.version == 1 else "list.changed"
        await self._audit.record(tx, scope, action, key, {})
        return stored

    async def get(self, tx: Transaction, scope: Scope, key: str) -> RecipientList:
        scope.demand(Permission.RECIPIENTS_READ)
        found = await self._store.find(tx, key)
        if found is None:
            raise NotFound("There is no list of this key.")
        return found

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[RecipientList]:
        """In the order of keys."""
        scope.demand(Permission.RECIPIENTS_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, decode_cursor(_LISTS, cursor) or "", size + 1)
        return page_of(found, size, lambda one: encode_cursor(_LISTS, one.key))

    async def remove(self, tx: Transaction, scope: Scope, key: str) -> None:
        """The list, not the people in it."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        found = await self.get(tx, scope, key)
        await self._store.remove(tx, found.id)
        await self._audit.record(tx, scope, "list.removed", key, {})

    async def members(
        self, tx: Transaction, scope: Scope, key: str, cursor: str | None, limit: int | None
    ) -> Page[Member]:
        """Newest recipients first."""
        found = await self.get(tx, scope, key)
        size = read_limit(limit)
        listing = f"{_LISTS}:{key}"
        members = await self._store.members(tx, found.id, decode_id_cursor(listing, cursor), size + 1)
        return page_of(members, size, lambda member: encode_id_cursor(listing, member.recipient_id))

    async def change_members(
        self, tx: Transaction, scope: Scope, key: str, *, add: Sequence[str], remove: Sequence[str]
    ) -> MembersChanged:
        """All of it or nothing: an id that nobody has is refused, and named."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        found = await self.get(tx, scope, key)
        if len(add) + len(remove) > MOST_AT_ONCE:
            raise refuse("", "too_many", f"At most {MOST_AT_ONCE} members are added and removed at a time.")
        added = await self._store.add_members(tx, found.id, await self._ids(tx, add, "/add"), self._clock.now())
        removed = await self._store.remove_members(tx, found.id, await self._ids(tx, remove, "/remove"))
        if added or removed:
            await self._audit.record(tx, scope, "list.members_changed", key, {"added": added, "removed": removed})
        return MembersChanged(added=added, removed=removed)

    async def of_recipient(self, tx: Transaction, scope: Scope, recipient_id: UUID) -> Sequence[RecipientList]:
        """The lists that someone is in."""
        scope.demand(Permission.RECIPIENTS_READ)
        return await self._store.of_recipient(tx, recipient_id)

    async def _ids(self, tx: Transaction, external_ids: Sequence[str], pointer: str) -> Sequence[UUID]:
        if not external_ids:
            return []
        rows = await self._recipients.by_external_ids(tx, sorted(set(external_ids)))
        known = {row.external_id: row.merged_into or row.id for row in rows if row.erased_at is None}
        message = "There is no recipient of this id."
        refuse_all(
            [
                FieldError(pointer=f"{pointer}/{position}", code="unknown_recipient", message=message)
                for position, external_id in enumerate(external_ids)
                if external_id not in known
            ]
        )
        return sorted({known[external_id] for external_id in external_ids})
