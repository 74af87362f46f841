"""Inboxes, joined to their stores."""

from waypost.adapters.fanout.redis_inbox import RedisInboxEar, RedisInboxRinger
from waypost.adapters.postgres.inbox import PgInboxes
from waypost.adapters.postgres.inbox_bell import PgInboxEar, PgInboxRinger
from waypost.adapters.postgres.inbox_changes import PgInboxChanges
from waypost.adapters.postgres.inbox_feed import PgInboxFeed
from waypost.adapters.postgres.inbox_heirs import PgInboxHeirs
from waypost.adapters.postgres.inbox_posts import PgAudiences, PgInboxPosts
from waypost.adapters.postgres.inbox_upkeep import PgInboxUpkeep
from waypost.adapters.postgres.tenants import PgTenantStore
from waypost.adapters.postgres.work import PgWork
from waypost.inbox.bell import GatheringBell
from waypost.inbox.boxes import Inboxes
from waypost.inbox.changes import Changes
from waypost.inbox.desk import InboxDesk
from waypost.inbox.feed import Feed
from waypost.inbox.heirs import JoinInboxes
from waypost.inbox.ports import Escalations, InboxBell, InboxEar
from waypost.inbox.publish import Posts
from waypost.inbox.verify import Verify
from waypost.inbox.visitors import Visitors
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.settings import Settings
from waypost.tenants.audit import Audit


def join_inbox(
    *,
    work: PgWork,
    keyring: Keyring,
    bell: InboxBell,
    ear: InboxEar,
    escalations: Escalations,
    audit: Audit,
    clock: Clock,
) -> InboxDesk:
    inboxes, audiences = PgInboxes(), PgAudiences()
    feed = Feed(store=PgInboxFeed(), topics=inboxes, keyring=keyring, bell=bell, escalations=escalations, clock=clock)
    return InboxDesk(
        inboxes=Inboxes(store=inboxes, audit=audit, clock=clock),
        posts=Posts(
            inboxes=inboxes,
            posts=PgInboxPosts(),
            audiences=audiences,
            topics=inboxes,
            keyring=keyring,
            bell=bell,
            audit=audit,
            clock=clock,
        ),
        feed=feed,
        visitors=Visitors(
            store=inboxes,
            inboxes=inboxes,
            audiences=audiences,
            tenants=PgTenantStore(),
            keyring=keyring,
            bell=bell,
            audit=audit,
            clock=clock,
        ),
        changes=Changes(store=PgInboxChanges(), feed=feed, keyring=keyring, clock=clock),
        verify=Verify(store=PgInboxUpkeep(work), clock=clock),
        ear=ear,
    )


def inbox_bell_of(settings: Settings, dsn: str, clock: Clock) -> GatheringBell:
    """By Redis where it is configured, else by the database."""
    ringer = PgInboxRinger(dsn) if settings.fanout is None else RedisInboxRinger(settings.fanout.reveal())
    return GatheringBell(ringer, clock)


def inbox_ear_of(settings: Settings, dsn: str, clock: Clock) -> InboxEar:
    return PgInboxEar(dsn, clock) if settings.fanout is None else RedisInboxEar(settings.fanout.reveal(), clock)


def join_heirs(*, keyring: Keyring, bell: InboxBell) -> JoinInboxes:
    return JoinInboxes(store=PgInboxHeirs(), keyring=keyring, bell=bell)
