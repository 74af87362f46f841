"""What the inbox asks of others: the system of record, lists and tags, topics, the bell, and whoever waits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.inbox.model import (
    AudienceFilter,
    AudienceKind,
    Counts,
    Drift,
    Facts,
    FeedFilter,
    Figures,
    Inbox,
    InboxSettings,
    Reach,
    Reader,
    StoredMessage,
    StoredPost,
    Watermark,
)
from waypost.kernel.work import Transaction


class InboxStore(Protocol):
    async def put(self, tx: Transaction, inbox: Inbox) -> Inbox:
        """Made or changed; as it is now."""
        ...

    async def find(self, tx: Transaction, key: str) -> Inbox | None: ...

    async def page(self, tx: Transaction, after: str, limit: int) -> Sequence[Inbox]: ...

    async def figures(self, tx: Transaction, keys: Sequence[str], now: datetime, at_most: int) -> Mapping[str, Figures]:
        """By key; of each inbox at most so many copies are counted."""
        ...

    async def settings(self, tx: Transaction) -> InboxSettings: ...

    async def put_settings(self, tx: Transaction, settings: InboxSettings, at: datetime) -> None:
        """Without the secret."""
        ...

    async def put_identity_secret(self, tx: Transaction, sealed: bytes | None, at: datetime) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """Who a token speaks for, as they are now."""

    recipient_id: UUID
    external_id: str
    not_before: datetime | None
    """Tokens issued earlier are void."""


class VisitorStore(Protocol):
    async def standing(self, tx: Transaction, recipient_id: UUID) -> Standing | None:
        """None for the erased; whoever was merged is who they became."""
        ...

    async def end_tokens(self, tx: Transaction, recipient_id: UUID, not_before: datetime) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """Someone who gets a copy."""

    recipient_id: UUID
    external_id: str
    data_key: bytes


class Audiences(Protocol):
    async def by_external_ids(self, tx: Transaction, ids: Sequence[str]) -> Sequence[Holder]:
        """Without the erased; whoever was merged is who they became."""
        ...

    async def of_list(self, tx: Transaction, key: str, at_most: int) -> Sequence[UUID] | None:
        """Sorted; None where there is no such list."""
        ...

    async def of_filter(self, tx: Transaction, wanted: AudienceFilter, at_most: int) -> Sequence[UUID]: ...


class Topics(Protocol):
    async def has(self, tx: Transaction, key: str) -> bool: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class NewPost:
    inbox_id: UUID
    id: UUID
    audience: AudienceKind
    label: str | None
    copies: int | None
    topic: str
    content: bytes | None
    expires_at: datetime
    created_by: UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    recipient_id: UUID
    post_id: UUID
    topic: str
    content: bytes | None
    """Sealed by its owner's key; None where the post itself holds it."""
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """A post under lock."""

    audience: AudienceKind
    topic: str
    place: int
    redacted_at: datetime | None
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    n: int
    place: int
    last_post: UUID


class PostStore(Protocol):
    async def take_turn(self, tx: Transaction, inbox_id: UUID) -> Turn:
        """Holds the inbox: posts for everyone follow one another, in id, place and commit."""
        ...

    async def add_for_everyone(self, tx: Transaction, post: NewPost, turn: Turn) -> None:
        """Stored once and counted. Its id is later than the turn's last."""
        ...

    async def add(self, tx: Transaction, post: NewPost) -> None: ...

    async def deliver(
        self, tx: Transaction, inbox_id: UUID, copies: Sequence[Copy], *, notifications: bool = False
    ) -> int:
        """A copy each, for all who are not erased; people are held in order. Repeating it changes nothing."""
        ...

    async def lock(self, tx: Transaction, inbox_id: UUID, post_id: UUID) -> Held | None: ...

    async def redact(self, tx: Transaction, inbox_id: UUID, post_id: UUID, held: Held, at: datetime) -> Sequence[UUID]:
        """From every feed and every counter; says who had a copy."""
        ...

    async def page(self, tx: Transaction, inbox_id: UUID, before: UUID, limit: int) -> Sequence[StoredPost]: ...

    async def find(self, tx: Transaction, inbox_id: UUID, post_id: UUID) -> StoredPost | None: ...

    async def reach(self, tx: Transaction, inbox_id: UUID, post_ids: Sequence[UUID]) -> Mapping[UUID, Reach]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A person in an inbox, held until the transaction ends, and the number of what changes now."""

    inbox_id: UUID
    recipient_id: UUID
    n: int


class FeedStore(Protocol):
    """Answers None where inbox or person do not exist."""

    async def page(
        self,
        tx: Transaction,
        key: str,
        recipient_id: UUID,
        wanted: FeedFilter,
        *,
        before: UUID,
        now: datetime,
        limit: int,
    ) -> tuple[Reader, Sequence[StoredMessage]] | None: ...

    async def messages(
        self, tx: Transaction, key: str, recipient_id: UUID, ids: Sequence[UUID], now: datetime
    ) -> tuple[Reader, Sequence[StoredMessage]] | None: ...

    async def counts(
        self, tx: Transaction, key: str, recipient_ids: Sequence[UUID], now: datetime
    ) -> Mapping[UUID, Counts]: ...

    async def hold(self, tx: Transaction, key: str, recipient_id: UUID) -> Place | None: ...

    async def write(self, tx: Transaction, place: Place, changed: Sequence[tuple[StoredMessage, Facts]]) -> None: ...

    async def last_watermark(self, tx: Transaction, place: Place) -> tuple[Watermark | None, UUID]:
        """And the newest post for everyone."""
        ...

    async def draw_watermark(self, tx: Transaction, place: Place, watermark: Watermark) -> None: ...

    async def unseen_notifications(
        self, tx: Transaction, place: Place, *, since: int, upto: UUID
    ) -> Sequence[UUID]: ...

    async def was_seen(self, tx: Transaction, recipient_id: UUID, notification_id: UUID) -> bool: ...

    async def forget(self, tx: Transaction, recipient_id: UUID) -> int:
        """Everything of theirs; says how many messages and receipts that was."""
        ...


class HeirStore(Protocol):
    """One person's messages become another's."""

    async def inboxes_of(self, tx: Transaction, recipient_id: UUID) -> Sequence[UUID]: ...

    async def data_keys(self, tx: Transaction, recipient_ids: Sequence[UUID]) -> Mapping[UUID, bytes]: ...

    async def hold_both(self, tx: Transaction, inbox_id: UUID, source: UUID, target: UUID) -> None:
        """In the order in which posting holds people; the heir gets a place where there is none."""
        ...

    async def own_copies(
        self, tx: Transaction, inbox_id: UUID, recipient_id: UUID
    ) -> Sequence[tuple[UUID, bytes | None]]: ...

    async def hand_over(
        self, tx: Transaction, inbox_id: UUID, source: UUID, target: UUID, copies: Sequence[tuple[UUID, bytes | None]]
    ) -> None:
        """With all that was done with them, sealed as given; nothing is left of the source's place."""
        ...


