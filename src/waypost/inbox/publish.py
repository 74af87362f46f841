"""Posting and taking back. A post passes no gate: it is not a notification, and nobody is written to."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final
from uuid import UUID

from waypost.inbox.boxes import unknown_inbox
from waypost.inbox.model import (
    NO_TOPIC,
    Audience,
    AudienceKind,
    Inbox,
    Post,
    PostCommand,
    PostContent,
    Posted,
    Reach,
    StoredPost,
)
from waypost.inbox.ports import Audiences, Copy, Holder, InboxBell, InboxStore, NewPost, PostStore, Topics
from waypost.inbox.rules import check_audience, clean_content, expiry, next_id
from waypost.inbox.sealing import open_copy, open_shared, seal_copy, seal_shared
from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError, NotFound, Refused, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import DataKey, Keyring, TenantKey, place
from waypost.kernel.work import Transaction
from waypost.tenants.audit import Audit

MOST_MEMBERS: Final = 100_000
"""Of a list or filter; beyond, a post belongs to everyone, with a topic."""
_AT_ONCE: Final = 5_000
_AFTER_ALL: Final = UUID(int=2**128 - 1)


class Posts:
    def __init__(
        self,
        *,
        inboxes: InboxStore,
        posts: PostStore,
        audiences: Audiences,
        topics: Topics,
        keyring: Keyring,
        bell: InboxBell,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._inboxes = inboxes
        self._posts = posts
        self._audiences = audiences
        self._topics = topics
        self._keyring = keyring
        self._bell = bell
        self._audit = audit
        self._clock = clock

    async def post(self, tx: Transaction, scope: Scope, inbox_key: str, command: PostCommand) -> Posted:
        scope.demand(Permission.INBOX_POST)
        check_audience(command.audience)
        content = clean_content(command.content)
        inbox = await self._inbox(tx, inbox_key)
        topic = await self._topic(tx, command.topic)
        settings = await self._inboxes.settings(tx)
        expires_at = expiry(self._clock.now(), own=command.ttl, topic=topic, inbox=inbox.ttl, settings=settings)
        key = await self._keyring.of(tx)
        post = NewPost(
            inbox_id=inbox.id,
            id=mint(self._clock),
            audience=command.audience.kind,
            label=command.audience.label,
            copies=None,
            topic=topic,
            content=None,
            expires_at=expires_at,
            created_by=scope.key_id,
        )
        match command.audience.kind:
            case AudienceKind.EVERYONE:
                return await self._for_everyone(tx, post, content, key)
            case AudienceKind.USERS:
                return await self._for_users(tx, post, content, key, command.audience)
            case _:
                return await self._for_many(tx, post, content, key, await self._members(tx, command.audience))

    async def redact(self, tx: Transaction, scope: Scope, inbox_key: str, post_id: UUID) -> None:
        """Twice is as good as once."""
        scope.demand(Permission.INBOX_POST)
        inbox = await self._inbox(tx, inbox_key)
        held = await self._posts.lock(tx, inbox.id, post_id)
        if held is None:
            raise unknown_message()
        if held.redacted_at is not None:
            return
        holders = await self._posts.redact(tx, inbox.id, post_id, held, self._clock.now())
        if held.audience is AudienceKind.EVERYONE:
            self._bell.for_everyone(tx, inbox.id)
        else:
            self._bell.for_people(tx, inbox.id, holders)
        await self._audit.record(tx, scope, "post.redacted", show("pst", post_id), {"inbox": inbox_key})

    async def page(
        self, tx: Transaction, scope: Scope, inbox_key: str, cursor: str | None, limit: int | None
    ) -> Page[Post]:
        """Newest first, as long as they are kept."""
        scope.demand(Permission.INBOX_READ)
        inbox = await self._inbox(tx, inbox_key)
        size, listing = read_limit(limit), f"posts:{inbox_key}"
        rows = await self._posts.page(tx, inbox.id, decode_id_cursor(listing, cursor) or _AFTER_ALL, size + 1)
        key = await self._keyring.of(tx)
        shown = [_shown(tx.tenant_id, key, row) for row in rows]
        return page_of(shown, size, lambda post: encode_id_cursor(listing, post.id))

    async def reach(self, tx: Transaction, scope: Scope, inbox_key: str, post_ids: Sequence[UUID]) -> Sequence[Reach]:
        """How far each of these posts reached; what is gone meanwhile reached nobody."""
        scope.demand(Permission.INBOX_READ)
        inbox = await self._inbox(tx, inbox_key)
        found = await self._posts.reach(tx, inbox.id, post_ids)
        return [found.get(one) or Reach(delivered=0, seen=0, read=0) for one in post_ids]

    async def get(self, tx: Transaction, scope: Scope, inbox_key: str, post_id: UUID) -> tuple[Post, Reach]:
        scope.demand(Permission.INBOX_READ)
        inbox = await self._inbox(tx, inbox_key)
        row = await self._posts.find(tx, inbox.id, post_id)
        reach = (await self._posts.reach(tx, inbox.id, [post_id])).get(post_id)
        if row is None or reach is None:
            raise unknown_message()
        return _shown(tx.tenant_id, await self._keyring.of(tx), row), reach

    async def _inbox(self, tx: Transaction, key: str) -> Inbox:
        found = await self._inboxes.find(tx, key)
        if found is None:
            raise unknown_inbox()
        return found

    async def _topic(self, tx: Transaction, topic: str | None) -> str:
        if topic is None:
            return NO_TOPIC
        if topic == NO_TOPIC or not await self._topics.has(tx, topic):
            raise refuse("/topic", "unknown_topic", "There is no topic of this key. Make it first, or leave it out.")
        return topic

    async def _members(self, tx: Transaction, audience: Audience) -> Sequence[UUID]:
        if audience.filter is not None:
            found = await self._audiences.of_filter(tx, audience.filter, MOST_MEMBERS + 1)
        else:
            listed = await self._audiences.of_list(tx, audience.list_key or "", MOST_MEMBERS + 1)
            if listed is None:
                raise refuse("/audience/list", "unknown_list", "There is no list of this key.")
            found = listed
        if not found:
            raise refuse("/audience", "empty_audience", "Nobody fits: there is nobody to post to.")
        if len(found) > MOST_MEMBERS:
            message = f"At most {MOST_MEMBERS} people by list or filter; post to everyone with a topic instead."
            raise refuse("/audience", "audience_too_large", message)
        return found

    async def _for_everyone(self, tx: Transaction, post: NewPost, content: PostContent, key: TenantKey) -> Posted:
        turn = await self._posts.take_turn(tx, post.inbox_id)
        post = replace(post, id=next_id(post.id, turn.last_post))
        await self._posts.add_for_everyone(tx, _sealed(tx.tenant_id, post, content, key), turn)
        self._bell.for_everyone(tx, post.inbox_id)
        return Posted(id=post.id, copies=None, expires_at=post.expires_at)

    async def _for_many(
        self, tx: Transaction, post: NewPost, content: PostContent, key: TenantKey, members: Sequence[UUID]
    ) -> Posted:
        """Stored once; who they are is frozen now, in a row each that holds no content."""
        await self._posts.add(tx, replace(_sealed(tx.tenant_id, post, content, key), copies=len(members)))
        waiting = iter(sorted(members))
        while chunk := list(islice(waiting, _AT_ONCE)):
            await self._posts.deliver(tx, post.inbox_id, [_copy(post, one, None) for one in chunk])
        self._bell.for_people(tx, post.inbox_id, members)
        return Posted(id=post.id, copies=len(members), expires_at=post.expires_at)

    async def _for_users(
        self, tx: Transaction, post: NewPost, content: PostContent, key: TenantKey, audience: Audience
    ) -> Posted:
        """A copy each, sealed by its owner's key."""
        holders = await self._holders(tx, audience.recipients)
        copies = [
            _copy(post, one.recipient_id, seal_copy(tx.tenant_id, _key_of(tx.tenant_id, key, one), post.id, content))
            for one in holders
        ]
        await self._posts.add(tx, replace(post, copies=len(copies)))
        await self._posts.deliver(tx, post.inbox_id, copies)
        self._bell.for_people(tx, post.inbox_id, [one.recipient_id for one in holders])
        return Posted(id=post.id, copies=len(copies), expires_at=post.expires_at)

    async def _holders(self, tx: Transaction, external_ids: Sequence[str]) -> Sequence[Holder]:
        wanted = list(dict.fromkeys(external_ids))
        found = await self._audiences.by_external_ids(tx, wanted)
        known = {one.external_id for one in found}
        errors = [
            FieldError(
                pointer=f"/audience/recipients/{place}",
                code="unknown_recipient",
                message="There is no recipient of this id.",
            )
            for place, one in enumerate(external_ids)
            if one not in known
        ]
        if errors:
            raise Refused(errors[0].message, code=errors[0].code, errors=errors[:50])
        return list({one.recipient_id: one for one in found}.values())


