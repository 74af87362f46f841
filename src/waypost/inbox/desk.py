"""Everything about inboxes that surfaces call, in one place."""

from dataclasses import dataclass

from waypost.inbox.boxes import Inboxes
from waypost.inbox.changes import Changes
from waypost.inbox.feed import Feed
from waypost.inbox.ports import InboxEar
from waypost.inbox.publish import Posts
from waypost.inbox.verify import Verify
from waypost.inbox.visitors import Visitors


@dataclass(frozen=True, kw_only=True, slots=True)
class InboxDesk:
    inboxes: Inboxes
    posts: Posts
    feed: Feed
    visitors: Visitors
    changes: Changes
    verify: Verify
    ear: InboxEar
