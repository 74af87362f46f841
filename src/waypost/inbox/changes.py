"""What has changed since: the way a stream catches up, after whatever it has missed.

Two numbers say how far somebody is: that of the last change to their own, taken under their own row, and that of the
last change to posts for everyone, taken under the inbox's. Both follow commits, so nothing is ever skipped.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from waypost.inbox.boxes import unknown_inbox
from waypost.inbox.feed import Feed
from waypost.inbox.model import Facts, Message, Visitor
from waypost.inbox.ports import ChangeStore, OwnChange, Position
from waypost.inbox.sealing import open_shared
from waypost.kernel.clock import Clock
from waypost.kernel.errors import refuse
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction

MOST_AT_ONCE: Final = 200
"""Whoever has missed more is told to load the feed anew."""
_CURSOR: Final = re.compile(r"([0-9]{1,18})-([0-9]{1,18})\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cursor:
    own: int
    public: int

    def __str__(self) -> str:
        return f"{self.own}-{self.public}"


class EventKind(StrEnum):
    MESSAGE = "message"
    """A new message."""
    CHANGE = "change"
    """Something was done with a message, here or on another device; or it has come back from a snooze."""
    READ_ALL = "read_all"
    """Everything up to a message is read."""
    REMOVED = "removed"
    RESET = "reset"
    """Too much was missed: load the feed anew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    kind: EventKind
    cursor: Cursor
    id: UUID | None = None
    message: Message | None = None
    read_at: datetime | None = None


class Changes:
    def __init__(self, *, store: ChangeStore, feed: Feed, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._feed = feed
        self._keyring = keyring
        self._clock = clock

    async def position(self, tx: Transaction, visitor: Visitor, inbox_key: str) -> Position:
        """Where a stream begins that has seen nothing yet."""
        found = await self._store.position(tx, inbox_key, visitor.recipient_id)
        if found is None:
            raise unknown_inbox()
        return found

    async def since(
        self, tx: Transaction, visitor: Visitor, inbox_key: str, position: Position, cursor: Cursor
    ) -> Sequence[Event]:
        """In order; each event says how far whoever has got it is. Empty when nothing has changed."""
        if cursor.own > position.own_n or cursor.public > position.public_n:
            return [_reset(position)]
        own = await self._store.own_changes(tx, position.inbox_id, visitor.recipient_id, cursor.own, MOST_AT_ONCE + 1)
        public = await self._store.public_changes(tx, position.inbox_id, cursor.public, MOST_AT_ONCE + 1)
        if len(own) > MOST_AT_ONCE or len(public) > MOST_AT_ONCE:
            return [_reset(position)]
        wanted = {one.id for one in own if one.read_at is None} | {post_id for _, post_id in public}
        found = await self._feed.messages(tx, visitor, inbox_key, sorted(wanted)) if wanted else ()
        there = {message.id: message for message in found}
        events: list[Event] = []
        for n, post_id in public:
            cursor = Cursor(own=cursor.own, public=n)
            events.append(_told(post_id, there, cursor, EventKind.MESSAGE))
        for place, change in enumerate(own):
            # Several changes of one transaction have one number: only with the last of them is it reached.
            is_last = place + 1 == len(own) or own[place + 1].n > change.n
            cursor = Cursor(own=change.n if is_last else cursor.own, public=cursor.public)
            events.append(_own_event(change, there, cursor))
        return events

    async def for_everyone(self, tx: Transaction, inbox_id: UUID, since: int) -> tuple[int, Sequence[Event]] | None:
        """News that is the same for all who are connected, and its number; None where it is too much."""
        changes = await self._store.public_changes(tx, inbox_id, since, MOST_AT_ONCE + 1)
        if len(changes) > MOST_AT_ONCE:
            return None
        rows = await self._store.public_posts(tx, inbox_id, [post_id for _, post_id in changes], self._clock.now())
        key = await self._keyring.of(tx)
        there = {
            row.id: Message(
                id=row.id,
                topic=row.topic or None,
                content=open_shared(tx.tenant_id, key, row.id, row.content),
                is_notification=False,
                expires_at=row.expires_at,
                facts=Facts(),
            )
            for row in rows
        }
        events = [_told(post_id, there, Cursor(own=0, public=n), EventKind.MESSAGE) for n, post_id in changes]
        return (changes[-1][0] if changes else since), events


def read_cursor(text: str | None) -> Cursor | None:
    if text is None:
        return None
    found = _CURSOR.match(text)
    if found is None:
        raise refuse("/last_event_id", "invalid_cursor", "This is not the id of an event of this stream.")
    return Cursor(own=int(found[1]), public=int(found[2]))


def _own_event(change: OwnChange, there: Mapping[UUID, Message], cursor: Cursor) -> Event:
    if change.read_at is not None:
        return Event(kind=EventKind.READ_ALL, cursor=cursor, id=change.id, read_at=change.read_at)
    return _told(change.id, there, cursor, EventKind.MESSAGE if change.is_new else EventKind.CHANGE)


def _told(post_id: UUID, there: Mapping[UUID, Message], cursor: Cursor, kind: EventKind) -> Event:
    message = there.get(post_id)
    return Event(kind=EventKind.REMOVED if message is None else kind, cursor=cursor, id=post_id, message=message)


def _reset(position: Position) -> Event:
    return Event(kind=EventKind.RESET, cursor=Cursor(own=position.own_n, public=position.public_n))
