"""What a tenant's domains mean for its mail on the way out: whom it may speak as, who signs, where returns go.

Asked by every message, so it is known for each tenant and sender for a few seconds. Of a tenant without domains nothing
is asked again but that.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

import structlog

from waypost.domains.manage import KEY_PLACE
from waypost.domains.model import HeldDomain, Purpose, Standing
from waypost.domains.ports import Signer, SignerMaker, StandingStore
from waypost.domains.rules import choose_return_path, domain_of, may_send_as
from waypost.domains.standing import REMEMBERED_SECONDS
from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vault import Keyring, SealBroken, TenantKey, place
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Work

_log: Final = structlog.stdlib.get_logger()
_MOST_TENANTS: Final = 2_000
_MOST_SENDERS: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Voice:
    """How one sender of one tenant goes out."""

    allowed: bool
    signer: Signer | None = None
    return_domain: str | None = None
    """None: the platform's."""


PLAIN: Final = Voice(allowed=True)
_SILENCED: Final = Voice(allowed=False)
_NOBODYS: Final = Standing(mode=TenantMode.LIVE, domains=())


@dataclass(slots=True)
class _House:
    until: float
    standing: Standing
    signers: dict[str, Signer]
    voices: dict[str, Voice] = field(default_factory=dict[str, Voice])


class Outgoing:
    """`default_from` is the operator's, `default_address` the address in it."""

    def __init__(
        self,
        *,
        work: Work,
        store: StandingStore,
        keyring: Keyring,
        signers: SignerMaker,
        default_from: str,
        default_address: str,
        clock: Clock,
    ) -> None:
        self._work = work
        self._store = store
        self._keyring = keyring
        self._make_signer = signers
        self._default_from = default_from
        self._default_address = default_address
        self._clock = clock
        self._houses: OrderedDict[str, _House] = OrderedDict()
        self._signers: OrderedDict[tuple[UUID, ...], Signer] = OrderedDict()

    async def refresh(self, tenants: Iterable[str]) -> None:
        """Looks again at those of whom too long ago was heard, and at the operator: what comes from its own address is
        signed by its keys."""
        now = self._clock.monotonic()
        for tenant_id in (PLATFORM, *tenants):
            known = self._houses.get(tenant_id)
            if known is not None and now < known.until:
                continue
            async with self._work.begin(tenant_id) as tx:
                try:
                    standing = await self._store.standing(tx, with_keys=True)
                except NotFound:
                    continue
                key = await self._keyring.of(tx) if any(one.keys for one in standing.domains) else None
            signers: dict[str, Signer] = {}
            if key is not None:
                signers, broken = self._signers_of(tenant_id, key, standing.domains)
                standing = replace(standing, domains=tuple(one for one in standing.domains if one.name not in broken))
            self._houses[tenant_id] = _House(now + REMEMBERED_SECONDS, standing, signers)
            self._houses.move_to_end(tenant_id)
            if len(self._houses) > _MOST_TENANTS:
                self._houses.popitem(last=False)

    def voice(self, tenant_id: str, sender: str) -> Voice:
        """Of a tenant that `refresh` has heard of; nobody else has one."""
        house = self._houses.get(tenant_id)
        if house is None:
            return _SILENCED
        if not house.standing.domains and sender == self._default_from and not self._operators_signers:
            return PLAIN
        voice = house.voices.get(sender)
        if voice is None:
            if len(house.voices) >= _MOST_SENDERS:
                house.voices.clear()
            voice = house.voices[sender] = self._find_voice(house, sender)
        return voice

    def _find_voice(self, house: _House, sender: str) -> Voice:
        is_default = sender == self._default_from
        if not is_default and not may_send_as(sender, house.standing, self._default_address):
            return _SILENCED
        domain = domain_of(sender) or ""
        signer, return_domain = house.signers.get(domain), None
        if house.standing.mode is TenantMode.LIVE:
            return_domain = choose_return_path(domain, house.standing.names(Purpose.RETURN_PATH))
            if signer is None and (is_default or may_send_as(sender, _NOBODYS, self._default_address)):
                signer = self._operators_signers.get(domain)
        return replace(PLAIN, signer=signer, return_domain=return_domain)

    @property
    def _operators_signers(self) -> Mapping[str, Signer]:
        """Never for a sandbox tenant: it writes what it likes, and may read what it wrote as it would have left."""
        house = self._houses.get(PLATFORM)
        return {} if house is None else house.signers

    def _signers_of(
        self, tenant_id: str, key: TenantKey, domains: Sequence[HeldDomain]
    ) -> tuple[dict[str, Signer], set[str]]:
        """By domain, and the domains whose keys do not open: nothing goes out unsigned because of that.

        Opening a key costs more than signing with it: who stays the same is kept."""
        signers: dict[str, Signer] = {}
        broken: set[str] = set()
        for domain in domains:
            if not domain.keys or Purpose.FROM not in domain.purposes:
                continue
            ids = tuple(one.id for one in domain.keys)
            signer = self._signers.get(ids)
            if signer is None:
                try:
                    opened = [
                        replace(one, private_key=key.open(one.private_key, place(KEY_PLACE, tenant_id, one.id)))
                        for one in domain.keys
                    ]
                except SealBroken:
                    _log.error("a DKIM key does not open", action="dkim_key_broken", tenant=tenant_id)
                    broken.add(domain.name)
                    continue
                signer = self._signers[ids] = self._make_signer(domain.name, opened)
                if len(self._signers) > _MOST_TENANTS:
                    self._signers.popitem(last=False)
            signers[domain.name] = signer
        return signers, broken
