"""One person's feed: what is in it, how much of it is unread, and what they do with it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.inbox.boxes import unknown_inbox
from waypost.inbox.model import (
    Act,
    Acted,
    Counts,
    FeedFilter,
    Message,
    Reader,
    StoredMessage,
    Visitor,
    Watermark,
)
from waypost.inbox.ports import Escalations, FeedStore, InboxBell, Place, Topics
from waypost.inbox.publish import unknown_message
from waypost.inbox.rules import MOST_IDS, apply, check_snooze, last_id_at
from waypost.inbox.sealing import open_copy, open_shared
from waypost.kernel.clock import Clock
from waypost.kernel.errors import refuse
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.vault import Keyring, SealBroken, place
from waypost.kernel.work import Transaction

_AFTER_ALL: Final = UUID(int=2**128 - 1)
_SEEING: Final = frozenset({Act.READ, Act.SEEN, Act.CLICK})


class Feed:
    def __init__(
        self,
        *,
        store: FeedStore,
        topics: Topics,
        keyring: Keyring,
        bell: InboxBell,
        escalations: Escalations,
        clock: Clock,
    ) -> None:
        self._store = store
        self._topics = topics
        self._keyring = keyring
        self._bell = bell
        self._escalations = escalations
        self._clock = clock

    async def page(
        self,
        tx: Transaction,
        visitor: Visitor,
        inbox_key: str,
        wanted: FeedFilter,
        cursor: str | None,
        limit: int | None,
    ) -> Page[Message]:
        """Newest first. What has expired is not there, what is archived or snoozed only where it is asked for."""
        size, listing = read_limit(limit), f"feed:{inbox_key}"
        before = decode_id_cursor(listing, cursor) or _AFTER_ALL
        found = await self._store.page(
            tx, inbox_key, visitor.recipient_id, wanted, before=before, now=self._clock.now(), limit=size + 1
        )
        if found is None:
            raise unknown_inbox()
        messages = await self.open(tx, *found)
        # A topic that was deleted still names the messages that came under it.
        if wanted.topic and not messages and cursor is None and not await self._topics.has(tx, wanted.topic):
            raise refuse("/topic", "unknown_topic", "There is no topic of this key.")
        return page_of(messages, size, lambda message: encode_id_cursor(listing, message.id))

    async def get(self, tx: Transaction, visitor: Visitor, inbox_key: str, message_id: UUID) -> Message:
        found = await self.messages(tx, visitor, inbox_key, [message_id])
        if not found:
            raise unknown_message()
        return found[0]

    async def messages(
        self, tx: Transaction, visitor: Visitor, inbox_key: str, ids: Sequence[UUID]
    ) -> Sequence[Message]:
        """Those of the named that are there, also archived and snoozed ones."""
        found = await self._store.messages(tx, inbox_key, visitor.recipient_id, ids, self._clock.now())
        return [] if found is None else await self.open(tx, *found)

    async def counts(self, tx: Transaction, visitor: Visitor, inbox_key: str) -> Counts:
        found = await self.counts_of(tx, inbox_key, [visitor.recipient_id])
        if visitor.recipient_id not in found:
            raise unknown_inbox()
        return found[visitor.recipient_id]

    async def counts_of(self, tx: Transaction, inbox_key: str, recipient_ids: Sequence[UUID]) -> Mapping[UUID, Counts]:
        return await self._store.counts(tx, inbox_key, recipient_ids, self._clock.now())

    async def act(
        self,
        tx: Transaction,
        visitor: Visitor,
        inbox_key: str,
        act: Act,
        ids: Sequence[UUID],
        until: datetime | None = None,
    ) -> Acted:
        """Under the person's own row: however many devices do the same at once, it happens once."""
        now = self._clock.now()
        check_ids(ids)
        if until is not None:
            check_snooze(until, now)
        held = await self._hold(tx, visitor, inbox_key)
        wanted = sorted(set(ids))
        found = await self._store.messages(tx, inbox_key, visitor.recipient_id, wanted, now)
        messages: Sequence[StoredMessage] = () if found is None else found[1]
        if not messages:
            raise unknown_message()
        done = [(message, apply(act, message.facts, now, until)) for message in messages]
        changed = [(message, facts) for message, facts in done if facts != message.facts]
        if changed:
            await self._store.write(tx, held, changed)
            self._bell.for_people(tx, held.inbox_id, [visitor.recipient_id])
        if act in _SEEING:
            await self._tell([message for message, _ in changed if message.is_notification], tx)
        there = {message.id: facts for message, facts in done}
        return Acted(
            done=[(one, there[one]) for one in dict.fromkeys(ids) if one in there],
            missing=[one for one in dict.fromkeys(ids) if one not in there],
        )

    async def read_before(
        self, tx: Transaction, visitor: Visitor, inbox_key: str, before: UUID | datetime
    ) -> Watermark:
        """Everything up to this point that is there now. What commits later stays unread, however old its id."""
        upto = before if isinstance(before, UUID) else last_id_at(before)
        held = await self._hold(tx, visitor, inbox_key)
        last, newest_public = await self._store.last_watermark(tx, held)
        public_upto = min(upto, newest_public)
        if last is not None and _covers(last, held, upto, public_upto):
            return last
        drawn = Watermark(n=held.n, at=self._clock.now(), own_upto=upto, public_upto=public_upto)
        await self._store.draw_watermark(tx, held, drawn)
        self._bell.for_people(tx, held.inbox_id, [visitor.recipient_id])
        since = 0 if last is None else last.n
        for notification_id in await self._store.unseen_notifications(tx, held, since=since, upto=upto):
            await self._escalations.seen(tx, notification_id)
        return drawn

    async def was_seen(self, tx: Transaction, recipient_id: UUID, notification_id: UUID) -> bool:
        """For whoever waits before sending on another channel."""
        return await self._store.was_seen(tx, recipient_id, notification_id)

    async def forget(self, tx: Transaction, ids: Sequence[UUID], hashes: Sequence[str]) -> Mapping[str, int]:
        """Everything of people who are being erased. Implements `recipients.ports.AlsoForgets`."""
        gone = 0
        for recipient_id in ids:
            gone += await self._store.forget(tx, recipient_id)
            self._bell.about_person(tx, recipient_id)
        return {"inbox_messages": gone}

    async def open(self, tx: Transaction, reader: Reader, rows: Sequence[StoredMessage]) -> list[Message]:
        if not rows:
            return []
        tenant_key = await self._keyring.of(tx)
        own_key = tenant_key.unwrap(reader.data_key, place("data_key", tx.tenant_id, reader.recipient_id))
        opened: list[Message] = []
        for row in rows:
            if row.content is None:
                continue
            try:
                content = (
                    open_shared(tx.tenant_id, tenant_key, row.id, row.content)
                    if row.is_shared
                    else open_copy(tx.tenant_id, own_key, row.id, row.content)
                )
            except SealBroken:
                # One message that cannot be opened must not hide the others.
                continue
            opened.append(
                Message(
                    id=row.id,
                    topic=row.topic or None,
                    content=content,
                    is_notification=row.is_notification,
                    expires_at=row.expires_at,
                    facts=row.facts,
                )
            )
        return opened

    async def _hold(self, tx: Transaction, visitor: Visitor, inbox_key: str) -> Place:
        held = await self._store.hold(tx, inbox_key, visitor.recipient_id)
        if held is None:
            raise unknown_inbox()
        return held

    async def _tell(self, seen: Sequence[StoredMessage], tx: Transaction) -> None:
        for message in seen:
            await self._escalations.seen(tx, message.id)


def check_ids(ids: Sequence[UUID]) -> None:
    if not 1 <= len(ids) <= MOST_IDS:
        raise refuse("/ids", "too_many", f"Name 1 to {MOST_IDS} messages.")


def _covers(last: Watermark, held: Place, upto: UUID, public_upto: UUID) -> bool:
    """Nothing of the person's own has changed since, and it reaches at least as far."""
    return last.n == held.n - 1 and last.own_upto >= upto and last.public_upto >= public_upto
