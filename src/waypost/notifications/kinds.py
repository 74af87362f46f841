"""What messages have in common that differ only in whom they are for."""

from dataclasses import dataclass

import msgspec

from waypost.delivery.model import Claimed
from waypost.kernel.vault import TenantKey
from waypost.kernel.vocabulary import TenantMode
from waypost.mailbox.return_path import Writer as ReturnPaths
from waypost.notifications.instruments import Instruments, Tracked
from waypost.notifications.links import LinksOfKind
from waypost.notifications.sender import SenderIdentity
from waypost.templates.model import Wording


@dataclass(frozen=True, slots=True)
class House:
    """What is kept of a tenant: neither key nor mode ever changes."""

    key: TenantKey
    mode: TenantMode


class Kind(msgspec.Struct):
    """Neighbours in a batch mostly are of one kind, so what can be known of a kind is found out once."""

    like: Claimed
    house: House
    wording: Wording
    links: LinksOfKind | None
    _tracked: dict[int, Tracked | None] = {}
    """By what is noticed of readers."""
    _return_paths: dict[tuple[str | None, bool], ReturnPaths] = {}
    """By domain, and whether an account sends."""

    def takes_in(self, one: Claimed) -> bool:
        like = self.like
        return (
            one.version_id == like.version_id
            and one.tenant_id == like.tenant_id
            and one.locale == like.locale
            and one.topic == like.topic
            and one.category is like.category
            and one.channel is like.channel
        )

    def tracked_by(self, instruments: Instruments, tracks: int) -> Tracked | None:
        if tracks not in self._tracked:
            self._tracked[tracks] = instruments.of(self.like, tracks, self.house.key)
        return self._tracked[tracks]

    def return_path(self, identity: SenderIdentity, one: Claimed, domain: str | None) -> str:
        """`domain` is the tenant's own, where it has one for this sender."""
        way_out = (domain, one.way is not None)
        paths = self._return_paths.get(way_out)
        if paths is None:
            house = self.house
            paths = identity.return_paths(one.tenant_id, house.mode, house.key, domain, has_account=way_out[1])
            self._return_paths[way_out] = paths
        return paths(one.id)
