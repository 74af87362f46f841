"""Behind the two public addresses: a pixel is loaded, a link is followed."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final
from uuid import UUID

from waypost.kernel import tokens
from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound, Unavailable
from waypost.kernel.ids import mint_at
from waypost.kernel.tokens import Purpose
from waypost.kernel.vault import Keyring, TenantKey, place
from waypost.kernel.work import Work
from waypost.tenants.model import TenantStatus
from waypost.tenants.ports import TenantStore
from waypost.tracking.link_token import BETWEEN, LinkClaim, link_key_of, read_link
from waypost.tracking.model import Kind, Seen
from waypost.tracking.ports import TrackingTelemetry
from waypost.tracking.record import Recorder
from waypost.tracking.rules import client_of

_ID_BYTES: Final = 16
_OPENS: Final = frozenset({Purpose.MESSAGE, Purpose.OPEN})
_CLICKS: Final = frozenset({Purpose.MESSAGE, Purpose.CLICK})
_FRESH_SECONDS: Final = 15.0
_MOST_HOUSES: Final = 5_000
_MOST_LINK_KEYS: Final = 20_000
_MOST_LINKS: Final = 2_000


@dataclass(frozen=True, slots=True)
class _House:
    key: TenantKey
    is_active: bool
    until: float


class NoWay(Enum):
    INVALID = "invalid"
    GONE = "gone"
    """The link is genuine, and whoever sent it is not served any more."""


class Visits:
    def __init__(
        self,
        *,
        work: Work,
        tenants: TenantStore,
        keyring: Keyring,
        recorder: Recorder,
        telemetry: TrackingTelemetry,
        clock: Clock,
    ) -> None:
        self._work = work
        self._tenants = tenants
        self._keyring = keyring
        self._recorder = recorder
        self._telemetry = telemetry
        self._clock = clock
        self._houses: OrderedDict[str, _House | float] = OrderedDict()
        self._link_keys: OrderedDict[tuple[str, UUID], bytes] = OrderedDict()
        self._links: OrderedDict[str, tuple[str, LinkClaim]] = OrderedDict()
        """Those found genuine that are the same for every reader, with their tenant."""
        self._lookups = asyncio.Semaphore(2)

    async def opened(self, text: str, headers: Mapping[str, str]) -> None:
        """Notes it where the token is genuine. Says nothing either way."""
        found = await self._message(text, _OPENS)
        if found is None:
            self._telemetry.seen(Kind.OPENED.word, "refused")
            return
        tenant_id, notification_id, house = found
        if house.is_active:
            now = self._clock.now()
            seen = Seen(
                id=mint_at(now),
                notification_id=notification_id,
                kind=Kind.OPENED,
                at=now,
                client=client_of(headers),
            )
            await self._recorder.keep(tenant_id, seen)

    async def clicked(self, text: str, headers: Mapping[str, str], *, notes: bool = True) -> str | NoWay:
        """Where the link leads. Without `notes` nobody will know that it was asked."""
        first, _, second = text.partition(BETWEEN)
        owner, claim = self._links.get(second) or (None, read_link(second))
        found = None if claim is None else await self._message(first, _CLICKS)
        if claim is None or found is None:
            self._telemetry.seen(Kind.CLICKED.word, "refused")
            return NoWay.INVALID
        tenant_id, notification_id, house = found
        if owner != tenant_id and not self._is_genuine(second, claim, tenant_id, house.key):
            self._telemetry.seen(Kind.CLICKED.word, "refused")
            return NoWay.INVALID
        if not house.is_active:
            return NoWay.GONE
        if notes:
            now = self._clock.now()
            seen_id, target = mint_at(now), None
            if not claim.is_personal:
                target = house.key.seal(claim.url.encode(), place("tracking_target", tenant_id, seen_id))
            seen = Seen(
                id=seen_id,
                notification_id=notification_id,
                kind=Kind.CLICKED,
                at=now,
                client=client_of(headers),
                link=claim.link,
                version_id=claim.version_id,
                target=target,
            )
            await self._recorder.keep(tenant_id, seen)
        return claim.url

    async def _message(self, text: str, purposes: frozenset[Purpose]) -> tuple[str, UUID, _House] | None:
        """Whose message a token names, once it is found genuine."""
        claim = tokens.read(text)
        if claim is None:
            return None
        token = claim.token
        if token.purpose not in purposes or token.audience or token.expires_at or len(token.subject) != _ID_BYTES:
            return None
        house = await self._house(token.tenant_id)
        if house is None or not claim.is_genuine(house.key):
            return None
        return token.tenant_id, UUID(bytes=token.subject), house

    async def _house(self, tenant_id: str) -> _House | None:
        known = self._houses.get(tenant_id)
        now = self._clock.monotonic()
        if isinstance(known, _House) and known.until > now:
            return known
        if isinstance(known, float) and known > now:
            return None
        try:
            async with self._lookups:
                house = await self._look_up(tenant_id)
        except Unavailable:
            # Readers must not suffer from a database that is away.
            if isinstance(known, _House):
                return known
            raise
        self._houses[tenant_id] = house or now + _FRESH_SECONDS
        self._houses.move_to_end(tenant_id)
        if len(self._houses) > _MOST_HOUSES:
            self._houses.popitem(last=False)
        return house

    async def _look_up(self, tenant_id: str) -> _House | None:
        try:
            async with self._work.begin(tenant_id) as tx:
                key = await self._keyring.of(tx)
                tenant = await self._tenants.find(tx, tenant_id)
        except NotFound:
            return None
        is_active = tenant is not None and tenant.status is TenantStatus.ACTIVE
        return _House(key, is_active, self._clock.monotonic() + _FRESH_SECONDS)

    def _is_genuine(self, text: str, claim: LinkClaim, tenant_id: str, key: TenantKey) -> bool:
        if not claim.is_genuine(self._link_key(tenant_id, claim.version_id, key)):
            return False
        if not claim.is_personal:
            self._links[text] = tenant_id, claim
            if len(self._links) > _MOST_LINKS:
                self._links.popitem(last=False)
        return True

    def _link_key(self, tenant_id: str, version_id: UUID, key: TenantKey) -> bytes:
        known = self._link_keys.get((tenant_id, version_id))
        if known is None:
            known = self._link_keys[tenant_id, version_id] = link_key_of(key, version_id)
            if len(self._link_keys) > _MOST_LINK_KEYS:
                self._link_keys.popitem(last=False)
        return known