def _sealed(tenant_id: str, post: NewPost, content: PostContent, key: TenantKey) -> NewPost:
    """With its content, under the tenant's own key."""
    return replace(post, content=seal_shared(tenant_id, key, post.id, content))


def _key_of(tenant_id: str, key: TenantKey, holder: Holder) -> DataKey:
    return key.unwrap(holder.data_key, place("data_key", tenant_id, holder.recipient_id))


def _copy(post: NewPost, recipient_id: UUID, content: bytes | None) -> Copy:
    return Copy(
        recipient_id=recipient_id, post_id=post.id, topic=post.topic, content=content, expires_at=post.expires_at
    )


def _shown(tenant_id: str, key: TenantKey, row: StoredPost) -> Post:
    return Post(
        id=row.id,
        audience=row.audience,
        label=row.label,
        copies=row.copies,
        topic=row.topic or None,
        content=_opened(tenant_id, key, row),
        expires_at=row.expires_at,
        redacted_at=row.redacted_at,
    )


def _opened(tenant_id: str, key: TenantKey, row: StoredPost) -> PostContent | None:
    if row.content is not None:
        return open_shared(tenant_id, key, row.id, row.content)
    if row.copy is None or row.holder is None or row.data_key is None:
        return None
    return open_copy(tenant_id, key.unwrap(row.data_key, place("data_key", tenant_id, row.holder)), row.id, row.copy)


def unknown_message() -> NotFound:
    return NotFound("There is no such message, or not any more.", code="unknown_message")
