"""Inboxes on a real database: the use cases over their stores, with a clock that moves only when told to."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest

from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.inbox import PgInboxes
from waypost.adapters.postgres.inbox_feed import PgInboxFeed
from waypost.adapters.postgres.inbox_posts import PgAudiences, PgInboxPosts
from waypost.adapters.postgres.inbox_upkeep import PgInboxUpkeep
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.inbox.boxes import Inboxes
from waypost.inbox.feed import Feed
from waypost.inbox.model import Audience, AudienceKind, PostCommand, PostContent, Posted, Visitor
from waypost.inbox.publish import Posts
from waypost.inbox.sweep import Sweep
from waypost.inbox.verify import Verify
from waypost.kernel.clock import VirtualClock
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import place
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.tenants.audit import Audit

TOPICS = frozenset({"billing", "news"})


@dataclass
class Rung:
    """An `InboxBell` that writes down what it was told."""

    everyone: list[UUID] = field(default_factory=list)
    people: list[tuple[UUID, UUID]] = field(default_factory=list)
    persons: list[UUID] = field(default_factory=list)

    def for_everyone(self, tx: Transaction, inbox_id: UUID) -> None:
        self.everyone.append(inbox_id)

    def for_people(self, tx: Transaction, inbox_id: UUID, recipient_ids: Sequence[UUID]) -> None:
        self.people += [(inbox_id, one) for one in recipient_ids]

    def about_person(self, tx: Transaction, recipient_id: UUID) -> None:
        self.persons.append(recipient_id)


@dataclass
class Told:
    """`Escalations` that write down what was seen."""

    seen_ids: list[UUID] = field(default_factory=list)

    async def seen(self, tx: Transaction, notification_id: UUID) -> None:
        self.seen_ids.append(notification_id)


class KnownTopics:
    async def has(self, tx: Transaction, key: str) -> bool:
        return key in TOPICS


@dataclass(kw_only=True)
class House:
    """Everything about inboxes, joined, for one tenant."""

    work: PgWork
    sweeping: PgWork
    clock: VirtualClock
    vault: LocalVault
    scope: Scope
    tenant: str = "acme"
    bell: Rung = field(default_factory=Rung)
    escalations: Told = field(default_factory=Told)

    def __post_init__(self) -> None:
        self.keyring = PgKeyring(self.vault)
        audit, topics = Audit(PgAuditStore(), self.clock), KnownTopics()
        self.inboxes = Inboxes(store=PgInboxes(), audit=audit, clock=self.clock)
        self.store, self.posts_store = PgInboxFeed(), PgInboxPosts()
        self.posts = Posts(
            inboxes=PgInboxes(),
            posts=self.posts_store,
            audiences=PgAudiences(),
            topics=topics,
            keyring=self.keyring,
            bell=self.bell,
            audit=audit,
            clock=self.clock,
        )
        self.feed = Feed(
            store=self.store,
            topics=topics,
            keyring=self.keyring,
            bell=self.bell,
            escalations=self.escalations,
            clock=self.clock,
        )
        self.upkeep = PgInboxUpkeep(self.sweeping)
        self.sweep = Sweep(work=self.sweeping, store=self.upkeep, bell=self.bell, clock=self.clock)
        self.verify = Verify(store=self.upkeep, clock=self.clock)

    def begin(self) -> Any:
        return self.work.begin(self.tenant)

    async def make_inbox(self, key: str = "main", **ttl: str) -> None:
        async with self.begin() as tx:
            await self.inboxes.put(tx, self.scope, key, title="Main", description="", ttl=ttl)

    async def make_person(self, name: str, *, age_days: float = 1) -> Visitor:
        recipient_id = mint(self.clock)
        async with self.begin() as tx:
            wrapped, _ = (await self.keyring.of(tx)).new_data_key(place("data_key", self.tenant, recipient_id))
            await tx.connection.execute(
                "insert into recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)"
                " values ($1, $2, $3, 'user', $4, $5::timestamptz - make_interval(secs => $6), $5)",
                self.tenant, recipient_id, name, wrapped, self.clock.now(), age_days * 86_400,
            )  # fmt: skip
        return Visitor(tenant_id=self.tenant, recipient_id=recipient_id, external_id=name, expires_at=self.clock.now())

    async def post(
        self, *names: str, title: str = "Hello", inbox: str = "main", topic: str | None = None, ttl: str | None = None
    ) -> Posted:
        kind = AudienceKind.USERS if names else AudienceKind.EVERYONE
        command = PostCommand(
            audience=Audience(kind=kind, recipients=names), content=PostContent(title=title), topic=topic, ttl=ttl
        )
        async with self.begin() as tx:
            return await self.posts.post(tx, self.scope, inbox, command)

    async def counts(self, who: Visitor, inbox: str = "main") -> tuple[int, int, dict[str, tuple[int, int]]]:
        """Unread, total, and both by topic."""
        async with self.begin() as tx:
            found = await self.feed.counts(tx, who, inbox)
        return found.unread, found.total, {topic: (one.unread, one.total) for topic, one in found.topics.items()}

    async def drift(self) -> list[Any]:
        async with self.begin() as tx:
            return list(await self.verify(tx, self.scope))


@pytest.fixture
async def house(
    api_work: PgWork,
    worker_work: PgWork,
    clock: VirtualClock,
    vault: LocalVault,
    make_tenant: Callable[..., Awaitable[str]],
) -> House:
    await make_tenant("acme")
    scope = Scope(
        tenant_id="acme",
        mode=TenantMode.SANDBOX,
        key_id=uuid4(),
        key_tenant="acme",
        permissions=frozenset(Permission),
        request_id="rid_test",
    )
    made = House(work=api_work, sweeping=worker_work, clock=clock, vault=vault, scope=scope)
    await made.make_inbox()
    return made
