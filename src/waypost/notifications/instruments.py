"""What a message is tracked with: made when it is composed, readable for ever after."""

from collections import OrderedDict
from collections.abc import Set
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from waypost.delivery.model import Claimed
from waypost.kernel.clock import Clock
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.tokens import Purpose, Stamp
from waypost.kernel.vault import TenantKey
from waypost.kernel.work import Work
from waypost.templates.ports import MARK, Instrument
from waypost.tracking.link_token import link_key_of
from waypost.tracking.ports import TrackingHost
from waypost.tracking.rules import CLICKS, OPENS
from waypost.tracking.targets import is_target

_FRESH_SECONDS: Final = 60.0
_MOST_KEPT: Final = 2_000


@dataclass(frozen=True, slots=True)
class Tracked:
    """How messages of one version are tracked."""

    instrument: Instrument
    _stamp: Stamp

    def mark(self, notification_id: UUID, context: dict[str, JsonValue]) -> None:
        """Names the message to its pixel and to its links."""
        context[MARK] = self._stamp(notification_id.bytes)


class Instruments:
    """Keeps at hand what is the same for a tenant's or a version's messages."""

    def __init__(self, *, host: TrackingHost, public_url: str, clock: Clock) -> None:
        self._host = host
        self._spared = (f"{public_url}/u/", f"{public_url}/p/")
        self._clock = clock
        self._bases: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self._made: OrderedDict[tuple[str, UUID, int, str], Tracked] = OrderedDict()

    async def prepare(self, work: Work, tenant_ids: Set[str]) -> None:
        """Looks up where these tenants' readers reach us, every minute anew: a tenant may get or lose a domain."""
        now = self._clock.monotonic()
        for tenant_id in tenant_ids:
            known = self._bases.get(tenant_id)
            if known is None or known[1] <= now:
                async with work.begin(tenant_id) as tx:
                    base = await self._host.base_of(tx)
                self._bases[tenant_id] = (base, now + _FRESH_SECONDS)
            self._bases.move_to_end(tenant_id)
        while len(self._bases) > max(_MOST_KEPT, len(tenant_ids)):
            self._bases.popitem(last=False)

    def of(self, one: Claimed, tracks: int, key: TenantKey) -> "Tracked | None":
        """How all messages of the version are tracked; None where they are not. `prepare` comes first."""
        base = self._bases[one.tenant_id][0]
        if not tracks or not is_target(base):
            return None
        place = (one.tenant_id, one.version_id, tracks, base)
        tracked = self._made.get(place)
        if tracked is None:
            instrument = Instrument(
                opens=f"{base}/t/o/" if tracks & OPENS else "",
                clicks=f"{base}/t/c/" if tracks & CLICKS else "",
                version=one.version_id.bytes,
                key=link_key_of(key, one.version_id),
                spared=self._spared,
            )
            tracked = Tracked(instrument, Stamp(Purpose.MESSAGE, one.tenant_id, key))
            self._made[place] = tracked
            if len(self._made) > _MOST_KEPT:
                self._made.popitem(last=False)
        return tracked