class Escalations(Protocol):
    """Whoever sends on another channel unless the first was seen."""

    async def seen(self, tx: Transaction, notification_id: UUID) -> None: ...


class NoEscalations:
    """Where nothing waits for a reading."""

    async def seen(self, tx: Transaction, notification_id: UUID) -> None:
        return


class InboxBell(Protocol):
    """Tells the streams of all processes that something is new, once the transaction is committed."""

    def for_everyone(self, tx: Transaction, inbox_id: UUID) -> None: ...

    def for_people(self, tx: Transaction, inbox_id: UUID, recipient_ids: Sequence[UUID]) -> None: ...

    def about_person(self, tx: Transaction, recipient_id: UUID) -> None:
        """Whoever speaks for this person must prove it again, in every inbox."""
        ...


class SweepStore(Protocol):
    """Bounded batches across tenants; each says how many it did."""

    async def tenants(self, now: datetime) -> Sequence[str]: ...

    async def items(self, tx: Transaction, now: datetime, limit: int) -> Sequence[tuple[UUID, UUID]]:
        """Inbox and recipient of each message that went."""
        ...

    async def posts(self, tx: Transaction, now: datetime, limit: int) -> Sequence[UUID]:
        """The inboxes that lost posts; empty when nothing is left."""
        ...

    async def wake(self, tx: Transaction, now: datetime, limit: int) -> Sequence[tuple[UUID, UUID]]:
        """Inbox and recipient of what came back."""
        ...

    async def watermarks(self, tx: Transaction, older_than: datetime, limit: int) -> int: ...


class VerifyStore(Protocol):
    async def drift(self, tx: Transaction, now: datetime) -> Sequence[Drift]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """How far a person's feed is: the numbers of its last changes."""

    inbox_id: UUID
    own_n: int
    public_n: int
    visible_from: UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnChange:
    n: int
    id: UUID
    """The message; where `read_at` is given, the last of all that are read."""
    read_at: datetime | None
    is_new: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PublicPost:
    id: UUID
    topic: str
    content: bytes
    expires_at: datetime


class ChangeStore(Protocol):
    async def position(self, tx: Transaction, key: str, recipient_id: UUID) -> Position | None: ...

    async def own_changes(
        self, tx: Transaction, inbox_id: UUID, recipient_id: UUID, since: int, limit: int
    ) -> Sequence[OwnChange]: ...

    async def public_changes(
        self, tx: Transaction, inbox_id: UUID, since: int, limit: int
    ) -> Sequence[tuple[int, UUID]]: ...

    async def public_posts(
        self, tx: Transaction, inbox_id: UUID, ids: Sequence[UUID], now: datetime
    ) -> Sequence[PublicPost]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Ringing:
    """What was rung: news for everyone in an inbox, for all or one of its people, or about a person everywhere."""

    inbox_id: UUID | None = None
    recipient_id: UUID | None = None
    is_public: bool = False
    is_gap: bool = False
    """Something may have been missed, by this person where one is named: look at everything."""


class InboxEar(Protocol):
    def arrived(self, tenant_id: str, recipient_id: UUID) -> None:
        """Somebody is connected to this process; once for each of their streams."""
        ...

    def left(self, tenant_id: str, recipient_id: UUID) -> None: ...

    async def listen(self, heard: Callable[[Ringing], None]) -> None:
        """Until cancelled."""
        ...
