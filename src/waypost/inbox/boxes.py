"""A tenant's inboxes, and what holds for all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from waypost.inbox.model import Figures, Inbox, InboxSettings
from waypost.inbox.ports import InboxStore
from waypost.inbox.rules import (
    check_key,
    check_origins,
    check_ttls,
    read_ttl,
    read_visible_since,
)
from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound, refuse
from waypost.kernel.ids import mint
from waypost.kernel.paging import Page, decode_cursor, encode_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.tenants.audit import Audit

_LISTING: Final = "inboxes"
_MOST_SHOWN: Final = 100
_LONGEST_TITLE: Final = 200
_LONGEST_DESCRIPTION: Final = 2_000
_MOST_COUNTED: Final = 10_000


class Inboxes:
    def __init__(self, *, store: InboxStore, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._audit = audit
        self._clock = clock

    async def put(
        self, tx: Transaction, scope: Scope, key: str, *, title: str, description: str, ttl: Mapping[str, str]
    ) -> Inbox:
        scope.demand(Permission.INBOX_WRITE)
        if not 1 <= len(title) <= _LONGEST_TITLE or not title.isprintable():
            raise refuse("/title", "invalid_title", f"A title has 1 to {_LONGEST_TITLE} printable characters.")
        if len(description) > _LONGEST_DESCRIPTION:
            raise refuse("/description", "too_long", f"A description has at most {_LONGEST_DESCRIPTION} characters.")
        now = self._clock.now()
        wanted = Inbox(
            id=mint(self._clock),
            key=check_key(key, "/inbox"),
            title=title,
            description=description,
            ttl=check_ttls(ttl, "/ttl"),
            version=1,
            created_at=now,
            updated_at=now,
        )
        inbox = await self._store.put(tx, wanted)
        await self._audit.record(tx, scope, "inbox.put", key, {"title": title, "version": inbox.version})
        return inbox

    async def get(self, tx: Transaction, scope: Scope, key: str) -> Inbox:
        scope.demand(Permission.INBOX_READ)
        return await self.find(tx, key)

    async def find(self, tx: Transaction, key: str) -> Inbox:
        found = await self._store.find(tx, key)
        if found is None:
            raise unknown_inbox()
        return found

    async def all(self, tx: Transaction) -> Sequence[Inbox]:
        """For whoever reads: a tenant has few."""
        return await self._store.page(tx, "", _MOST_SHOWN)

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[Inbox]:
        scope.demand(Permission.INBOX_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, decode_cursor(_LISTING, cursor) or "", size + 1)
        return page_of(found, size, lambda inbox: encode_cursor(_LISTING, inbox.key))

    async def figures(self, tx: Transaction, scope: Scope, keys: Sequence[str]) -> Mapping[str, Figures]:
        """How much stands in these inboxes. Counting ends at ten thousand copies each."""
        scope.demand(Permission.INBOX_READ)
        return await self._store.figures(tx, keys, self._clock.now(), _MOST_COUNTED)

    async def settings(self, tx: Transaction, scope: Scope) -> InboxSettings:
        scope.demand(Permission.INBOX_READ)
        return await self._store.settings(tx)

    async def change_settings(
        self,
        tx: Transaction,
        scope: Scope,
        *,
        ttl: str | None = None,
        visible_since: str | None = None,
        allowed_origins: list[str] | None = None,
    ) -> InboxSettings:
        """What is left out stays as it is. `visible_since` counts for whoever opens an inbox for the first time."""
        scope.demand(Permission.INBOX_WRITE)
        settings = await self._store.settings(tx)
        if ttl is not None:
            settings = replace(settings, ttl=str(read_ttl(ttl, "/ttl")))
        if visible_since is not None:
            settings = replace(settings, visible_since=read_visible_since(visible_since, "/visible_since"))
        if allowed_origins is not None:
            settings = replace(settings, allowed_origins=check_origins(allowed_origins, "/allowed_origins"))
        await self._store.put_settings(tx, settings, self._clock.now())
        detail = {
            "ttl": settings.ttl,
            "visible_since": settings.visible_since,
            "origins": len(settings.allowed_origins),
        }
        await self._audit.record(tx, scope, "inbox_settings.changed", "inbox", dict(detail))
        return settings


def unknown_inbox() -> NotFound:
    return NotFound("There is no inbox of this name.", code="unknown_inbox")
